import type { JsonObject } from "../../model/json.ts";
import { readOwn, readOwnString } from "../../model/json.ts";
import type { Refusal } from "../../model/refusal.ts";
import { codecFor, discoverResult, initializeResult, negotiateLegacy } from "../../protocol/codec.ts";
import { revisions } from "../../model/revision.ts";
import type { Snapshot } from "../../catalog/snapshots.ts";
import type { ServerTable } from "../../catalog/table.ts";
import type { View } from "../../catalog/views.ts";
import { given, paramsOf, type Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { viewOf } from "./view-of.ts";

/**
 * Sets `result` for `initialize` and `server/discover`. Capabilities and instructions are those of the
 * upstreams of which this principal sees something: the words of a hidden one would tell of it.
 */
export async function describeServer(x: Exchange, g: Gateway): Promise<Refusal | undefined> {
  const classified = given(x.classified, "a classified message");
  const view = await viewOf(x, g);
  const seen = seenUpstreams(view);
  const capabilities = capabilitiesOf(view.table, seen);
  const instructions = instructionsOf(x, seen);
  const serverInfo: JsonObject = { ...g.info, title: x.arrival.server.title };
  if (classified.column === "initialize") {
    const revision = negotiateLegacy(readOwnString(paramsOf(x), "protocolVersion") ?? "");
    x.result = initializeResult({ revision, capabilities, serverInfo, instructions });
    return undefined;
  }
  const result = discoverResult({ supported: revisions, capabilities, serverInfo, instructions });
  x.result = codecFor("modern").encodeResult("server/discover", result, { serverInfo, ttlMs: g.limits.viewAgeMsMax });
  return undefined;
}

function seenUpstreams(view: View): readonly Snapshot[] {
  const names = new Set([...view.visible].map(({ item }) => item.upstream));
  return view.table.snapshots.filter(({ upstream }) => names.has(upstream));
}

/** An upstream that cannot be read may have anything, so its absence hides no kind of item. */
function capabilitiesOf(table: ServerTable, seen: readonly Snapshot[]): JsonObject {
  const kinds = ["tools", "prompts", "resources", "completions"];
  const declared = kinds.filter(
    (kind) => table.missing.length > 0 || seen.some(({ self }) => readOwn(self.capabilities, kind) !== undefined),
  );
  return Object.fromEntries(declared.map((kind) => [kind, {}]));
}

/** The server's own words come first, then the upstreams' in the order of the configuration. */
function instructionsOf(x: Exchange, seen: readonly Snapshot[]): string | undefined {
  const own = x.arrival.server.instructions;
  const all = [own, ...seen.map(({ self }) => self.instructions)].filter((text) => text !== undefined);
  return all.length === 0 ? undefined : all.join("\n\n");
}
