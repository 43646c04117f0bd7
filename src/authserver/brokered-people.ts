import { randomUUID } from "node:crypto";
import { limits, type Limits } from "../model/limits.ts";
import { StoreUnavailable, type RecordKey } from "../model/records.ts";
import { digestOf } from "./digest.ts";
import type { LogEvent } from "./options.ts";
import type { People, Person } from "./people.ts";
import { permittedScopes, type ScopesByGroup } from "./permitted-scopes.ts";
import { personKey } from "./person-key.ts";
import type { GrantRecords, ProviderPerson, ProviderSignIn, Sealer } from "./port.ts";

export interface BrokeredParts {
  readonly provider: Pick<ProviderSignIn, "recheck" | "recheckLockMs">;
  readonly records: GrantRecords;
  readonly sealer: Sealer;
  /** How long a sign-in at the provider, or its last confirmation, vouches for somebody. */
  readonly regrantSeconds: number;
  readonly scopesByGroup: ScopesByGroup | undefined;
  readonly now: () => number;
  readonly log: LogEvent;
}

export interface BrokeredPeople extends People {
  /** Keeps what the provider said at a sign-in; it replaces what it said before. */
  remember(person: ProviderPerson): Promise<void>;
  /** An ID token of somebody that is good for a while yet, asked for anew where needed; undefined where none is to be had. */
  idTokenOf(subject: string): Promise<string | undefined>;
}

interface Kept extends ProviderPerson {
  /** When the provider last vouched for them, in milliseconds since the epoch. */
  readonly provedAt: number;
}

/**
 * People whom the company's provider vouches for. What it said of each rests sealed, its refresh token with it, and
 * holds for `regrantSeconds`; after that nobody gets a token without the provider's word. `findAnew` asks the
 * provider wherever it gave a refresh token: groups are those of now, and somebody who is gone is gone at once. So is
 * somebody of whom it says what does not hold: nobody knows what they may do. A provider that cannot be asked is taken
 * at its last word, for as long as that holds.
 */
export function createBrokeredPeople(parts: BrokeredParts): BrokeredPeople {
  const holds = (kept: Kept | undefined): kept is Kept =>
    kept !== undefined && parts.now() < kept.provedAt + parts.regrantSeconds * 1_000;
  const personOf = (kept: Kept): Person => ({
    subject: kept.subject,
    name: kept.name,
    groups: kept.groups,
    scopes: permittedScopes({ groups: kept.groups, own: undefined }, parts.scopesByGroup),
  });
  const find = async (subject: string): Promise<Person | undefined> => {
    const { kept } = await read(parts, subject);
    return holds(kept) ? personOf(kept) : undefined;
  };
  const idTokenIn = (kept: Kept | undefined): string | undefined =>
    holds(kept) && isGood(kept.idToken, parts.now()) ? kept.idToken : undefined;
  return {
    find,
    findAnew: async (subject) => {
      const { kept } = await read(parts, subject);
      if (kept?.refresh !== undefined) await recheckOnce(parts, subject);
      return find(subject);
    },
    idTokenOf: async (subject) => {
      const { kept } = await read(parts, subject);
      const present = idTokenIn(kept);
      if (present !== undefined || kept?.refresh === undefined) return present;
      await recheckOnce(parts, subject);
      return idTokenIn((await read(parts, subject)).kept);
    },
    remember: (person) => {
      const kept: Kept = { ...person, provedAt: parts.now() };
      return parts.records.set(personKey(person.subject), seal(parts, kept), lifeMs(parts));
    },
  };
}

/** What a recheck asks of the store while it holds its lock, and one to spare. */
const commandsUnderLock = 3;

/** Longer than the work under the lock can take, so that no two replicas use one refresh token at once. */
export function recheckLockMs(
  fetchesMax: number,
  { issuerFetchTimeoutMs, storeCommandTimeoutMs }: Pick<Limits, "issuerFetchTimeoutMs" | "storeCommandTimeoutMs">,
): number {
  return fetchesMax * issuerFetchTimeoutMs + commandsUnderLock * storeCommandTimeoutMs;
}

/**
 * Asks the provider, one replica at a time for each person, since providers rotate refresh tokens and take a
 * second use for a theft. The others wait for its answer, and refuse for the moment when there is none in time.
 */
