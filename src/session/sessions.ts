import type { JsonObject } from "../model/json.ts";
import type { Limits } from "../model/limits.ts";
import type { LogLevel } from "../model/log-level.ts";
import { readPrincipalKey, type Principal, type Subject } from "../model/principal.ts";
import { StoreUnavailable } from "../model/records.ts";
import type { RecordKey } from "../model/records.ts";
import { refuse } from "../model/refusal.ts";
import { ok } from "../model/result.ts";
import type { Result } from "../model/result.ts";
import type { LegacyRevision } from "../model/revision.ts";
import type { SessionRecords } from "./port.ts";
import { lifeLeft, touchPauseMs } from "./session-life.ts";
import { readSession, sessionKey, writeSession } from "./session-record.ts";
import type { MacKey, MacKeys, Session } from "./session-record.ts";
import { createSubscriptions, subscriptionsKey, type Subscriptions } from "./subscriptions.ts";

export type SessionLimits = Pick<
  Limits,
  | "sessionIdleMs"
  | "sessionAgeMsMax"
  | "sessionTouchMsMin"
  | "sessionsPerPrincipalMax"
  | "sessionRecordBytesMax"
  | "sessionSubscriptionsMax"
  | "sessionSubscriptionCharsMax"
  | "sessionWriteAttemptsMax"
>;

export interface SessionsOptions {
  readonly records: SessionRecords;
  readonly macKeys: { readonly current: MacKey; readonly previous: readonly MacKey[] };
  /** Cryptographically random bytes. */
  readonly random: (bytes: number) => Uint8Array;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly limits: SessionLimits;
}

export interface NewSession {
  readonly principal: Principal;
  readonly server: string;
  readonly revision: LegacyRevision;
  readonly clientInfo: JsonObject;
  readonly clientCapabilities: JsonObject;
}

export interface PresentedSession {
  /** As `Mcp-Session-Id` says it. */
  readonly id: string;
  readonly principal: Principal;
  readonly server: string;
}

/** Legacy sessions. Every operation refuses STORE_UNAVAILABLE when the store does not answer. */
export interface Sessions {
  /**
   * Opens a session. Refuses SESSION_LIMIT_REACHED, and RPC_PARAMS_INVALID when what the client says of
   * itself makes a record of more than `sessionRecordBytesMax`.
   */
  open(session: NewSession): Promise<Result<Session>>;
  /**
   * The session this principal opened at this server: one read, and a write when its last use was noted
   * more than `sessionTouchMsMin` ago. Refuses SESSION_UNKNOWN and SESSION_NOT_YOURS.
   */
  find(presented: PresentedSession): Promise<Result<Session>>;
  /** Ends a session and returns it, once: a second caller is refused as by `find`. */
  end(presented: PresentedSession): Promise<Result<Session>>;
  /** Ends every session of a principal, and returns their ids. */
  endAll(principal: Pick<Principal, "tenant" | "key">): Promise<Result<readonly string[]>>;
  /** Keys of the principals as which somebody has sessions, one for each client, and some as which they had. */
  principalsOf(who: Subject): Promise<Result<readonly string[]>>;
  /**
   * Notes that a session is in use although no request comes: a call of it runs. One that is over stays over.
   * Never refuses: where the store does not answer, the session ages.
   */
  stay(session: Pick<Session, "tenant" | "id">): Promise<void>;
  /** Keeps the level that the client asked for, for every replica. Refuses SESSION_UNKNOWN. */
  setLogLevel(session: Session, level: LogLevel): Promise<Result<Session>>;
  readonly subscriptions: Subscriptions;
}

/** 128 bits as base64url. */
const sessionId = /^[A-Za-z0-9_-]{22}$/;

/**
 * Keeps legacy sessions where every replica finds them; nothing is kept here. A session belongs to the
 * principal's key, so it survives a new token, and holds no permission: those come from each request's own
 * token. Knowing an id is worth nothing to another principal. In another tenant or at another server it
 * is unknown; for another principal of the tenant it is SESSION_NOT_YOURS, which callers must not be able
 * to tell from SESSION_UNKNOWN.
 *
 * A session is over `sessionIdleMs` after its last noted use and `sessionAgeMsMax` after its opening, by
 * this clock as well as by the store's, but a call that runs is answered whatever becomes of its session. A
 * principal at `sessionsPerPrincipalMax` is refused another one
 * rather than robbed of the oldest, which may be at work.
 *
 * Throws when a MAC key is too short or its name would blur a record.
 */
