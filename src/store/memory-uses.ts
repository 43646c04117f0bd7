import { limits } from "../model/limits.ts";
import { StoreUnavailable, type RecordUses, type UseLease, type UseLimit, type UseTaken } from "../model/records.ts";
import { limitKey } from "./keys.ts";
import { assertOpen, attempt } from "./memory-attempt.ts";
import type { Shelf } from "./shelf.ts";
import { lifeMs } from "./store.ts";
import { dayEndsInMs, takeFromBucket, type Bucket } from "./use-arithmetic.ts";

interface MemoryUsesOptions {
  readonly shelf: Shelf;
  readonly now: () => number;
  readonly isClosed: () => boolean;
}

/** What a use comes to at one limit: a wait, or what is written once all have room. */
type Plan = { readonly waitMs: number } | { readonly write: () => void };

/** Limits of one process. */
export function memoryUses({ shelf, now, isClosed }: MemoryUsesOptions): RecordUses {
  function nameOf(tenant: string, name: UseLimit["name"]): string {
    assertOpen(isClosed());
    return limitKey(tenant, name);
  }

  function planAt(name: string, limit: UseLimit, lease: UseLease): Plan {
    switch (limit.kind) {
      case "rate":
        return planRate(shelf, name, { limit, now: now() });
      case "quota":
        return planQuota(shelf, name, { count: limit.count, now: now() });
      case "concurrency":
        if (shelf.members(name).length >= limit.count) return { waitMs: 0 };
        return { write: () => void shelf.addMember(name, lease.id, now() + lifeMs(lease.lifeMs)) };
    }
  }

  function take(tenant: string, wanted: readonly UseLimit[], lease: UseLease): UseTaken {
    const names = wanted.map(({ name }) => nameOf(tenant, name));
    const plans = wanted.map((limit, at) => planAt(names[at] ?? "", limit, lease));
    const worst = worstOf(plans);
    if (worst !== undefined) return worst;
    // All or nothing, also where the store is full.
    shelf.reserve(wanted.filter(({ kind }, at) => kind === "concurrency" || !shelf.has(names[at] ?? "")).length);
    for (const plan of plans) if ("write" in plan) plan.write();
    return { taken: true };
  }

  return {
    takeUse: (tenant, wanted, lease) => attempt(() => take(tenant, wanted, lease)),
    keepLease: (tenant, names, lease) =>
      attempt(() => {
        for (const name of names) shelf.addMember(nameOf(tenant, name), lease.id, now() + lifeMs(lease.lifeMs));
      }),
    endLease: (tenant, names, leaseId) =>
      attempt(() => {
        for (const name of names) shelf.removeMember(nameOf(tenant, name), leaseId);
      }),
  };
}

function planRate(shelf: Shelf, name: string, of: { limit: Extract<UseLimit, { kind: "rate" }>; now: number }): Plan {
  const taken = takeFromBucket(of.limit, readBucket(shelf.text(name)?.value), of.now);
  if ("waitMs" in taken) return taken;
  const { level, seenMs } = taken.bucket;
  const expiresAt = of.now + Math.min(limits.limitCounterMsMax, taken.fullInMs);
  return {
    write: () => {
      shelf.putText(name, `${level} ${seenMs}`, expiresAt);
    },
  };
}

function readBucket(text: string | undefined): Bucket | undefined {
  if (text === undefined) return undefined;
  const [level = NaN, seenMs = NaN] = text.split(" ").map(Number);
  if (!Number.isSafeInteger(level) || !Number.isSafeInteger(seenMs)) throw noCounter();
  return { level, seenMs };
}

function planQuota(shelf: Shelf, name: string, { count, now }: { count: number; now: number }): Plan {
  const used = Number(shelf.text(name)?.value ?? "0") + 1;
  if (!Number.isSafeInteger(used)) throw noCounter();
  if (used > count) return { waitMs: dayEndsInMs(now) };
  return {
    write: () => {
      shelf.putText(name, String(used), now + dayEndsInMs(now));
    },
  };
}

function worstOf(plans: readonly Plan[]): UseTaken | undefined {
  let worst: Extract<UseTaken, { taken: false }> | undefined;
  for (const [at, plan] of plans.entries()) {
    if ("waitMs" in plan && plan.waitMs > (worst?.waitMs ?? -1)) worst = { taken: false, at, waitMs: plan.waitMs };
  }
  return worst;
}

function noCounter(): StoreUnavailable {
  return new StoreUnavailable("the record is no counter");
}