async function recheckOnce(parts: BrokeredParts, subject: string): Promise<void> {
  const lock: RecordKey = ["oauthRechecks", "default", digestOf(subject)];
  const mine = randomUUID();
  if (!(await parts.records.setIfAbsent(lock, mine, parts.provider.recheckLockMs))) {
    await othersAnswer(parts, lock);
    return;
  }
  try {
    await recheck(parts, subject);
  } finally {
    // Only one's own lock: a check that took too long must not end that of the next.
    if ((await parts.records.get(lock)) === mine) await parts.records.delete(lock);
  }
}

async function othersAnswer({ records }: BrokeredParts, lock: RecordKey): Promise<void> {
  for (let waitedMs = 0; waitedMs < limits.oauthRecheckWaitMs; waitedMs += limits.oauthRecheckPollMs) {
    if ((await records.get(lock)) === undefined) return;
    await new Promise((resolve) => setTimeout(resolve, limits.oauthRecheckPollMs));
  }
  throw new StoreUnavailable("another replica is asking the provider about this person");
}

/** What is written replaces what was read and nothing newer: a sign-in meanwhile knows better. */
async function recheck(parts: BrokeredParts, subject: string): Promise<void> {
  const { kept, sealed } = await read(parts, subject);
  if (kept?.refresh === undefined || sealed === undefined) return;
  const answer = await parts.provider.recheck(kept.refresh);
  if (answer.kind === "unavailable") {
    parts.log("authserver.provider-unavailable", { subject });
    if (answer.refresh === undefined) return;
    // It rotated the token and then could not say more: the old one would be taken for a theft. Nothing was proved.
    const next = seal(parts, { ...kept, refresh: answer.refresh });
    await parts.records.replace(personKey(subject), sealed, next, lifeMs(parts));
  } else if (answer.kind !== "there" || answer.person.subject !== subject) {
    const reason = answer.kind === "there" ? "another-person" : answer.kind;
    parts.log("authserver.person-gone", { subject, reason });
    await parts.records.replace(personKey(subject), sealed, gone, goneMs);
  } else {
    const before = defined({ ...answer.person, refresh: kept.refresh, idToken: kept.idToken });
    const next: Kept = { ...before, ...defined(answer.person), provedAt: parts.now() };
    await parts.records.replace(personKey(subject), sealed, seal(parts, next), lifeMs(parts));
  }
}

/** What stands in the place of somebody who is gone, for a moment: it opens under no key. */
const gone = "gone";
const goneMs = 1_000;

/** A provider that does not rotate says nothing of the refresh token, which then is the one there was; so with the ID token. */
function defined({ refresh, idToken, ...person }: ProviderPerson): ProviderPerson {
  return {
    ...person,
    ...(refresh === undefined ? {} : { refresh }),
    ...(idToken === undefined ? {} : { idToken }),
  };
}

/** By its own `exp`: it was verified when it came, and is verified again by whoever it is shown to. */
function isGood(idToken: string | undefined, now: number): boolean {
  const payload = Buffer.from(idToken?.split(".")[1] ?? "", "base64url").toString("utf8");
  const claims: unknown = payload.startsWith("{") ? JSON.parse(payload) : undefined;
  if (typeof claims !== "object" || claims === null || !("exp" in claims)) return false;
  return typeof claims.exp === "number" && claims.exp * 1_000 - limits.upstreamTokenLeewayMs > now;
}

async function read(
  { records, sealer }: BrokeredParts,
  subject: string,
): Promise<{ readonly kept: Kept | undefined; readonly sealed: string | undefined }> {
  const sealed = await records.get(personKey(subject));
  const text = sealed === undefined ? undefined : sealer.open(associatedOf(subject), sealed);
  const value: unknown = text === undefined ? undefined : JSON.parse(text);
  return { kept: isKept(value) ? value : undefined, sealed };
}

/** What was sealed here; that it opened says that nobody else wrote it. */
function isKept(value: unknown): value is Kept {
  return typeof value === "object" && value !== null && "subject" in value && "provedAt" in value;
}

function seal({ sealer }: BrokeredParts, kept: Kept): string {
  return sealer.seal(associatedOf(kept.subject), JSON.stringify(kept));
}

/** The record outlives its proof: its refresh token still leads to a new one, for as long as sign-ins last. */
function lifeMs({ regrantSeconds }: BrokeredParts): number {
  return Math.max(regrantSeconds * 1_000, limits.oauthPersonIdleMs);
}

function associatedOf(subject: string): string {
  return JSON.stringify(["person", subject]);
}