export function createSessions(options: SessionsOptions): Sessions {
  const keys: MacKeys = [options.macKeys.current, ...options.macKeys.previous];
  checkKeys(keys);
  const book: Book = { ...options, keys };
  return {
    open: (asked) => guarded(() => openSession(book, asked)),
    find: (presented) => guarded(() => useSession(book, presented)),
    end: (presented) => guarded(() => endSession(book, presented)),
    endAll: (principal) => guarded(() => endAllOf(book, principal)),
    principalsOf: (who) => guarded(async () => ok(await book.records.members(principalSetKey(who)))),
    stay: (session) => ignoringOutage(() => stay(book, session)),
    setLogLevel: (session, level) => guarded(() => setLogLevel(book, session, level)),
    subscriptions: createSubscriptions(options),
  };
}

type Book = Pick<SessionsOptions, "records" | "random" | "now" | "limits"> & { readonly keys: MacKeys };

async function openSession(book: Book, asked: NewSession): Promise<Result<Session>> {
  const { records, limits } = book;
  const now = book.now();
  const session = sessionFrom(asked, Buffer.from(book.random(16)).toString("base64url"), now);
  const record = writeSession(session, book.keys);
  const bytes = Buffer.byteLength(record);
  const bytesMax = limits.sessionRecordBytesMax;
  if (bytes > bytesMax) return refuse("RPC_PARAMS_INVALID", { reason: "clientInfo or capabilities", bytes, bytesMax });
  const ttlMs = lifeLeft(session, limits, now);
  // Counted before it is written: of several that open at once, none gets past the limit.
  const live = await records.addMember(sessionSetKey(session), session.id, ttlMs);
  if (live > limits.sessionsPerPrincipalMax) {
    await forgetMember(book, session);
    return refuse("SESSION_LIMIT_REACHED", { sessionsMax: limits.sessionsPerPrincipalMax });
  }
  try {
    await notePrincipal(book, session);
    const written = await records.setIfAbsent(sessionKey(session.tenant, session.id), record, ttlMs);
    if (!written) throw new Error("a random session id occurred twice");
  } catch (cause) {
    await forgetMember(book, session);
    throw cause;
  }
  return ok(session);
}

async function useSession(book: Book, presented: PresentedSession): Promise<Result<Session>> {
  const now = book.now();
  const found = await look(book, presented, now);
  if (!found.ok) return found;
  const { session, record } = found.value;
  const rested = now - session.seenAt >= touchPauseMs(book.limits);
  return ok(rested ? await noteUse(book, { session, record }, now) : session);
}

async function endSession(book: Book, presented: PresentedSession): Promise<Result<Session>> {
  const found = await look(book, presented, book.now());
  if (!found.ok) return found;
  const { session } = found.value;
  const ended = await book.records.delete(sessionKey(session.tenant, session.id));
  if (!ended) return refuse("SESSION_UNKNOWN", { because: "ended" });
  await forgetMember(book, session);
  await ignoringOutage(async () => {
    await book.records.delete(subscriptionsKey(session));
  });
  return ok(session);
}

/** At most `sessionsPerPrincipalMax`. One that is opened meanwhile may stay: whoever must not have it is not let in. */
async function endAllOf(
  book: Book,
  { tenant, key }: Pick<Principal, "tenant" | "key">,
): Promise<Result<readonly string[]>> {
  const ids = await book.records.members(["session-set", tenant, key]);
  for (const id of ids) {
    const session = { tenant, id, principalKey: key };
    await book.records.delete(sessionKey(tenant, id));
    await book.records.delete(subscriptionsKey(session));
    await forgetMember(book, session);
  }
  return ok(ids);
}

async function stay(book: Book, session: Pick<Session, "tenant" | "id">): Promise<void> {
  const now = book.now();
  const found = await read(book, session, now);
  if (found.ok && now - found.value.session.seenAt >= touchPauseMs(book.limits)) await noteUse(book, found.value, now);
}

async function setLogLevel(book: Book, session: Session, logLevel: LogLevel): Promise<Result<Session>> {
  for (let attempt = 0; attempt < book.limits.sessionWriteAttemptsMax; attempt += 1) {
    const now = book.now();
    const found = await read(book, session, now);
    if (!found.ok) return found;
    const changed = { ...found.value.session, logLevel, seenAt: now };
    if (await write(book, found.value, changed)) return ok(changed);
  }
  throw new StoreUnavailable("the session changes too often");
}

