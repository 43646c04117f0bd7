import { readOwnString, type JsonObject } from "../../model/json.ts";
import type { Refusal } from "../../model/refusal.ts";
import type { Era } from "../../model/revision.ts";
import { withoutHopMeta, withoutKeys } from "../../protocol/hop-meta.ts";
import { writeJson } from "../../protocol/json/write.ts";
import { isTaskPromise, lifeMsOf, readPromise, shownTask, withRelatedTask } from "../../protocol/tasks.ts";
import type { UpstreamAnswer } from "../../upstream/port.ts";
import { given, type Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { ignoringOutage } from "./note-task.ts";
import type { KeptTask, TaskName } from "./task-book.ts";
import { ownerOf } from "./task-matter.ts";

type Answered = Extract<UpstreamAnswer, { readonly kind: "result" }>;

/** Whether a call was answered with a task that its client can follow. Any other promise is an invalid answer. */
export function becameTask(x: Exchange, { result, hop }: Answered): boolean {
  const { era } = given(x.classified, "a classified message");
  const expected = x.task?.is === "wanted" || x.task?.is === "understood";
  return expected && hop.era === era && isTaskPromise(era, result);
}

/**
 * Sets `result` to the promise under an id of the gateway's own, and keeps the task. When the store does not, the
 * task can be used all the same, but is not listed, and conditions on its arguments err.
 */
export async function keepPromise(x: Exchange, g: Gateway, answer: Answered): Promise<Refusal | undefined> {
  const { era } = given(x.classified, "a classified message");
  const promise = readPromise(era, answer.result);
  if (!promise.ok) {
    x.outcome = "unknown";
    return promise.refusal;
  }
  const owner = ownerOf(x);
  const { item } = given(given(x.target, "a target").entry, "an entry");
  const name: TaskName = {
    era,
    upstream: item.upstream,
    tool: item.name,
    id: readOwnString(promise.value, "taskId") ?? "",
  };
  const handle = g.tasks.seal(owner, name);
  const state = shownTask(era, promise.value, handle, g.limits.taskAgeMsMax);
  x.task = { is: "promised" };
  x.result = promiseFor(era, { answer: answer.result, state, id: name.id, handle });
  x.resultBytes = answer.bytes;
  const lives = livesFrom(era, state, g);
  await ignoringOutage(() => g.tasks.keep(owner, { name, handle, state, args: keptArguments(x, g), ...lives }));
  return undefined;
}

function promiseFor(era: Era, of: { answer: JsonObject; state: JsonObject; id: string; handle: string }): JsonObject {
  const promise: JsonObject =
    era === "modern"
      ? { ...of.state, resultType: "task" }
      : { ...withoutHopMeta(withoutKeys(of.answer, ["resultType"])), task: of.state };
  return withRelatedTask(promise, of);
}

function livesFrom(era: Era, state: JsonObject, g: Gateway): Pick<KeptTask, "keptAt" | "expiresAt"> {
  const keptAt = g.now();
  return { keptAt, expiresAt: keptAt + Math.min(lifeMsOf(era, state), g.limits.taskAgeMsMax) };
}

function keptArguments({ args }: Exchange, g: Gateway): JsonObject | undefined {
  if (args === undefined) return undefined;
  return Buffer.byteLength(writeJson(args)) <= g.limits.taskArgumentsBytesMax ? args : undefined;
}
