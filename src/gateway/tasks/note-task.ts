import { StoreUnavailable } from "../../model/records.ts";
import type { Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import type { KeptTask, TaskName } from "./task-book.ts";
import { ownerOf } from "./task-matter.ts";

/** Changes what is kept of a task of this principal. Nothing happens where nothing is kept, or the store is away. */
export async function noteTask(
  x: Exchange,
  g: Gateway,
  name: TaskName,
  change: (kept: KeptTask) => KeptTask,
): Promise<void> {
  await ignoringOutage(async () => {
    const owner = ownerOf(x);
    const kept = await g.tasks.find(owner, name);
    if (kept !== undefined) await g.tasks.keep(owner, change(kept));
  });
}

/** A task can be used without its record: it is not listed then, and conditions on its arguments err. */
export async function ignoringOutage(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (cause) {
    if (!(cause instanceof StoreUnavailable)) throw cause;
  }
}