async function look(book: Book, { id, principal, server }: PresentedSession, now: number): Promise<Result<Found>> {
  // What no session of ours is called never reaches the store.
  if (!sessionId.test(id)) return refuse("SESSION_UNKNOWN", { because: "malformed" });
  const found = await read(book, { tenant: principal.tenant, id }, now);
  if (!found.ok) return found;
  const { session } = found.value;
  if (session.server !== server) return refuse("SESSION_UNKNOWN", { because: "another server" });
  if (session.principalKey !== principal.key) return refuse("SESSION_NOT_YOURS");
  return found;
}

async function read(book: Book, which: Pick<Session, "tenant" | "id">, now: number): Promise<Result<Found>> {
  const record = await book.records.get(sessionKey(which.tenant, which.id));
  if (record === undefined) return refuse("SESSION_UNKNOWN", { because: "absent" });
  const session = readSession(record, which, book.keys);
  if (session === undefined) return refuse("SESSION_UNKNOWN", { because: "record not authentic" });
  if (lifeLeft(session, book.limits, now) <= 0) return refuse("SESSION_UNKNOWN", { because: "expired" });
  return ok({ session, record });
}

/**
 * Writes `seenAt` only over the record that was read, so that a session which ended meanwhile stays
 * ended. When the store reads but does not write, the request goes on and the session ages.
 */
async function noteUse(book: Book, found: Found, now: number): Promise<Session> {
  const seen = { ...found.session, seenAt: now };
  await ignoringOutage(async () => {
    await write(book, found, seen);
  });
  return seen;
}

/** Writes a session over the record that was read, and lets what belongs to it live as long. */
async function write(book: Book, { record }: Found, session: Session): Promise<boolean> {
  const ttlMs = lifeLeft(session, book.limits, session.seenAt);
  const key = sessionKey(session.tenant, session.id);
  const replaced = await book.records.replace(key, record, writeSession(session, book.keys), ttlMs);
  if (!replaced) return false;
  await book.records.addMember(sessionSetKey(session), session.id, ttlMs);
  await notePrincipal(book, session);
  await book.records.touch(subscriptionsKey(session), ttlMs);
  return true;
}

/** A member that stays behind in an outage goes at its own expiry. */
function forgetMember(book: Book, session: Pick<Session, "tenant" | "principalKey" | "id">): Promise<void> {
  return ignoringOutage(async () => {
    await book.records.removeMember(sessionSetKey(session), session.id);
    const who = readPrincipalKey(session.principalKey);
    const left = await book.records.members(sessionSetKey(session));
    if (who !== undefined && left.length === 0)
      await book.records.removeMember(principalSetKey(who), session.principalKey);
  });
}

/**
 * For as long as a session can live from its use now. One that opens while the principal's last one ends may go
 * unnoted: this is for ending what somebody has who is denied, and refused anyway.
 */
async function notePrincipal({ records, limits }: Book, { principalKey }: Session): Promise<void> {
  const who = readPrincipalKey(principalKey);
  if (who !== undefined) await records.addMember(principalSetKey(who), principalKey, limits.sessionIdleMs);
}

interface Found {
  readonly session: Session;
  /** As the store has it. */
  readonly record: string;
}

function sessionFrom({ principal, ...asked }: NewSession, id: string, now: number): Session {
  const { server, revision, clientInfo, clientCapabilities } = asked;
  const whose = { tenant: principal.tenant, principalKey: principal.key };
  const said = { server, revision, clientInfo, clientCapabilities, logLevel: undefined };
  return { id, ...whose, ...said, openedAt: now, seenAt: now };
}

/** The live sessions of one principal, counted. */
function sessionSetKey({ tenant, principalKey }: Pick<Session, "tenant" | "principalKey">): RecordKey {
  return ["session-set", tenant, principalKey];
}

/** The principals of one person or service that have sessions. */
function principalSetKey({ tenant, issuer, subject }: Subject): RecordKey {
  return ["session-principals", tenant, issuer, subject];
}

async function guarded<T>(work: () => Promise<Result<T>>): Promise<Result<T>> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof StoreUnavailable) return refuse("STORE_UNAVAILABLE", { needed: "sessions" }, { cause });
    throw cause;
  }
}

async function ignoringOutage(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (cause) {
    if (!(cause instanceof StoreUnavailable)) throw cause;
  }
}

function checkKeys(keys: MacKeys): void {
  for (const { kid, key } of keys) {
    if (!/^[A-Za-z0-9_-]+$/.test(kid)) throw new Error("a session key's name has other characters than A-Za-z0-9_-");
    if (key.byteLength < 32) throw new Error(`session key ${kid} is shorter than 32 bytes`);
  }
  if (new Set(keys.map(({ kid }) => kid)).size < keys.length) throw new Error("two session keys share a name");
}
