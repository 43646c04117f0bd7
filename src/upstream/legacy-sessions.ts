import type { Cancellation } from "../model/cancellation.ts";
import type { Limits } from "../model/limits.ts";
import type { RecordKey } from "../model/records.ts";
import { refuse } from "../model/refusal.ts";
import { ok } from "../model/result.ts";
import type { Result } from "../model/result.ts";
import { deleteLegacySession, openLegacySession } from "./legacy-hop.ts";
import type { LegacyGrant } from "./legacy-hop.ts";
import type { Link } from "./link.ts";
import type { OnAccountOf } from "./port.ts";
import { sessionKey } from "./session-record.ts";
import type { SessionStore } from "./session-store.ts";
import { createSingleFlight, waitWithin } from "./single-flight.ts";
import type { SingleFlight } from "./single-flight.ts";

/** A session in use by this process. */
export interface HeldSession {
  readonly grant: LegacyGrant;
  readonly link: Link;
  readonly account: OnAccountOf;
  readonly key: string;
  readonly recordKey: RecordKey;
  lastUsedAt: number;
  /** When the record's life was last extended. */
  touchedAt: number;
  /** Exchanges in progress. */
  active: number;
}

export interface LegacySessions {
  /**
   * The session of this account at this upstream: the one in use, else the one another replica opened, else a
   * new one; concurrent callers wait for one opening. Whoever acquires it releases it. Refuses with
   * CLIENT_GONE, UPSTREAM_TIMED_OUT and whatever opening failed with.
   */
  acquire(
    link: Link,
    account: OnAccountOf,
    wait: { readonly signal: Cancellation; readonly ms: number },
  ): Promise<Result<HeldSession>>;
  release(session: HeldSession): void;
  /** The upstream no longer knows the session: it is not used again, here or from the store. */
  lose(session: HeldSession): void;
  /** Ends every session that was kept for a client session. Never rejects. */
  end(links: readonly Link[], tenant: string, clientSession: string): Promise<void>;
  /** Lets go of sessions that have been idle for `upstreamSessionIdleMs`. Never rejects. */
  sweep(): Promise<void>;
  /** Forgets everything without telling upstreams: another replica, or this one restarted, goes on with the records. */
  clear(): void;
}

/** `lost` keeps a session that the upstream forgot from coming back out of the store. */
interface Slot {
  readonly state: "open" | "lost";
  readonly session: HeldSession;
}

interface Held {
  /** Least recently used first. */
  readonly slots: Map<string, Slot>;
  readonly openings: SingleFlight<Result<HeldSession>>;
  readonly store: SessionStore;
  readonly limits: Pick<Limits, "upstreamSessionsMax" | "upstreamSessionIdleMs">;
  readonly now: () => number;
}

export function createLegacySessions(
  store: SessionStore,
  limits: Pick<Limits, "upstreamSessionsMax" | "upstreamSessionIdleMs">,
  now: () => number,
): LegacySessions {
  const held: Held = { slots: new Map(), openings: createSingleFlight(), store, limits, now };
  return {
    acquire: (link, account, wait) => acquire(held, link, account, wait),
    release(session) {
      use(held, session, -1);
    },
    lose(session) {
      if (isCurrent(held, session)) held.slots.set(session.key, { state: "lost", session });
    },
    end: (links, tenant, clientSession) => end(held, links, tenant, clientSession),
    sweep: () => sweep(held),
    clear() {
      held.slots.clear();
    },
  };
}

async function acquire(
  held: Held,
  link: Link,
  account: OnAccountOf,
  wait: { readonly signal: Cancellation; readonly ms: number },
): Promise<Result<HeldSession>> {
  const key = memoryKey(link, account);
  const slot = held.slots.get(key);
  if (slot?.state === "open") {
    use(held, slot.session, 1);
    return ok(slot.session);
  }
  const opening = held.openings.run(key, () => open(held, link, account, key));
  const opened = await waitWithin(opening, wait);
  if (opened === "aborted") return refuse("CLIENT_GONE");
  if (opened === "timed-out") return refuse("UPSTREAM_TIMED_OUT", { phase: "session", ms: wait.ms });
  if (opened.ok) use(held, opened.value, 1);
  return opened;
}

