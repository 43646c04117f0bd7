import type { JsonObject } from "../../model/json.ts";
import { readOwn, readOwnString } from "../../model/json.ts";
import type { Refusal } from "../../model/refusal.ts";
import { codecFor, discoverResult, initializeResult, negotiateLegacy } from "../../protocol/codec.ts";
import { modernRevisions } from "../../model/revision.ts";
import type { ServerTable } from "../../catalog/table.ts";
import { given, paramsOf, type Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";

/** Sets `result` for `initialize` and `server/discover`. Only what this server's upstreams have is declared. */
export async function describeServer(x: Exchange, g: Gateway): Promise<Refusal | undefined> {
  const classified = given(x.classified, "a classified message");
  const table = await g.catalog.table(x.arrival.server.name);
  const capabilities = capabilitiesOf(table);
  const instructions = instructionsOf(x, table);
  const serverInfo: JsonObject = { ...g.info, title: x.arrival.server.title };
  if (classified.column === "initialize") {
    const revision = negotiateLegacy(readOwnString(paramsOf(x), "protocolVersion") ?? "");
    x.result = initializeResult({ revision, capabilities, serverInfo, instructions });
    return undefined;
  }
  const result = discoverResult({ supported: modernRevisions, capabilities, serverInfo, instructions });
  x.result = codecFor("modern").encodeResult("server/discover", result, { serverInfo, ttlMs: g.limits.viewAgeMsMax });
  return undefined;
}

/** An upstream that cannot be read may have anything, so its absence hides no kind of item. */
function capabilitiesOf(table: ServerTable): JsonObject {
  const kinds = ["tools", "prompts", "resources"];
  const declared = kinds.filter(
    (kind) =>
      table.missing.length > 0 || table.snapshots.some(({ self }) => readOwn(self.capabilities, kind) !== undefined),
  );
  return Object.fromEntries(declared.map((kind) => [kind, {}]));
}

/** The server's own words come first, then the upstreams' in the order of the configuration. */
function instructionsOf(x: Exchange, table: ServerTable): string | undefined {
  const own = x.arrival.server.instructions;
  const all = [own, ...table.snapshots.map(({ self }) => self.instructions)].filter((text) => text !== undefined);
  return all.length === 0 ? undefined : all.join("\n\n");
}
