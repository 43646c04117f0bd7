import type { Courier } from "../model/courier.ts";
import type { Limits } from "../model/limits.ts";
import type { RpcId } from "../model/rpc.ts";
import { cancelText, type CallsOf } from "./under-way.ts";

/**
 * Tells the other replicas that a principal cancels a call which is not here. Rejects with `StoreUnavailable`. Beyond
 * `cancellationsToldPerMinuteMax` of one principal nothing is told: each costs every replica, and who sends so many
 * names calls that do not exist.
 */
export type CancelElsewhere = (
  principalKey: string,
  call: { readonly session: CallsOf; readonly id: RpcId },
) => Promise<void>;

export interface CancelElsewhereOptions {
  readonly courier: Pick<Courier, "broadcast">;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly limits: Pick<Limits, "cancellationsToldPerMinuteMax" | "cancellersRememberedMax">;
}

export function createCancelElsewhere({ courier, now, limits }: CancelElsewhereOptions): CancelElsewhere {
  /** In the order in which their minutes began. */
  const minutes = new Map<string, Minute>();
  return async (principalKey, { session, id }) => {
    const minute = minuteOf(minutes, principalKey, { now: now(), ownersMax: limits.cancellersRememberedMax });
    if (minute.told >= limits.cancellationsToldPerMinuteMax) return;
    minute.told += 1;
    await courier.broadcast("cancel", cancelText(session, id));
  };
}

interface Minute {
  readonly beganAt: number;
  told: number;
}

function minuteOf(
  minutes: Map<string, Minute>,
  principalKey: string,
  { now, ownersMax }: { now: number; ownersMax: number },
): Minute {
  const current = minutes.get(principalKey);
  if (current !== undefined && now - current.beganAt < 60_000) return current;
  minutes.delete(principalKey);
  const oldest = minutes.keys().next();
  if (minutes.size >= ownersMax && oldest.done !== true) minutes.delete(oldest.value);
  const minute = { beganAt: now, told: 0 };
  minutes.set(principalKey, minute);
  return minute;
}
