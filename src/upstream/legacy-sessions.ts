import type { Cancellation } from "../model/cancellation.ts";
import type { JsonObject } from "../model/json.ts";
import type { Limits } from "../model/limits.ts";
import type { LogLevel } from "../model/log-level.ts";
import type { RecordKey } from "../model/records.ts";
import { refuse } from "../model/refusal.ts";
import { ok } from "../model/result.ts";
import type { Result } from "../model/result.ts";
import { canonicalJson } from "../protocol/json/canonical.ts";
import { lasting } from "./account.ts";
import { declares } from "./declared.ts";
import { deleteLegacySession, openLegacySession } from "./legacy-hop.ts";
import type { LegacyGrant, SessionOf } from "./legacy-hop.ts";
import type { Link } from "./link.ts";
import { createToldLevel } from "./log-level.ts";
import type { ToldLevel } from "./log-level.ts";
import { createPatience } from "./patience.ts";
import type { Patience } from "./patience.ts";
import type { OnAccountOf } from "./port.ts";
import { sessionKey } from "./session-record.ts";
import type { SessionStore } from "./session-store.ts";
import { createSingleFlight, waitWithin } from "./single-flight.ts";
import type { SingleFlight } from "./single-flight.ts";

/** A session in use by this process. */
export interface HeldSession {
  readonly grant: LegacyGrant;
  readonly link: Link;
  /** Of whoever acquired it last, as `lasting` leaves it. */
  account: OnAccountOf;
  readonly key: string;
  readonly recordKey: RecordKey;
  lastUsedAt: number;
  /** When the record's life was last extended. */
  touchedAt: number;
  /** Exchanges in progress. */
  active: number;
  /** Shared by all exchanges and streams of the session. */
  readonly patience: Patience;
  /** Which log messages the upstream was told to send. */
  readonly told: ToldLevel;
  /** Aborted, with `lost`, `replaced` or `ended`, when the session is not used any more: streams on it are over. */
  readonly over: AbortController;
}

/** What a caller wants of a session, and how long it waits for one. */
export interface SessionWanted {
  readonly signal: Cancellation;
  readonly ms: number;
  /** The client capabilities that it must have been opened with (see `declaredFor`). Undefined: any will do. */
  readonly declared?: JsonObject | undefined;
}

export interface LegacySessions {
  /**
   * The session of this account at this upstream: the one in use, else the one another replica opened, else a
   * new one; concurrent callers wait for one opening. Whoever acquires it releases it. A session that declared
   * other capabilities than are wanted now, as after a change of policy, is not used again: what an upstream was
   * told when it was opened cannot be taken back. Refuses with CLIENT_GONE, UPSTREAM_TIMED_OUT and whatever
   * opening failed with.
   */
  acquire(link: Link, account: OnAccountOf, wanted: SessionWanted): Promise<Result<HeldSession>>;
  release(session: HeldSession): void;
  /** The upstream no longer knows the session: it is not used again, here or from the store. */
  lose(session: HeldSession): void;
  /** The log level that any replica has told the upstream in this session, as far as the store knows. */
  toldLevel(session: HeldSession): Promise<LogLevel | undefined>;
  noteLevel(session: HeldSession, level: LogLevel): Promise<void>;
  /** Ends every session that was kept for the client session of an account. Never rejects. */
  end(links: readonly Link[], account: OnAccountOf): Promise<void>;
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
  /** Sessions that another has replaced; exchanges of this process or another may still run on them. */
  readonly retired: Set<HeldSession>;
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
  const held: Held = { slots: new Map(), retired: new Set(), openings: createSingleFlight(), store, limits, now };
  return {
    acquire: (link, account, wanted) => acquire(held, link, account, wanted),
    release(session) {
      use(held, session, -1);
    },
    lose(session) {
      if (isCurrent(held, session)) held.slots.set(session.key, { state: "lost", session });
      session.over.abort("lost");
    },
    toldLevel: ({ recordKey, grant }) => store.level(recordKey, grant),
    noteLevel: ({ recordKey, grant }, level) => store.noteLevel(recordKey, grant, level),
    end: (links, account) => end(held, links, account),
    sweep: () => sweep(held),
    clear() {
      held.slots.clear();
      held.retired.clear();
    },
  };
}

async function acquire(
  held: Held,
  link: Link,
  account: OnAccountOf,
  wanted: SessionWanted,
): Promise<Result<HeldSession>> {
  const key = memoryKey(link, account);
  const slot = held.slots.get(key);
  if (slot?.state === "open" && declares(slot.session.grant.declared, wanted.declared)) {
    slot.session.account = lasting(account);
    use(held, slot.session, 1);
    return ok(slot.session);
  }
  const flight = wanted.declared === undefined ? key : `${key} ${canonicalJson(wanted.declared)}`;
  const opening = held.openings.run(flight, () => open(held, link, account, wanted.declared));
  const opened = await waitWithin(opening, wanted);
  if (opened === "aborted") return refuse("CLIENT_GONE");
  if (opened === "timed-out") return refuse("UPSTREAM_TIMED_OUT", { phase: "session", ms: wanted.ms });
  if (opened.ok) use(held, opened.value, 1);
  return opened;
}

/** Two principals never share a session, whatever client session they come with. */
function memoryKey(link: Link, account: OnAccountOf): string {
  const { tenant, principalKey, clientSession } = account;
  return JSON.stringify([
    link.upstream,
    link.credential.generation(account),
    tenant,
    principalKey,
    clientSession ?? null,
  ]);
}

