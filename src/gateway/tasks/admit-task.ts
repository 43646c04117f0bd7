import type { Entry } from "../../catalog/table.ts";
import { readOwn } from "../../model/json.ts";
import { refuse, type Refusal } from "../../model/refusal.ts";
import { readTaskWanted, taskSupportOf } from "../../protocol/tasks.ts";
import { given, methodOf, paramsOf, type Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { knowsTasks, upstreamMakesTasks, viewHasTaskTools } from "./carried.ts";
import { ownerOf } from "./task-matter.ts";

/**
 * Sets `task` where a tool call may become one, and refuses the calls that cannot be what they have to be: a tool
 * that only runs as a task, called otherwise (TASK_REQUIRED); a task of a tool that makes none (TASK_UNSUPPORTED);
 * one more than a principal may have (TASK_LIMIT_REACHED).
 */
export function admitTask(x: Exchange, g: Gateway): Refusal | undefined | Promise<Refusal | undefined> {
  const entry = x.target?.entry;
  if (entry === undefined || methodOf(x) !== "tools/call") return undefined;
  const modern = given(x.classified, "a classified message").era === "modern";
  return modern ? admitModern(x, g, entry) : admitLegacy(x, g, entry);
}

function admitLegacy(x: Exchange, g: Gateway, entry: Entry): Refusal | undefined | Promise<Refusal | undefined> {
  const asked = readOwn(paramsOf(x), "task");
  const support = supportOf(x, entry);
  if (asked === undefined || !knowsTasks(x))
    return support === "required" ? refuse("TASK_REQUIRED").refusal : undefined;
  // Whoever declares no tasks ignores that one is asked for (2025-11-25, tasks, "Task Support and Handling").
  if (support === "forbidden")
    return viewHasTaskTools(given(x.view, "a view")) ? refuse("TASK_UNSUPPORTED").refusal : undefined;
  const wanted = readTaskWanted(asked, g.limits.taskAgeMsMax);
  if (!wanted.ok) return wanted.refusal;
  x.task = { is: "wanted", task: wanted.value };
  return roomFor(x, g);
}

async function roomFor(x: Exchange, g: Gateway): Promise<Refusal | undefined> {
  const { tasksPerPrincipalMax: tasksMax } = g.limits;
  return (await g.tasks.hasRoom(ownerOf(x))) ? undefined : refuse("TASK_LIMIT_REACHED", { tasksMax }).refusal;
}

/** The extension is handed on only while there is room, so a principal with too many tasks gets its results directly. */
function admitModern(x: Exchange, g: Gateway, entry: Entry): Refusal | undefined | Promise<undefined> {
  if (supportOf(x, entry) === "required") return refuse("TASK_REQUIRED").refusal;
  if (!knowsTasks(x) || !upstreamMakesTasks(given(x.view, "a view"), entry.item.upstream, "modern")) return undefined;
  return g.tasks.hasRoom(ownerOf(x)).then((room) => {
    if (room) x.task = { is: "understood" };
    return undefined;
  });
}

function supportOf(x: Exchange, { item }: Entry): ReturnType<typeof taskSupportOf> {
  const support = taskSupportOf(item.definition);
  if (support === "forbidden") return support;
  return upstreamMakesTasks(given(x.view, "a view"), item.upstream, "legacy") ? support : "forbidden";
}
