import { createHash } from "node:crypto";
import type { Limits } from "../model/limits.ts";
import type { RecordKey, RecordReads, RecordWrites } from "../model/records.ts";
import type { Bound, Sealing } from "./sealing.ts";

/** Whom results named resources to: every record is bound to all three. */
export interface LinkOwner {
  readonly tenant: string;
  readonly server: string;
  readonly principalKey: string;
}

/**
 * Which upstream named which resource to whom, so that what no list has can be read: for `linkProvenanceMs` after a
 * result named it, through any replica. It says where a URI leads and permits nothing. Both reject with
 * `StoreUnavailable`.
 */
export interface LinkBook {
  /** Keeps that results of `upstream` named these. Returns how many were left out, as the owner has too many already. */
  note(owner: LinkOwner, upstream: string, uris: readonly string[]): Promise<number>;
  /** Those of the upstreams that named `uri` to the owner. */
  namedBy(owner: LinkOwner, uri: string, upstreams: readonly string[]): Promise<readonly string[]>;
}

export interface LinkBookOptions {
  readonly records: RecordReads & Pick<RecordWrites, "set">;
  readonly sealing: Sealing;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly limits: Pick<Limits, "linkProvenanceMs" | "linksNotedPerPrincipalMax" | "linkOwnersRememberedMax">;
}

/**
 * A record per upstream, and none that two would have to share: nothing is read before it is written, so two replicas
 * cannot lose each other's, and who names the resource of another takes nothing away. Records are sealed: whoever
 * writes to the store makes none.
 */
export function createLinkBook({ records, sealing, now, limits }: LinkBookOptions): LinkBook {
  const { linkProvenanceMs } = limits;
  const budget = createBudget(now, limits);
  return {
    note: async (owner, upstream, uris) => {
      const kept = uris.slice(0, budget.take(owner, uris.length));
      await Promise.all(
        kept.map((uri) => {
          const sealed = sealing.seal(boundTo(owner, upstream, uri), "", linkProvenanceMs);
          return records.set(keyOf(owner, upstream, uri), sealed, linkProvenanceMs);
        }),
      );
      return uris.length - kept.length;
    },
    namedBy: async (owner, uri, upstreams) => {
      const sealed = await Promise.all(upstreams.map((upstream) => records.get(keyOf(owner, upstream, uri))));
      return upstreams.filter((upstream, at) => {
        const record = sealed[at];
        return record !== undefined && sealing.open(boundTo(owner, upstream, uri), record).ok;
      });
    },
  };
}

function keyOf({ tenant, server, principalKey }: LinkOwner, upstream: string, uri: string): RecordKey {
  return ["provenance", tenant, server, digest(principalKey), digest(uri), upstream];
}

function boundTo({ tenant, server, principalKey }: LinkOwner, upstream: string, uri: string): Bound {
  return { purpose: "link", tenant, server, principalKey, upstream, item: uri, args: "" };
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}

interface Budget {
  /** How many of `count` the owner may still have in this window. */
  take(owner: LinkOwner, count: number): number;
}

/** Results are the upstream's to fill and calls the client's to repeat: without a bound, one pair fills the store of all. */
function createBudget(now: () => number, limits: LinkBookOptions["limits"]): Budget {
  const windows = new Map<string, { readonly endsAt: number; taken: number }>();
  const windowOf = (key: string): { readonly endsAt: number; taken: number } => {
    const known = windows.get(key);
    if (known !== undefined && known.endsAt > now()) return known;
    const begun = { endsAt: now() + limits.linkProvenanceMs, taken: 0 };
    windows.delete(key);
    windows.set(key, begun);
    for (const oldest of windows.keys()) {
      if (windows.size <= limits.linkOwnersRememberedMax) break;
      windows.delete(oldest);
    }
    return begun;
  };
  return {
    take: ({ tenant, server, principalKey }, count) => {
      const window = windowOf(JSON.stringify([tenant, server, principalKey]));
      const granted = Math.min(count, limits.linksNotedPerPrincipalMax - window.taken);
      window.taken += granted;
      return granted;
    },
  };
}
