import { isJsonObject, readOwn, type JsonObject } from "../../model/json.ts";
import { refuse, type Refusal } from "../../model/refusal.ts";
import { ok, type Result } from "../../model/result.ts";
import { upstreamErrorFor, upstreamResult } from "../../protocol/bridge.ts";
import { withoutHopMeta, withoutKeys } from "../../protocol/hop-meta.ts";
import {
  lifeMsOf,
  readDetailedTask,
  readTask,
  shownTask,
  withRelatedTask,
  withoutRelatedTask,
} from "../../protocol/tasks.ts";
import { relatedTaskMetaKey } from "../../model/identifiers.ts";
import type { AnswerAsked, UpstreamAnswer, UpstreamRequest } from "../../upstream/port.ts";
import { answersFrom } from "../asking/answer-asked.ts";
import { declaredCapabilities } from "../asking/declared-capabilities.ts";
import { deadlinesOf } from "../deadlines.ts";
import { given, methodOf, paramsOf, type Exchange } from "../exchange.ts";
import { forwardedHeaders } from "../forwarded-headers.ts";
import type { Gateway } from "../gateway.ts";
import { relayLog } from "../steps/relay-log.ts";
import { ignoringOutage, noteTask } from "./note-task.ts";
import { unknownTask } from "./resolve-task.ts";
import type { TaskMatter } from "./task-matter.ts";
import { ownerOf } from "./task-matter.ts";

type Known = Extract<TaskMatter, { readonly is: "known" }>;

/**
 * Sends a request about a task to the upstream that has it, under the upstream's own id, and sets `result` or
 * `error` with the client's. What was heard of the task is noted for lists.
 */
export async function forwardTask(x: Exchange, g: Gateway): Promise<Refusal | undefined> {
  if (x.task?.is !== "known") return undefined;
  const sentAt = g.now();
  const answer = await g.upstreams.request(requestFor(x, g, x.task));
  x.upstreamMs = g.now() - sentAt;
  x.hop = answer.hop;
  return receive(x, g, { task: x.task, answer });
}

function requestFor(x: Exchange, g: Gateway, task: Known): UpstreamRequest {
  const { era, upstream, id } = task.name;
  const { timeoutMs, deadlines } = deadlinesOf(g, given(x.target?.entry, "an entry").item, x.obligations);
  return {
    upstream,
    method: methodOf(x),
    params: outgoingParams(x, task),
    account: given(x.account, "an account"),
    forwarded: forwardedHeaders(x, g, upstream),
    name: era === "modern" ? id : undefined,
    inputSchema: undefined,
    kind: "tool",
    signal: x.cancellation,
    ...relayLog(x),
    ...asked(x, g, { task, until: g.now() + timeoutMs }),
    timeoutMs,
    deadlines,
  };
}

/** A legacy upstream asks for what its task needs while the client waits for the result ("Input Required Status"). */
function asked(
  x: Exchange,
  g: Gateway,
  of: { task: Known; until: number },
): Pick<UpstreamRequest, "clientCapabilities" | "onAsked"> {
  const { era, upstream, id } = of.task.name;
  const clientCapabilities = declaredCapabilities(x, g, upstream);
  if (clientCapabilities === undefined) return {};
  if (era === "modern") return { clientCapabilities };
  // Nothing is declared anew: the task lives in the session that was opened for the call.
  const answer = answersFrom(x, g, { upstream, until: of.until });
  const names = { id, handle: of.task.handle };
  const onAsked: AnswerAsked = (request) => answer({ ...request, params: withRelatedTask(request.params, names) });
  return { onAsked };
}

/** Nothing that was not judged goes: no arguments, no state of another exchange; of answers, what became `input`. */
function outgoingParams(x: Exchange, { name }: Known): JsonObject {
  const meta = readOwn(withoutRelatedTask(paramsOf(x)), "_meta");
  const responses = x.input?.responses;
  return {
    taskId: name.id,
    ...(meta === undefined ? {} : { _meta: meta }),
    ...(responses === undefined ? {} : { inputResponses: responses }),
  };
}

