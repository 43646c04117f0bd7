import { readOwn } from "../../model/json.ts";
import { refuse, type Refusal } from "../../model/refusal.ts";
import { given, methodOf, paramsOf, type Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { ownerOf } from "./task-matter.ts";
import { freeState } from "../removed-fields.ts";
import { mayUse, toolOf } from "./task-permission.ts";

/**
 * Sets `result` for `tasks/list`: this principal's tasks at this server, from the gateway's own record, each as it was
 * last heard of. An upstream is not asked: with a credential that callers share it would list everybody's. A task
 * whose tool policy would not let the principal call any more is left out. One page holds all there can be.
 */
export async function answerTaskList(x: Exchange, g: Gateway): Promise<Refusal | undefined> {
  if (methodOf(x) !== "tasks/list") return undefined;
  if (readOwn(paramsOf(x), "cursor") !== undefined) return refuse("CURSOR_INVALID").refusal;
  const view = given(x.view, "a view");
  const kept = (await g.tasks.all(ownerOf(x))).filter(({ name }) => name.era === "legacy");
  const shown = kept.filter((task) => mayUse(x, g, { view, task }));
  x.listed = { shown: shown.length, known: kept.length };
  x.result = { tasks: shown.map(({ name, state }) => freeState(toolOf(view, name), state)) };
  return undefined;
}
