import { createHash } from "node:crypto";
import { limits } from "../../model/limits.ts";
import type { LimitObligation, LimitScope } from "../../model/obligations.ts";
import type { Principal } from "../../model/principal.ts";
import type { RecordUses, UseLease, UseLimit } from "../../model/records.ts";
import type { Refusal } from "../../model/refusal.ts";
import type { Subject } from "../../policy/question.ts";
import { limitRefusal } from "./limit-refusal.ts";

/** A use that policy limits. */
export interface LimitedUse {
  readonly principal: Principal;
  /** The virtual server. */
  readonly server: string;
  readonly item: Subject;
  /** At least one. */
  readonly limits: readonly LimitObligation[];
}

export type Admitted =
  /** `end` gives back what counts as under way, once, however often it is called; it never throws. */
  | { readonly ok: true; readonly end: () => void }
  | { readonly ok: false; readonly kind: LimitObligation["kind"]; readonly refusal: Refusal };

export interface UseLimits {
  /**
   * Takes one use from every limit, or from none of them. Refuses RATE_LIMITED, QUOTA_EXHAUSTED or CONCURRENCY_LIMITED
   * for the limit whose next use is farthest off. Rejects with `StoreUnavailable`: a limit that nobody can read is none
   * that may be passed.
   */
  admit(use: LimitedUse): Promise<Admitted>;
}

export interface UseLimitsOptions {
  readonly records: RecordUses;
  /** A new id at every call, which no other replica makes. */
  readonly leaseId: () => string;
  /** Default `limits.limitLeaseMs`. */
  readonly leaseMs?: number;
}

/** The limits of policy's `constrain` rules, counted in the store for all replicas: one round trip for all that a use meets. */
export function createUseLimits({ records, leaseId, leaseMs = limits.limitLeaseMs }: UseLimitsOptions): UseLimits {
  async function admit(use: LimitedUse): Promise<Admitted> {
    const { tenant } = use.principal;
    const lease = { id: leaseId(), lifeMs: leaseMs };
    const wanted = use.limits.map((limit) => counterOf(limit, use));
    const taken = await records.takeUse(tenant, wanted, lease);
    if (taken.taken) {
      const held = wanted.filter(({ kind }) => kind === "concurrency").map(({ name }) => name);
      return { ok: true, end: held.length === 0 ? nothing : hold({ records, tenant, held, lease }) };
    }
    const limit = use.limits[taken.at];
    if (limit === undefined) throw new Error("the store names a limit that it was not asked about");
    return { ok: false, kind: limit.kind, refusal: limitRefusal(limit, taken.waitMs) };
  }
  return { admit };
}

/** The counter of a limit for this use. Another window counts anew; another number goes on from what is used up. */
function counterOf(limit: LimitObligation, use: LimitedUse): UseLimit {
  const { kind, count } = limit;
  const name = [limit.rule, String(limit.at), kind, scopeDigest(limit, use)];
  return kind === "rate" ? { name, kind, count, perMs: limit.perMs, burst: limit.burst } : { name, kind, count };
}

function scopeDigest(limit: LimitObligation, use: LimitedUse): string {
  const window = limit.kind === "rate" ? limit.perMs : 0;
  const counted = limit.per.map((scope) => [scope, valueOf(scope, use)]);
  return createHash("sha256")
    .update(JSON.stringify([window, counted]))
    .digest("base64url");
}

/**
 * Never an exposed name: what an item is called differs by server and principal. Nor the principal's key, which names
 * the client too: who registers another client would begin anew. `per: [principal, client]` tells clients apart.
 */
function valueOf(scope: LimitScope, { principal, server, item }: LimitedUse): readonly string[] {
  switch (scope) {
    case "principal":
      return [principal.issuer, principal.kind, principal.subject];
    case "client":
      return [principal.issuer, principal.clientId];
    case "item":
      return [item.upstream, item.kind, item.name];
    case "server":
      return [server];
  }
}

interface Held {
  readonly records: RecordUses;
  readonly tenant: string;
  readonly held: readonly UseLimit["name"][];
  readonly lease: UseLease;
}

/** Keeps a lease until its use is over. What a store does not hear in an outage ends by itself. */
function hold({ records, tenant, held, lease }: Held): () => void {
  const keeping = setInterval(() => {
    records.keepLease(tenant, held, lease).catch(nothing);
  }, lease.lifeMs / 3).unref();
  let ended = false;
  return () => {
    if (ended) return;
    ended = true;
    clearInterval(keeping);
    records.endLease(tenant, held, lease.id).catch(nothing);
  };
}

function nothing(): void {
  // Nothing is held, or the lease runs out.
}
