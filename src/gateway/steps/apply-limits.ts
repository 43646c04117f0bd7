import type { Obligations } from "../../model/obligations.ts";
import { refuse, type Refusal } from "../../model/refusal.ts";
import type { Subject } from "../../policy/question.ts";
import { given, methodOf, type Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";

/**
 * Sets `release`: what is given back when the outcome is recorded. One of the principal's slots for calls under way on
 * this replica; and, where policy limits the use, the leases that count it as under way for all replicas.
 *
 * What serves recovery takes a slot of its own kind (design, decision 7): with all slots for calls taken, one can still
 * look at a task and cancel it, and who does nothing else is bounded too. `tasks/result` waits for the end of its task,
 * as a call does, and counts as one. Policy limits uses: what is asked about a task is part of the use that made it.
 */
export function applyLimits(x: Exchange, g: Gateway): Refusal | undefined | Promise<Refusal | undefined> {
  const isRecovery = recovery.has(methodOf(x));
  if (x.target === undefined && !isRecovery) return undefined;
  const slots = isRecovery ? g.recoverySlots : g.slots;
  x.release = slots.take(given(x.principal, "a principal").key);
  if (x.release === undefined)
    return refuse("CONCURRENCY_LIMITED", { kind: isRecovery ? "recovery" : "calls" }).refusal;
  const limits = x.obligations?.limits ?? [];
  return limits.length === 0 || x.classified?.column === "task" ? undefined : takeUse(x, g, limits);
}

const recovery: ReadonlySet<string> = new Set(["tasks/get", "tasks/cancel", "tasks/list"]);

async function takeUse(x: Exchange, g: Gateway, limits: Obligations["limits"]): Promise<Refusal | undefined> {
  const target = given(x.target, "a target");
  const own: Subject = given(target.entry, "an entry").item;
  const item = target.countedAs === undefined ? own : { ...own, name: target.countedAs };
  const { name: server } = x.arrival.server;
  const admitted = await g.uses.admit({ principal: given(x.principal, "a principal"), server, item, limits });
  if (!admitted.ok) {
    g.observeLimited({ server, kind: admitted.kind });
    return admitted.refusal;
  }
  const { release } = x;
  x.release = () => {
    release?.();
    admitted.end();
  };
  return undefined;
}
