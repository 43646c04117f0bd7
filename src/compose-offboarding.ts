import { randomBytes } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { deniedSubjectKey } from "./auth/deny-list.ts";
import { createHeadlessTokens } from "./auth/headless-tokens.ts";
import { headlessIssuer } from "./auth/verify-headless.ts";
import { endSignIns } from "./authserver/ended-sign-ins.ts";
import { personKey } from "./authserver/person-key.ts";
import type { Offboarding } from "./cli/offboard.ts";
import { openCommandStore, silent } from "./compose-command-store.ts";
import { noWitness } from "./compose-grant-evidence.ts";
import { grantsOptions, openGrants } from "./compose-grants.ts";
import { openSessions } from "./compose-keeping.ts";
import type { Config } from "./config/types.ts";
import { writeGrantChange } from "./gateway/crossing-grant.ts";
import { writeAccessChange } from "./gateway/crossing-subject.ts";
import type { Courier } from "./model/courier.ts";
import type { Subject } from "./model/principal.ts";
import { StoreUnavailable } from "./model/records.ts";
import type { Result } from "./model/result.ts";
import type { Sessions } from "./session/sessions.ts";
import type { Store } from "./store/store.ts";
import { createGrantBook } from "./upstream/grants/grant-book.ts";
import type { GrantWitness } from "./upstream/grants/port.ts";

/** What the commands that end and restore somebody's access work with. The store is shared; a rule of theirs holds that. */
export async function openOffboarding(config: Config): Promise<Offboarding> {
  const { limits } = config;
  const { store, courier, close } = await openCommandStore(config);
  const sessions = openSessions(config, store);
  return {
    deny: (who, forMs) => store.set(deniedSubjectKey(who), "1", forMs),
    admit: (who) => store.delete(deniedSubjectKey(who)),
    tell: (change) => courier.broadcast("offboarding", writeAccessChange(change)),
    endSessions: (who) => endSessions(sessions, who, limits.offboardingWaitMs),
    endGrants: (who, ref) => endGrants({ config, store, courier }, who, ref),
    revokeTokens: (who) => revokeTokens(config, store, who),
    forgetSignIn: (who) => forgetSignIn(config, store, who),
    traceOf: (who) => traceOf({ config, store, sessions }, who),
    close,
  };
}

const pollMs = 50;

/**
 * Replicas end what they hold: streams, the sessions behind them, and those sessions' sessions at upstreams. What is
 * left, as no replica runs or none has heard, is ended here.
 */
async function endSessions(sessions: Sessions, who: Subject, waitMs: number): Promise<void> {
  let left = given(await sessions.principalsOf(who));
  for (let waitedMs = 0; left.length > 0 && waitedMs < waitMs; waitedMs += pollMs) {
    await wait(pollMs);
    left = given(await sessions.principalsOf(who));
  }
  for (const key of left) given(await sessions.endAll({ tenant: who.tenant, key }));
}

/** Every replica is told of each, and leaves an event of it. */
async function endGrants(
  { config, store, courier }: { readonly config: Config; readonly store: Store; readonly courier: Courier },
  who: Subject,
  ref: string,
): Promise<{ readonly ended: number; readonly revokedAtProvider: number }> {
  const telling: Promise<void>[] = [];
  const witness: GrantWitness = {
    ...noWitness,
    changed: (change) => {
      telling.push(courier.broadcast("grant", writeGrantChange({ change, ref })));
    },
  };
  const grants = openGrants({ config, store, log: silent, witness });
  const ended = (await grants?.pages.revokeAll(who)) ?? { ended: 0, revokedAtProvider: 0 };
  await Promise.all(telling);
  return ended;
}

/** On the connect pages and at the built-in authorization server, where sign-ins would come back with their person. */
async function forgetSignIn({ auth, publicUrl }: Config, store: Store, who: Subject): Promise<void> {
  const builtIn = auth.kind === "none" || who.issuer !== publicUrl ? undefined : auth.builtIn;
  await endSignIns(store, who, { now: Date.now(), refreshTokenSeconds: builtIn?.refreshTokenSeconds ?? 0 });
  if (builtIn !== undefined) await store.delete(personKey(who.subject));
}

async function traceOf(
  { config, store, sessions }: { readonly config: Config; readonly store: Store; readonly sessions: Sessions },
  who: Subject,
): Promise<"denied" | "present" | "none"> {
  if ((await store.get(deniedSubjectKey(who))) !== undefined) return "denied";
  if (given(await sessions.principalsOf(who)).length > 0) return "present";
  if (who.issuer === config.publicUrl && (await isPersonHere(config, store, who.subject))) return "present";
  const book = createGrantBook(grantsOptions({ config, store, log: silent, witness: noWitness }));
  return (await book.namesOf(who)).length > 0 ? "present" : "none";
}

/** At the built-in authorization server: by configuration, or as the company's provider vouched for them. */
async function isPersonHere({ auth }: Config, store: Store, subject: string): Promise<boolean> {
  const users = auth.kind === "none" ? [] : (auth.builtIn?.users ?? []);
  return users.some((user) => user.subject === subject) || (await store.get(personKey(subject))) !== undefined;
}

/** Headless tokens of one service, whose name is their subject. */
async function revokeTokens({ auth, limits }: Config, records: Store, who: Subject): Promise<number> {
  if (auth.kind === "none" || auth.headless === undefined || who.issuer !== headlessIssuer) return 0;
  const { tenant } = auth.headless;
  const tokens = createHeadlessTokens({ records, tenant, now: Date.now, randomBytes, limits });
  let revoked = 0;
  for (const { id, subject } of await tokens.list())
    if (subject === who.subject && (await tokens.revoke(id))) revoked += 1;
  return revoked;
}

function given<T>(result: Result<T>): T {
  if (result.ok) return result.value;
  throw new StoreUnavailable(result.refusal.code);
}
