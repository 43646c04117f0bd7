import type { RecordKey, RecordSets, RecordWrites } from "../../model/records.ts";
import type { SessionName } from "./stream-notes.ts";

/** Which legacy upstreams a session has used lately, and so may hear from outside of calls. Rejects with `StoreUnavailable`. */
export interface UsedUpstreams {
  /** Without a wait and a promise: whether `note` has nothing to write. */
  isNoted(session: SessionName, upstream: string): boolean;
  /** True when it wrote: once per session and upstream in half of `sessionIdleMs`, as long as this replica remembers. */
  note(session: SessionName, upstream: string): Promise<boolean>;
  of(session: SessionName): Promise<readonly string[]>;
  forget(session: SessionName): Promise<void>;
}

export interface UsedUpstreamsOptions {
  readonly records: RecordSets & Pick<RecordWrites, "delete">;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly bounds: { readonly sessionIdleMs: number; readonly sessionUsesRememberedMax: number };
}

export function createUsedUpstreams({ records, now, bounds }: UsedUpstreamsOptions): UsedUpstreams {
  /** When each was noted, in that order; the oldest goes when full, and would be written again. */
  const noted = new Map<string, number>();
  const isNoted = (session: SessionName, upstream: string): boolean =>
    now() - (noted.get(nameOf(session, upstream)) ?? -Infinity) < bounds.sessionIdleMs / 2;
  return {
    isNoted,
    note: async (session, upstream) => {
      if (isNoted(session, upstream)) return false;
      const name = nameOf(session, upstream);
      remember(noted, { name, at: now(), namesMax: bounds.sessionUsesRememberedMax });
      try {
        await records.addMember(usedKey(session), upstream, bounds.sessionIdleMs);
      } catch (cause) {
        noted.delete(name);
        throw cause;
      }
      return true;
    },
    of: (session) => records.members(usedKey(session)),
    forget: async (session) => {
      await records.delete(usedKey(session));
    },
  };
}

function remember(noted: Map<string, number>, of: { name: string; at: number; namesMax: number }): void {
  noted.delete(of.name);
  const [oldest] = noted.keys();
  if (noted.size >= of.namesMax && oldest !== undefined) noted.delete(oldest);
  noted.set(of.name, of.at);
}

function usedKey({ tenant, id }: SessionName): RecordKey {
  return ["session-upstreams", tenant, id];
}

function nameOf({ tenant, id }: SessionName, upstream: string): string {
  return `${id} ${upstream} ${tenant}`;
}
