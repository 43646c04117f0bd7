import { relatedTaskMetaKey, tasksExtension } from "../model/identifiers.ts";
import { isJsonObject, readOwn, readOwnString } from "../model/json.ts";
import type { Json, JsonObject } from "../model/json.ts";
import { limits } from "../model/limits.ts";
import { refuse } from "../model/refusal.ts";
import { ok } from "../model/result.ts";
import type { Refused, Result } from "../model/result.ts";
import type { Era } from "../model/revision.ts";
import { checkResultShape } from "./bridge.ts";
import { withoutHopMeta, withoutKeys } from "./hop-meta.ts";

/**
 * Tasks have two forms that share their name and little else: in 2025-11-25 the client asks for one and the final
 * result is fetched by itself (basic, "Tasks"); in 2026-07-28 the server makes one of any call whose client
 * understands it (extension `io.modelcontextprotocol/tasks`). Neither can be told in the words of the other.
 */
export type TaskSupport = "forbidden" | "optional" | "required";

/** Whether a tool may or must run as a task of the 2025-11-25 form ("Tool-Level Negotiation"). */
export function taskSupportOf(definition: JsonObject): TaskSupport {
  const support = readOwn(readOwn(definition, "execution"), "taskSupport");
  return support === "optional" || support === "required" ? support : "forbidden";
}

/** Whether a server of this era that declares `capabilities` makes tasks of tool calls, in its era's form. */
export function makesTasks(era: Era, capabilities: JsonObject): boolean {
  const declared =
    era === "modern"
      ? readOwn(readOwn(capabilities, "extensions"), tasksExtension)
      : readOwn(readOwn(readOwn(readOwn(capabilities, "tasks"), "requests"), "tools"), "call");
  return isJsonObject(declared);
}

/** Whether a result is the promise of one instead of the result that the call has. */
export function isTaskPromise(era: Era, result: JsonObject): boolean {
  return era === "modern" ? readOwn(result, "resultType") === "task" : isJsonObject(readOwn(result, "task"));
}

/**
 * The task that a `CreateTaskResult` promises. Refuses with UPSTREAM_ANSWER_INVALID, naming the member, when it is
 * no task or its id has more than `taskIdCharsMax` characters.
 */
export function readPromise(era: Era, result: JsonObject): Result<JsonObject> {
  return readTask(era, "tools/call", era === "modern" ? result : (readOwn(result, "task") ?? null));
}

const statuses: readonly string[] = ["working", "input_required", "completed", "failed", "cancelled"];

/**
 * A task's state in the form of its era. Refuses with UPSTREAM_ANSWER_INVALID when a member that clients rely on
 * is missing or of a wrong type. Not checked: whether the times are times, and what other members hold.
 */
export function readTask(era: Era, method: string, value: Json): Result<JsonObject> {
  if (!isJsonObject(value)) return invalid(method, "task");
  const shapes = [...commonShapes, ...timeShapes(timeMembers[era])];
  const misshapen = shapes.find(([member, fits]) => !fits(readOwn(value, member)));
  return misshapen === undefined ? ok(value) : invalid(method, misshapen[0]);
}

type Shapes = readonly (readonly [member: string, fits: (value: Json | undefined) => boolean])[];

const isText = (value: Json | undefined): boolean => typeof value === "string";

const commonShapes: Shapes = [
  ["taskId", (id) => typeof id === "string" && id !== "" && id.length <= limits.taskIdCharsMax],
  ["status", (status) => typeof status === "string" && statuses.includes(status)],
  ["createdAt", isText],
  ["lastUpdatedAt", isText],
  ["statusMessage", (message) => message === undefined || isText(message)],
];

function timeShapes({ life, poll }: (typeof timeMembers)[Era]): Shapes {
  return [
    [life, (value) => value === null || isCount(value)],
    [poll, (value) => value === undefined || isCount(value)],
  ];
}

const timeMembers: Readonly<Record<Era, { readonly life: string; readonly poll: string }>> = {
  legacy: { life: "ttl", poll: "pollInterval" },
  modern: { life: "ttlMs", poll: "pollIntervalMs" },
};

function isCount(value: Json | undefined): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0;
}