async function receive(
  x: Exchange,
  g: Gateway,
  of: { task: Known; answer: UpstreamAnswer },
): Promise<Refusal | undefined> {
  const { task, answer } = of;
  switch (answer.kind) {
    case "failed":
      // Asking again what is known of a task repeats nothing.
      x.outcome = isReading(x) ? "failed" : answer.outcome;
      return answer.refusal;
    case "error":
      x.outcome = "failed";
      return receiveError(x, g, { task, error: answer.error });
    case "result": {
      const read = readAnswer(x, g, { task, answer });
      if (!read.ok) {
        x.outcome = isReading(x) ? "failed" : "unknown";
        return read.refusal;
      }
      x.result = read.value;
      x.resultBytes = answer.bytes;
      await note(x, g, task);
      return undefined;
    }
  }
}

function isReading(x: Exchange): boolean {
  return methodOf(x) === "tasks/get" || methodOf(x) === "tasks/result";
}

/** For `tasks/get`, −32602 has one meaning: the upstream has no such task, or not any more. */
async function receiveError(
  x: Exchange,
  g: Gateway,
  { task, error }: { task: Known; error: NonNullable<Exchange["error"]> },
): Promise<Refusal | undefined> {
  if (methodOf(x) === "tasks/get" && error.code === -32602) {
    await ignoringOutage(() => g.tasks.forget(ownerOf(x), task.name));
    return unknownTask("unknown to its upstream");
  }
  x.error = upstreamErrorFor(task.name.era, methodOf(x), error);
  return undefined;
}

/** What the client gets of an upstream's result, each method and form its own. */
function readAnswer(
  x: Exchange,
  g: Gateway,
  { task, answer }: { task: Known; answer: Extract<UpstreamAnswer, { kind: "result" }> },
): Result<JsonObject> {
  const { name, handle } = task;
  const { result, hop } = answer;
  const method = methodOf(x);
  if (hop.era !== name.era) return refuse("UPSTREAM_ANSWER_INVALID", { method, member: "era" });
  if (method === "tasks/result") return readResult(result, task);
  const acknowledged = name.era === "modern" && method !== "tasks/get";
  if (acknowledged) return ok(withoutRelatedTask(withoutHopMeta(withoutKeys(result, ["resultType"]))));
  const read = name.era === "modern" ? readDetailedTask(result) : readTask(name.era, method, result);
  if (!read.ok) return read;
  if (readOwn(read.value, "taskId") !== name.id) return refuse("UPSTREAM_ANSWER_INVALID", { method, member: "taskId" });
  const shown = shownTask(name.era, read.value, handle, g.limits.taskAgeMsMax);
  return ok(withRelatedTask(shown, { id: name.id, handle }));
}

/** The tool's own result, which names its task ("Related Task Metadata": it must). */
function readResult(result: JsonObject, { handle }: Known): Result<JsonObject> {
  const freed = upstreamResult({ era: "legacy" }, "tools/call", result);
  if (!freed.ok) return freed;
  const meta = readOwn(freed.value, "_meta");
  const kept = isJsonObject(meta) ? meta : {};
  return ok({ ...freed.value, _meta: { ...kept, [relatedTaskMetaKey]: { taskId: handle } } });
}

async function note(x: Exchange, g: Gateway, { name }: Known): Promise<void> {
  const state = x.result;
  if (state === undefined || readOwn(state, "status") === undefined) return;
  await noteTask(x, g, name, (kept) => {
    const expiresAt = kept.keptAt + Math.min(lifeMsOf(name.era, state), g.limits.taskAgeMsMax);
    return { ...kept, state: withoutKeys(state, payloads), expiresAt };
  });
}

/** A record is about a task, and holds nothing that it brought. */
const payloads: readonly string[] = ["result", "error", "inputRequests"];
