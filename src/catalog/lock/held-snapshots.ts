import type { Snapshots } from "../snapshots.ts";
import type { LockKeeper } from "./keeper.ts";
import type { Lock } from "./lock.ts";

/** Snapshots as the lock lets them be used. */
export function heldToLock(snapshots: Snapshots, keeper: Pick<LockKeeper, "judged">): Snapshots {
  return {
    ...snapshots,
    current: (upstream) => {
      const snapshot = snapshots.current(upstream);
      return snapshot === undefined ? undefined : keeper.judged(snapshot);
    },
    wait: async (upstream) => {
      const answer = await snapshots.wait(upstream);
      return "items" in answer ? keeper.judged(answer) : answer;
    },
  };
}

/** Snapshots of which some come out of the lock: those are made anew once another one is in force. */
export function followingLock(
  snapshots: Snapshots,
  of: { readonly lock: () => Lock | undefined; readonly isFromLock: (upstream: string) => boolean },
): Snapshots {
  const seen = new Map<string, Lock | undefined>();
  return {
    ...snapshots,
    current: (upstream) => {
      const lock = of.isFromLock(upstream) ? of.lock() : undefined;
      if (seen.has(upstream) && seen.get(upstream) !== lock) void snapshots.refresh(upstream);
      seen.set(upstream, lock);
      return snapshots.current(upstream);
    },
  };
}
