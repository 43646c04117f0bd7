import { readOwn, type JsonObject } from "../../model/json.ts";
import { limits } from "../../model/limits.ts";
import { withoutKeys } from "../../protocol/hop-meta.ts";
import { writeJson } from "../../protocol/json/write.ts";

/**
 * What is kept of a task's state, without its id: all of it up to `taskStateBytesMax` of JSON text. Of a longer one
 * the members that clients rely on, their texts cut: a task that was begun is not lost because its upstream says much
 * about it.
 */
export function keptState(state: JsonObject): JsonObject {
  const own = withoutKeys(state, ["taskId"]);
  if (Buffer.byteLength(writeJson(own)) <= limits.taskStateBytesMax) return own;
  const kept: JsonObject = {};
  for (const [member, charsMax] of reliedOn) {
    const value = readOwn(own, member);
    if (typeof value === "string") kept[member] = value.slice(0, charsMax).toWellFormed();
    else if (value === null || typeof value === "number") kept[member] = value;
  }
  return kept;
}

const reliedOn: ReadonlyMap<string, number> = new Map([
  ["status", limits.taskTimeCharsMax],
  ["statusMessage", limits.taskStatusMessageCharsMax],
  ["createdAt", limits.taskTimeCharsMax],
  ["lastUpdatedAt", limits.taskTimeCharsMax],
  ["ttl", 0],
  ["ttlMs", 0],
  ["pollInterval", 0],
  ["pollIntervalMs", 0],
]);
