import type { Entry } from "../../catalog/table.ts";
import type { View } from "../../catalog/views.ts";
import { decide } from "../../policy/decide.ts";
import type { Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { policyOf } from "../policy-in-force.ts";
import { questionAbout } from "../steps/question.ts";
import type { KeptTask, TaskName } from "./task-book.ts";

/** The tool of a task in what this principal sees now; undefined when it is not there any more. */
export function toolOf(view: View, { upstream, tool }: TaskName): Entry | undefined {
  return view.visibleBy.tool.find(({ item }) => item.upstream === upstream && item.name === tool);
}

/** Whether this principal would be let make the call of a task now, or lacks only scopes for it. */
export function mayUse(x: Exchange, g: Gateway, of: { view: View; task: KeptTask }): boolean {
  const entry = toolOf(of.view, of.task.name);
  if (entry === undefined || of.task.expiresAt <= g.now()) return false;
  return decide(policyOf(x, g), questionAbout(x, entry.item, g.now(), of.task.args)).effect !== "deny";
}
