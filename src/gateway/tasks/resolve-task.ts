import type { View } from "../../catalog/views.ts";
import { tasksExtension } from "../../model/identifiers.ts";
import { readOwnString } from "../../model/json.ts";
import { refuse, type Refusal } from "../../model/refusal.ts";
import { given, methodOf, paramsOf, type Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { catalogUnavailable, viewOf } from "../steps/view-of.ts";
import { knowsTasks } from "./carried.ts";
import type { TaskName } from "./task-book.ts";
import { ownerOf } from "./task-matter.ts";
import { toolOf } from "./task-permission.ts";

/**
 * Sets `view`, `target`, `task` and `args`: a request about a task is decided again as the call that made it, by the
 * policy in force and with the arguments of that call. An id that was altered, belongs to somebody else or to the
 * other form of tasks, and the task of a tool that this principal does not see any more, are TASK_UNKNOWN alike. A
 * list of tasks has no target.
 */
export async function resolveTask(x: Exchange, g: Gateway): Promise<Refusal | undefined> {
  const { era } = given(x.classified, "a classified message");
  if (!knowsTasks(x)) return era === "legacy" ? refuse("RPC_METHOD_UNKNOWN", { era }).refusal : extensionMissing();
  x.view = await viewOf(x, g);
  if (methodOf(x) === "tasks/list") return undefined;
  const handle = readOwnString(paramsOf(x), "taskId");
  if (handle === undefined) return refuse("RPC_PARAMS_INVALID", { member: "taskId" }).refusal;
  const opened = g.tasks.open(ownerOf(x), handle);
  if ("because" in opened) return unknownTask(opened.because);
  if (opened.name.era !== era) return unknownTask("another form of tasks");
  return aimAt(x, g, { name: opened.name, handle, view: x.view });
}

/** "For non-declaring clients issuing tasks/get, tasks/update, and tasks/cancel requests" (tasks extension, "Protocol Errors"). */
function extensionMissing(): Refusal {
  const required = [`/extensions/${tasksExtension.replaceAll("/", "~1")}`];
  return refuse("CLIENT_CAPABILITY_MISSING", { required }).refusal;
}

async function aimAt(
  x: Exchange,
  g: Gateway,
  of: { name: TaskName; handle: string; view: View },
): Promise<Refusal | undefined> {
  const { name, handle, view } = of;
  const entry = toolOf(view, name);
  if (entry === undefined) {
    const missing = view.table.missing.some(({ upstream }) => upstream === name.upstream);
    return missing ? catalogUnavailable(view) : unknownTask("its tool is not visible");
  }
  x.target = { kind: "tool", asked: entry.exposed, entry };
  const kept = await g.tasks.find(ownerOf(x), name);
  x.task = { is: "known", name, handle, asked: kept?.asked };
  x.args = kept?.args;
  return undefined;
}

export function unknownTask(because: string): Refusal {
  return refuse("TASK_UNKNOWN", { because }).refusal;
}
