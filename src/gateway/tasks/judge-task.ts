import type { AskedKinds } from "../../model/client-feature.ts";
import { isJsonObject, readOwn, type JsonObject } from "../../model/json.ts";
import { refuse, type Refusal } from "../../model/refusal.ts";
import { readInputRequired } from "../../protocol/input-required.ts";
import { writeAskedKinds } from "../../protocol/asked-kinds.ts";
import { withoutKeys } from "../../protocol/hop-meta.ts";
import { writeJson } from "../../protocol/json/write.ts";
import { cleanError, cleanResult } from "../../sanitize/clean-result.ts";
import { judgeInput } from "../asking/judge-input.ts";
import { recordAsked } from "../asking/record-asked.ts";
import type { Entry } from "../../catalog/table.ts";
import { freeError } from "../../sanitize/remove-fields.ts";
import { noteFindings, given, methodOf, type Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { fieldsRemovedFrom, freeErrorOf, freeState, withoutRemoved } from "../removed-fields.ts";
import { checkStructured, encode, refuseOversized } from "../steps/check-result.ts";
import { withPublicLinks } from "../steps/rewrite-links.ts";
import { noteTask } from "./note-task.ts";

/**
 * Cleans what came of a request about a task, and decides what it asks of the client. A tool's result is cleaned as
 * the tool's own answer would have been, wherever it stands; so is an error.
 */
export function sanitizeTask(x: Exchange, g: Gateway): Refusal | undefined | Promise<Refusal | undefined> {
  if (x.error !== undefined) {
    const cleaned = cleanError(x.error);
    x.error = cleaned.error;
    noteFindings(x, cleaned.findings);
  }
  freeErrorOf(x);
  if (x.result === undefined) return undefined;
  if (isDetailed(x)) return sanitizeDetailed(x, g, x.result);
  x.result =
    methodOf(x) === "tasks/result"
      ? toolResult(x, g, x.result)
      : freeState(x.target?.entry, cleaned(x, g, methodOf(x), x.result));
  return undefined;
}

/** Only a modern `tasks/get` brings what the task came to; the first form fetches it by itself. */
function isDetailed(x: Exchange): boolean {
  return methodOf(x) === "tasks/get" && x.classified?.era === "modern";
}

function sanitizeDetailed(
  x: Exchange,
  g: Gateway,
  answer: JsonObject,
): Refusal | undefined | Promise<Refusal | undefined> {
  const [result, error, inputRequests] = payloads.map((member) => readOwn(answer, member));
  const { entry } = given(x.target, "a target");
  const clean = { ...freeState(entry, cleaned(x, g, "tasks/get", withoutKeys(answer, payloads))) };
  if (isJsonObject(result)) clean["result"] = toolResult(x, g, result);
  if (isJsonObject(error)) clean["error"] = taskError(entry, cleaned(x, g, "tasks/get", error));
  x.result = clean;
  return isJsonObject(inputRequests) ? judgeRequests(x, g, inputRequests) : undefined;
}

const payloads: readonly string[] = ["result", "error", "inputRequests"];

function toolResult(x: Exchange, g: Gateway, result: JsonObject): JsonObject {
  return withPublicLinks(x, g, withoutRemoved(x, cleaned(x, g, "tools/call", result)));
}

/** An error of a shape that `readDetailedTask` has looked at. */
function taskError(entry: Entry | undefined, error: JsonObject): JsonObject {
  const code = readOwn(error, "code");
  if (fieldsRemovedFrom(entry) === undefined || typeof code !== "number") return error;
  return { ...freeError({ code, message: "" }) };
}

function cleaned(x: Exchange, g: Gateway, method: string, value: JsonObject): JsonObject {
  const clean = cleanResult(method, value);
  noteFindings(x, clean.findings);
  return g.cleanResults ? clean.value : value;
}

/** A task is no channel of higher trust (tasks extension, "Security Considerations"): requests are judged like those of a call. */
function judgeRequests(
  x: Exchange,
  g: Gateway,
  inputRequests: JsonObject,
): Refusal | undefined | Promise<Refusal | undefined> {
  const { upstream } = given(given(x.target, "a target").entry, "an entry").item;
  const required = readInputRequired("tools/call", { inputRequests });
  if (!required.ok) return required.refusal;
  const judged = judgeInput(x, g, { upstream, required: required.value });
  if (!judged.ok) return judged.refusal;
  const requests: JsonObject = {};
  for (const { key, request } of judged.value) requests[key] = { method: request.method, params: request.params };
  x.result = { ...x.result, inputRequests: requests };
  const kept = judged.value.map(({ request: { method }, judged: { feature, decision, findings } }) =>
    recordAsked(x, g, { asked: { upstream, method }, feature, decision, findings, outcome: "offered" }),
  );
  if (kept.includes(false)) return refuse("AUDIT_UNAVAILABLE").refusal;
  const asked = new Map(judged.value.map(({ key, request: { feature } }) => [key, feature]));
  return noteAsked(x, g, asked).then(() => undefined);
}

/** So that the answers are known for what was asked. A client that asks again and again is told the same each time. */
async function noteAsked(x: Exchange, g: Gateway, asked: AskedKinds): Promise<void> {
  if (x.task?.is !== "known") return;
  const text = writeJson(writeAskedKinds(asked));
  const isNoted = x.task.asked !== undefined && writeJson(writeAskedKinds(x.task.asked)) === text;
  if (isNoted || Buffer.byteLength(text) > g.limits.taskAskedBytesMax) return;
  await noteTask(x, g, x.task.name, (kept) => ({ ...kept, asked }));
}

/** Holds a task's result to its tool's output schema, like the tool's own answer, and gives all of it the form of the era. */
export function checkTask(x: Exchange, g: Gateway): Refusal | undefined {
  const entry = x.target?.entry;
  const result = isDetailed(x) ? readOwn(x.result, "result") : methodOf(x) === "tasks/result" ? x.result : undefined;
  if (entry !== undefined && isJsonObject(result)) {
    const refusal = checkStructured(x, g, { entry, result });
    if (refusal !== undefined) {
      x.outcome = "failed";
      return refusal;
    }
  }
  encode(x, g);
  return refuseOversized(x);
}
