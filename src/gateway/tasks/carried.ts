import type { View } from "../../catalog/views.ts";
import { tasksExtension } from "../../model/identifiers.ts";
import { isJsonObject, readOwn, type JsonObject } from "../../model/json.ts";
import type { Era } from "../../model/revision.ts";
import { makesTasks, taskSupportOf } from "../../protocol/tasks.ts";
import { given, type Exchange } from "../exchange.ts";

/**
 * Tasks are carried where client and upstream know the same form of them: 2025-11-25 on both hops, or the extension
 * of 2026-07-28 on both. What is true of one form cannot be said in the other: in the first the client decides that
 * there is a task, in the second the server does.
 */

/** Whether an upstream of the view makes tasks in this era's form. */
export function upstreamMakesTasks(view: View, upstream: string, era: Era): boolean {
  const self = view.table.snapshots.find((snapshot) => snapshot.upstream === upstream)?.self;
  return self?.era === era && makesTasks(era, self.capabilities);
}

/** Whether this principal sees a tool that runs as a task of the 2025-11-25 form. */
export function viewHasTaskTools(view: View): boolean {
  return view.visibleBy.tool.some(
    ({ item }) => taskSupportOf(item.definition) !== "forbidden" && upstreamMakesTasks(view, item.upstream, "legacy"),
  );
}

/** Whether the client speaks a revision that has tasks by itself, or declares the extension with its request. */
export function knowsTasks(x: Exchange): boolean {
  const { era, meta } = given(x.classified, "a classified message");
  if (era === "legacy") return x.session?.revision === "2025-11-25";
  return isJsonObject(readOwn(readOwn(meta?.clientCapabilities, "extensions"), tasksExtension));
}

/**
 * The `tasks` capability of a server for a 2025-11-25 client; undefined when no tool it sees runs as a task. Lists
 * are the gateway's own; a cancellation is the upstream's, and declared when one of them has it.
 */
export function tasksCapability(view: View): JsonObject | undefined {
  if (!viewHasTaskTools(view)) return undefined;
  const cancel = view.table.snapshots.some(
    ({ upstream, self }) =>
      upstreamMakesTasks(view, upstream, "legacy") &&
      isJsonObject(readOwn(readOwn(self.capabilities, "tasks"), "cancel")),
  );
  return { list: {}, ...(cancel ? { cancel: {} } : {}), requests: { tools: { call: {} } } };
}
