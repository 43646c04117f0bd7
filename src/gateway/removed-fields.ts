import type { Entry } from "../catalog/table.ts";
import { relatedTaskMetaKey } from "../model/identifiers.ts";
import { isJsonObject, readOwn, type JsonObject } from "../model/json.ts";
import { freeError, freeResult } from "../sanitize/remove-fields.ts";
import { noteFindings, type Exchange } from "./exchange.ts";

/**
 * Fields that policy removes from what a tool's upstream sends, by whichever way it comes: with the answer, as a task,
 * in an error, or in words along the way. Undefined: none.
 */
export function fieldsRemovedFrom(entry: Entry | undefined): readonly string[] | undefined {
  const fields = entry?.shaped?.removeFields;
  return fields === undefined || fields.length === 0 ? undefined : fields;
}

/** A tool's result without the fields, with a finding for what else had to go. */
export function withoutRemoved(x: Exchange, result: JsonObject): JsonObject {
  const fields = fieldsRemovedFrom(x.target?.entry);
  if (fields === undefined) return result;
  const { value, findings } = freeResult(result, fields);
  noteFindings(x, findings);
  return value;
}

/** An error of a tool's upstream stands without its words. */
export function freeErrorOf(x: Exchange): void {
  if (x.error !== undefined && fieldsRemovedFrom(x.target?.entry) !== undefined) x.error = freeError(x.error);
}

/** What a question for input has that is the gateway's own or was judged. */
const questionMembers: readonly string[] = ["resultType", "inputRequests", "requestState"];
/** What is known of a task by its form; its status in words is the upstream's. */
const stateMembers: readonly string[] = [
  ...["resultType", "taskId", "status", "createdAt", "lastUpdatedAt", "ttl", "ttlMs", "pollInterval", "pollIntervalMs"],
];
const promiseMembers: readonly string[] = [...stateMembers, "task"];

export function freeQuestion(entry: Entry | undefined, question: JsonObject): JsonObject {
  return fieldsRemovedFrom(entry) === undefined ? question : only(question, questionMembers);
}

/** A task's state, as a promise, an answer, a list and a notification have it; what the task came to is freed by itself. */
export function freeState(entry: Entry | undefined, state: JsonObject): JsonObject {
  return fieldsRemovedFrom(entry) === undefined ? state : only(state, stateMembers);
}

export function freePromise(entry: Entry | undefined, promise: JsonObject): JsonObject {
  if (fieldsRemovedFrom(entry) === undefined) return promise;
  const kept = only(promise, promiseMembers);
  const task = readOwn(kept, "task");
  return isJsonObject(task) ? { ...kept, task: only(task, stateMembers) } : kept;
}

function only(value: JsonObject, members: readonly string[]): JsonObject {
  const kept = Object.fromEntries(Object.entries(value).filter(([member]) => members.includes(member)));
  const related = readOwn(readOwn(value, "_meta"), relatedTaskMetaKey);
  return related === undefined ? kept : { ...kept, _meta: { [relatedTaskMetaKey]: related } };
}
