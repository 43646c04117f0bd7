import type { Snapshot } from "../catalog/snapshots.ts";
import { tasksExtension } from "../model/identifiers.ts";
import { isJsonObject, readOwn, type JsonObject } from "../model/json.ts";
import type { Era } from "../model/revision.ts";
import { canonicalJson } from "../protocol/json/canonical.ts";
import { makesTasks } from "../protocol/tasks.ts";
import type { Exchange } from "./exchange.ts";

/**
 * Extensions are declared across the gateway, in either direction, when the server's configuration lists them: an
 * operator knows what one does, and the gateway carries of it what stands in `_meta`, results and resources, and no
 * methods of its own. The tasks extension is the exception: it is carried as such, so it is declared where both hops
 * have it, whatever is listed.
 */

/** What of the extensions that `declared` names goes on to an upstream; undefined when that is nothing. */
export function extensionsFor(x: Exchange, declared: JsonObject): JsonObject | undefined {
  const named = readOwn(declared, "extensions");
  if (!isJsonObject(named)) return undefined;
  const kept: JsonObject = {};
  for (const name of x.arrival.server.extensions) {
    const settings = readOwn(named, name);
    if (isJsonObject(settings) && name !== tasksExtension) kept[name] = settings;
  }
  // Only of an exchange that can take a task for an answer, or is about one.
  if (x.classified?.era === "modern" && x.task !== undefined) kept[tasksExtension] = {};
  return Object.keys(kept).length === 0 ? undefined : kept;
}

/**
 * The extensions that a server has for a client of this era, from those of the upstreams it sees; undefined when
 * there are none. Where two upstreams declare different settings for one extension the client is told of none: no
 * rule says how settings add up.
 */
export function extensionsOf(seen: readonly Snapshot[], listed: readonly string[], era: Era): JsonObject | undefined {
  const found: JsonObject = {};
  for (const name of listed) {
    const settings = seen.map(({ self }) => readOwn(readOwn(self.capabilities, "extensions"), name));
    const declared = settings.filter((value) => isJsonObject(value));
    const [first] = declared;
    if (first === undefined || name === tasksExtension) continue;
    found[name] = declared.every((other) => canonicalJson(other) === canonicalJson(first)) ? first : {};
  }
  const tasks = seen.some(({ self }) => self.era === "modern" && makesTasks("modern", self.capabilities));
  if (era === "modern" && tasks) found[tasksExtension] = {};
  return Object.keys(found).length === 0 ? undefined : found;
}
