import { createHash } from "node:crypto";
import { openSealing } from "./compose-crossing.ts";
import type { Config } from "./config/types.ts";
import { createTaskBook, type TaskBook } from "./gateway/tasks/task-book.ts";
import type { Store } from "./store/store.ts";

/** Joins the tasks of all principals to the store that replicas share. */
export function openTasks({ config, store }: { readonly config: Config; readonly store: Store }): TaskBook {
  return createTaskBook({
    records: store,
    sealing: openSealing(config),
    now: Date.now,
    limits: config.limits,
    digest: (text) => createHash("sha256").update(text).digest("base64url"),
  });
}