/**
 * The answer to a modern `tasks/get`, with the payload that its status calls for ("Task Polling"): a tool's result,
 * a JSON-RPC error, requests for input. Refuses like `readTask`; what the requests ask is not looked at.
 */
export function readDetailedTask(value: JsonObject): Result<JsonObject> {
  const method = "tasks/get";
  const task = readTask("modern", method, value);
  if (!task.ok) return task;
  const payload = payloadMembers.get(readOwnString(value, "status") ?? "");
  const held = payload === undefined ? undefined : readOwn(value, payload);
  if (payload !== undefined && !isJsonObject(held)) return invalid(method, payload);
  if (payload === "result" && isJsonObject(held)) {
    const shape = checkResultShape("tools/call", held);
    if (!shape.ok) return shape;
  }
  if (payload === "error" && !isRpcError(held)) return invalid(method, payload);
  // Another status's payload is nobody's: it would be delivered unjudged.
  const strange = [...payloadMembers.values()].filter((member) => member !== payload);
  return ok(withoutKeys(value, strange));
}

const payloadMembers: ReadonlyMap<string, string> = new Map([
  ["input_required", "inputRequests"],
  ["completed", "result"],
  ["failed", "error"],
]);

function isRpcError(value: Json | undefined): boolean {
  const code = readOwn(value, "code");
  return typeof code === "number" && Number.isInteger(code) && typeof readOwn(value, "message") === "string";
}

/** A task's state under the id that its client knows it by, its life as long as the gateway can be asked for it. */
export function shownTask(era: Era, task: JsonObject, handle: string, lifeMsMax: number): JsonObject {
  const { life } = timeMembers[era];
  const lifeMs = readOwn(task, life);
  const shown = typeof lifeMs === "number" ? Math.min(lifeMs, lifeMsMax) : lifeMsMax;
  return withoutHopMeta({ ...withoutKeys(task, ["resultType"]), taskId: handle, [life]: shown });
}

/** How long a task can be asked for, in milliseconds. */
export function lifeMsOf(era: Era, task: JsonObject): number {
  const lifeMs = readOwn(task, timeMembers[era].life);
  return typeof lifeMs === "number" ? lifeMs : Number.POSITIVE_INFINITY;
}

/**
 * What a client asks of a task it wants (2025-11-25, "Task Parameters"), its `ttl` no longer than `lifeMsMax`. Refuses
 * with RPC_PARAMS_INVALID when it is no object or its `ttl` no whole number of milliseconds.
 */
export function readTaskWanted(task: Json, lifeMsMax: number): Result<JsonObject> {
  const ttl = readOwn(task, "ttl");
  if (!isJsonObject(task) || (ttl !== undefined && !isCount(ttl)))
    return refuse("RPC_PARAMS_INVALID", { member: "task" });
  return ok(ttl === undefined ? task : { ...task, ttl: Math.min(ttl, lifeMsMax) });
}

/**
 * `value` with `handle` in the place of the upstream's id in its "related task" metadata, and without the metadata
 * when it names another task: its id is one of the upstream's own, and not for this client.
 */
export function withRelatedTask(value: JsonObject, task: { readonly id: string; readonly handle: string }): JsonObject {
  const meta = readOwn(value, "_meta");
  const related = readOwn(meta, relatedTaskMetaKey);
  if (!isJsonObject(meta) || related === undefined) return value;
  if (!isJsonObject(related) || readOwn(related, "taskId") !== task.id) return withoutRelatedTask(value);
  return { ...value, _meta: { ...meta, [relatedTaskMetaKey]: { ...related, taskId: task.handle } } };
}

/** `value` without "related task" metadata, and without a `_meta` that had nothing else. */
export function withoutRelatedTask(value: JsonObject): JsonObject {
  const meta = readOwn(value, "_meta");
  if (!isJsonObject(meta) || !Object.hasOwn(meta, relatedTaskMetaKey)) return value;
  const kept = withoutKeys(meta, [relatedTaskMetaKey]);
  return Object.keys(kept).length > 0 ? { ...value, _meta: kept } : withoutKeys(value, ["_meta"]);
}

function invalid(method: string, member: string): Refused {
  return refuse("UPSTREAM_ANSWER_INVALID", { method, member });
}