async function open(
  held: Held,
  link: Link,
  account: OnAccountOf,
  declared: JsonObject | undefined,
): Promise<Result<HeldSession>> {
  const key = memoryKey(link, account);
  const recordKey = sessionKey(link, account);
  const given = await adoptOrOpen(held, { link, account, key, recordKey }, declared);
  if (!given.ok) return given;
  const at = held.now();
  const shared = { patience: createPatience(), told: createToldLevel(), over: new AbortController() };
  const uses = { lastUsedAt: at, touchedAt: at, active: 0, ...shared };
  const session: HeldSession = { grant: given.value, link, account: lasting(account), key, recordKey, ...uses };
  const replaced = held.slots.get(key);
  if (replaced?.state === "open") retire(held, replaced.session);
  held.slots.delete(key);
  held.slots.set(key, { state: "open", session });
  evict(held);
  return ok(session);
}

/** The session that the store has for the account if it is one to go on with, else a new one. */
async function adoptOrOpen(
  held: Held,
  { link, account, key, recordKey }: Pick<HeldSession, "link" | "account" | "key" | "recordKey">,
  declared: JsonObject | undefined,
): Promise<Result<LegacyGrant>> {
  const before = held.slots.get(key);
  const stored = await held.store.load(link, recordKey, account.principalKey);
  if (stored !== undefined && declares(stored.declared, declared)) {
    if (before === undefined || stored.id !== before.session.grant.id) return ok(stored);
  }
  const opened = await openLegacySession(link, account, declared ?? {});
  if (opened.ok) await held.store.save(recordKey, opened.value, account.principalKey);
  return opened;
}

/** It ends once nothing has run on it for as long as any session may be idle: other replicas may hold it too. */
function retire(held: Held, session: HeldSession): void {
  session.over.abort("replaced");
  held.retired.add(session);
  const first = held.retired.values().next().value;
  if (held.retired.size <= held.limits.upstreamSessionsMax || first === undefined) return;
  held.retired.delete(first);
  void deleteLegacySession(first.link, first);
}

/** An exchange begins or ends: the session is the one used last, and its record lives on. */
function use(held: Held, session: HeldSession, change: 1 | -1): void {
  session.active += change;
  session.lastUsedAt = held.now();
  if (!isCurrent(held, session)) return;
  held.slots.delete(session.key);
  held.slots.set(session.key, { state: "open", session });
  void keepRecord(held, session);
}

async function keepRecord({ limits, now, store }: Held, session: HeldSession): Promise<void> {
  if (now() - session.touchedAt < limits.upstreamSessionIdleMs / 4) return;
  session.touchedAt = now();
  await store.touch(session.recordKey);
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
    chosen.session.over.abort("ended");
    if (chosen.state === "open") void finish(held, chosen.session.link, chosen.session.recordKey, chosen.session);
  }
}

function leastRecentIdle({ slots }: Held): Slot | undefined {
  for (const slot of slots.values()) if (slot.session.active === 0) return slot;
  return undefined;
}

async function finish(held: Held, link: Link, recordKey: RecordKey, session: SessionOf): Promise<void> {
  await held.store.remove(recordKey);
  await deleteLegacySession(link, session);
}

async function end(held: Held, links: readonly Link[], account: OnAccountOf): Promise<void> {
  const { tenant, clientSession } = account;
  const isOf = ({ account: whose }: HeldSession): boolean =>
    whose.tenant === tenant && whose.clientSession === clientSession;
  const ending = [...held.slots.values()].filter(({ session }) => isOf(session));
  const retired = [...held.retired].filter(isOf);
  for (const { session } of ending) held.slots.delete(session.key);
  for (const session of retired) held.retired.delete(session);
  for (const session of [...ending.map((slot) => slot.session), ...retired]) session.over.abort("ended");
  await Promise.all(
    links.map(async (link) => {
      const recordKey = sessionKey(link, account);
      const open = ending.filter(({ state }) => state === "open").map(({ session }) => session);
      const mine = [...open, ...retired].filter((session) => session.link === link);
      const stored = await held.store.load(link, recordKey);
      const grants = [...mine.map(({ grant }) => grant), ...(stored === undefined ? [] : [stored])];
      const distinct = new Map(grants.map((grant) => [grant.id, grant]));
      await Promise.all([...distinct.values()].map((grant) => finish(held, link, recordKey, { grant, account })));
    }),
  );
}

async function sweep(held: Held): Promise<void> {
  const before = held.now() - held.limits.upstreamSessionIdleMs;
  const isIdle = (session: HeldSession): boolean => session.active === 0 && session.lastUsedAt <= before;
  const idle = [...held.slots.values()].filter(({ session }) => isIdle(session));
  const retired = [...held.retired].filter(isIdle);
  for (const { session } of idle) held.slots.delete(session.key);
  for (const session of retired) held.retired.delete(session);
  // A stream uses its session for longer than a record lives.
  const lasting = [...held.slots.values()].filter(({ state, session }) => state === "open" && session.active > 0);
  const expiring = idle.filter(({ state }) => state === "open").map(({ session }) => expire(held, session));
  await Promise.all(lasting.map(({ session }) => keepRecord(held, session)));
  await Promise.all([...expiring, ...retired.map((session) => deleteLegacySession(session.link, session))]);
}

/** While the record is there, another replica goes on using the session. */
async function expire(held: Held, session: HeldSession): Promise<void> {
  if (await held.store.isGone(session.recordKey)) await deleteLegacySession(session.link, session);
}