/** Two principals never share a session, whatever client session they come with. */
function memoryKey(link: Link, { tenant, principalKey, clientSession }: OnAccountOf): string {
  return JSON.stringify([link.upstream, link.credential.generation, tenant, principalKey, clientSession ?? null]);
}

async function open(held: Held, link: Link, account: OnAccountOf, key: string): Promise<Result<HeldSession>> {
  const recordKey = sessionKey(link, account);
  const lost = held.slots.get(key)?.session.grant;
  const stored = await held.store.load(link, recordKey, account.principalKey);
  const adoptable = stored !== undefined && (lost === undefined || stored.id !== lost.id);
  const opened = adoptable ? ok(stored) : await openLegacySession(link);
  if (!opened.ok) return opened;
  if (!adoptable) await held.store.save(recordKey, opened.value, account.principalKey);
  const at = held.now();
  const session = { grant: opened.value, link, account, key, recordKey, lastUsedAt: at, touchedAt: at, active: 0 };
  held.slots.delete(key);
  held.slots.set(key, { state: "open", session });
  evict(held);
  return ok(session);
}

/** An exchange begins or ends: the session is the one used last, and its record lives on. */
function use(held: Held, session: HeldSession, change: 1 | -1): void {
  session.active += change;
  session.lastUsedAt = held.now();
  if (!isCurrent(held, session)) return;
  held.slots.delete(session.key);
  held.slots.set(session.key, { state: "open", session });
  if (session.lastUsedAt - session.touchedAt < held.limits.upstreamSessionIdleMs / 4) return;
  session.touchedAt = session.lastUsedAt;
  void held.store.touch(session.recordKey);
}

function isCurrent(held: Held, { key, grant }: HeldSession): boolean {
  const slot = held.slots.get(key);
  return slot?.state === "open" && slot.session.grant === grant;
}

/** Whoever was longest unused goes; one that is in use goes only when all are. */
function evict(held: Held): void {
  while (held.slots.size > held.limits.upstreamSessionsMax) {
    const chosen = leastRecentIdle(held) ?? held.slots.values().next().value;
    if (chosen === undefined) return;
    held.slots.delete(chosen.session.key);
    if (chosen.state === "open") void finish(held, chosen.session.link, chosen.session.recordKey, chosen.session.grant);
  }
}

function leastRecentIdle({ slots }: Held): Slot | undefined {
  for (const slot of slots.values()) if (slot.session.active === 0) return slot;
  return undefined;
}

async function finish(held: Held, link: Link, recordKey: RecordKey, grant: LegacyGrant): Promise<void> {
  await held.store.remove(recordKey);
  await deleteLegacySession(link, grant);
}

async function end(held: Held, links: readonly Link[], tenant: string, clientSession: string): Promise<void> {
  const ending = [...held.slots.values()].filter(({ session: { account } }) => {
    return account.tenant === tenant && account.clientSession === clientSession;
  });
  for (const { session } of ending) held.slots.delete(session.key);
  await Promise.all(
    links.map(async (link) => {
      const recordKey = sessionKey(link, { tenant, principalKey: "", clientSession });
      const mine = ending.filter(({ state, session }) => state === "open" && session.link === link);
      const stored = await held.store.load(link, recordKey);
      const grants = [...mine.map(({ session }) => session.grant), ...(stored === undefined ? [] : [stored])];
      const distinct = new Map(grants.map((grant) => [grant.id, grant]));
      await Promise.all([...distinct.values()].map((grant) => finish(held, link, recordKey, grant)));
    }),
  );
}

async function sweep(held: Held): Promise<void> {
  const before = held.now() - held.limits.upstreamSessionIdleMs;
  const idle = [...held.slots.values()].filter(({ session }) => session.active === 0 && session.lastUsedAt <= before);
  for (const { session } of idle) held.slots.delete(session.key);
  await Promise.all(idle.filter(({ state }) => state === "open").map(({ session }) => expire(held, session)));
}

/** While the record is there, another replica goes on using the session. */
async function expire(held: Held, { link, recordKey, grant }: HeldSession): Promise<void> {
  if (await held.store.isGone(recordKey)) await deleteLegacySession(link, grant);
}
