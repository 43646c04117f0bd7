import { readOwnString, type JsonObject } from "../../model/json.ts";
import { StoreUnavailable } from "../../model/records.ts";
import { notificationMessage } from "../../protocol/jsonrpc.ts";
import { writeJson } from "../../protocol/json/write.ts";
import { readTask, shownTask, withoutRelatedTask } from "../../protocol/tasks.ts";
import { cleanObject } from "../../sanitize/clean-value.ts";
import { contentFields } from "../../sanitize/field-rule.ts";
import type { Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { viewOf } from "../steps/view-of.ts";
import { knowsTasks } from "./carried.ts";
import { ownerOf } from "./task-matter.ts";
import { freeState } from "../removed-fields.ts";
import { mayUse, toolOf } from "./task-permission.ts";

export const taskStatusMethod = "notifications/tasks/status";

/**
 * A task's new status, as an upstream tells it outside of any call, on the stream of the exchange: if the task is this
 * principal's and policy still lets it be used, under the id that the client knows. Everything else is dropped: no
 * client may rely on hearing of a status (2025-11-25, tasks, "Task Notifications").
 */
export async function relayTaskStatus(
  x: Exchange,
  g: Gateway,
  of: { readonly upstream: string; readonly params: JsonObject },
): Promise<void> {
  const task = readTask("legacy", taskStatusMethod, of.params);
  if (!task.ok || !knowsTasks(x)) return;
  try {
    const owner = ownerOf(x);
    const id = readOwnString(task.value, "taskId") ?? "";
    const kept = await g.tasks.find(owner, { upstream: of.upstream, id });
    const view = await viewOf(x, g);
    if (kept?.name.era !== "legacy" || !mayUse(x, g, { view, task: kept })) return;
    const shown = shownTask("legacy", withoutRelatedTask(task.value), kept.handle, g.limits.taskAgeMsMax);
    const { value: state } = cleanObject(shown, { fields: contentFields });
    const told = freeState(toolOf(view, kept.name), state);
    x.arrival.stream()?.send(writeJson(notificationMessage(taskStatusMethod, told)));
    await g.tasks.keep(owner, { ...kept, state });
  } catch (cause) {
    if (!(cause instanceof StoreUnavailable)) g.logRefusal({ ref: x.ref, code: "INTERNAL_FAULT" }, cause);
  }
}
