import type { JsonObject } from "../../model/json.ts";
import { readOwn, readOwnString } from "../../model/json.ts";
import type { Refusal } from "../../model/refusal.ts";
import { codecFor, discoverResult, initializeResult, negotiateLegacy } from "../../protocol/codec.ts";
import { revisions, type Era } from "../../model/revision.ts";
import type { Snapshot } from "../../catalog/snapshots.ts";
import type { ServerTable } from "../../catalog/table.ts";
import type { View } from "../../catalog/views.ts";
import { given, paramsOf, type Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { extensionsOf } from "../extensions.ts";
import { tasksCapability } from "../tasks/carried.ts";
import { viewOf } from "./view-of.ts";

/**
 * Sets `view`, and `result` for `initialize` and `server/discover`. Capabilities and instructions are those of the
 * upstreams of which this principal sees something: the words of a hidden one would tell of it.
 */
export async function describeServer(x: Exchange, g: Gateway): Promise<Refusal | undefined> {
  const classified = given(x.classified, "a classified message");
  const view = await viewOf(x, g);
  x.view = view;
  const seen = seenUpstreams(view);
  const instructions = instructionsShown(view, x.arrival.server);
  const serverInfo: JsonObject = { ...g.info, title: x.arrival.server.title };
  if (classified.column === "initialize") {
    const revision = negotiateLegacy(readOwnString(paramsOf(x), "protocolVersion") ?? "");
    const tasks = revision === "2025-11-25" ? tasksCapability(view) : undefined;
    const capabilities = { ...declaredTo(view), ...extended(x, seen, "legacy"), ...(tasks && { tasks }) };
    x.result = initializeResult({ revision, capabilities, serverInfo, instructions });
    return undefined;
  }
  const capabilities = { ...declaredTo(view), ...extended(x, seen, "modern") };
  const result = discoverResult({ supported: revisions, capabilities, serverInfo, instructions });
  x.result = codecFor("modern").encodeResult("server/discover", result, { serverInfo, ttlMs: g.limits.viewAgeMsMax });
  return undefined;
}

function extended(x: Exchange, seen: readonly Snapshot[], era: Era): JsonObject {
  const extensions = extensionsOf(seen, x.arrival.server.extensions, era);
  return extensions === undefined ? {} : { extensions };
}

function seenUpstreams(view: View): readonly Snapshot[] {
  const names = new Set([...view.visible].map(({ item }) => item.upstream));
  return view.table.snapshots.filter(({ upstream }) => names.has(upstream));
}

/** The capabilities of the server as they are declared to whoever has this view. */
export function declaredTo(view: View): JsonObject {
  return capabilitiesOf(view.table, seenUpstreams(view));
}

/**
 * An upstream that cannot be read, or not before it is connected, may have anything, so its absence hides no kind of
 * item. Lists are read again as they age, so of each list a client is told of changes, whatever its upstreams declare.
 */
function capabilitiesOf(table: ServerTable, seen: readonly Snapshot[]): JsonObject {
  const kinds = ["tools", "prompts", "resources", "completions", "logging"];
  const declared = kinds.filter(
    (kind) =>
      table.missing.length + table.unconnected.length > 0 ||
      seen.some(({ self }) => readOwn(self.capabilities, kind) !== undefined),
  );
  return Object.fromEntries(declared.map((kind) => [kind, { ...listed.get(kind), ...subscribable(kind, seen) }]));
}

const listed: ReadonlyMap<string, JsonObject> = new Map(
  ["tools", "prompts", "resources"].map((kind) => [kind, { listChanged: true }]),
);

function subscribable(kind: string, seen: readonly Snapshot[]): JsonObject {
  const told = seen.some(({ self }) => readOwn(readOwn(self.capabilities, "resources"), "subscribe") === true);
  return kind === "resources" && told ? { subscribe: true } : {};
}

/** The words of the presentation, or else the server's, come first; then the upstreams' in the order of the configuration. */
export function instructionsShown(
  view: View,
  server: { readonly instructions: string | undefined },
): string | undefined {
  const own = view.table.presentation?.instructions ?? server.instructions;
  const all = [own, ...seenUpstreams(view).map(({ self }) => self.instructions)].filter((text) => text !== undefined);
  return all.length === 0 ? undefined : all.join("\n\n");
}
