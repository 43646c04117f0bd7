import { randomBytes } from "node:crypto";
import { createRef } from "../audit/ref.ts";
import type { Config } from "../config/types.ts";
import type { AccessChange } from "../gateway/crossing-subject.ts";
import type { Subject } from "../model/principal.ts";
import type { Environment } from "./load-file.ts";
import { otherIdentities, type OtherIdentity } from "./other-identities.ts";
import { shown, type ExitCode, type Output } from "./output.ts";
import { subjectAt } from "./subject-at.ts";
import { counted, no, withStore } from "./with-store.ts";

/** Who is to go, or to come back. */
export interface OffboardOrder {
  readonly config: string;
  readonly subject: string;
  /** An alias of the configuration, or the issuer's identifier. */
  readonly issuer: string;
  /** Needed where the issuer's tokens name the tenant. */
  readonly tenant: string | undefined;
  /** How long nobody of this name is let in; NaN for what is no number. */
  readonly days: number;
}

/** What the shared store, the replicas and the authorization servers of upstreams are told. */
export interface Offboarding {
  deny(who: Subject, forMs: number): Promise<void>;
  /** False when they were not denied. */
  admit(who: Subject): Promise<boolean>;
  /** Tells every replica, which ends the streams and sessions that it holds. */
  tell(change: AccessChange): Promise<void>;
  /** Waits until the replicas have ended all sessions, and ends what is left after a moment. */
  endSessions(who: Subject): Promise<void>;
  /**
   * Ends the grants that they gave at upstreams, tells every replica of each under `ref`, and says how many of them
   * were revoked there too.
   */
  endGrants(who: Subject, ref: string): Promise<{ readonly ended: number; readonly revokedAtProvider: number }>;
  /** Revokes the headless tokens of a service; none for anybody else. */
  revokeTokens(who: Subject): Promise<number>;
  /**
   * Ends their sign-ins on the connect pages and at the built-in authorization server, and forgets what the company's
   * provider said of them.
   */
  forgetSignIn(who: Subject): Promise<void>;
  /** What there is of somebody, who is not asked to go: they are denied, or have sessions, grants or a sign-in here. */
  traceOf(who: Subject): Promise<"denied" | "present" | "none">;
  close(): Promise<void>;
}

export type OpenOffboarding = (config: Config) => Promise<Offboarding>;

const dayMs = 86_400_000;
const newRef = createRef(randomBytes);

/**
 * `sallyport offboard`: somebody is out from the next request on, at every replica. First the deny list, so that
 * whatever comes later in the list is not made anew meanwhile; when one step fails, the command can be repeated.
 */
export function offboard(
  order: OffboardOrder,
  env: Environment,
  output: Output,
  open: OpenOffboarding,
): Promise<ExitCode> {
  return withSubject(order, { env, output, open }, async (who, means, config) => {
    const daysMax = config.limits.deniedSubjectDaysMax;
    if (!Number.isInteger(order.days) || order.days < 1 || order.days > daysMax)
      return no(`--days takes 1 to ${daysMax}`, output);
    await means.deny(who, order.days * dayMs);
    output.err(shown(`Denied ${who.subject} of ${who.issuer} for ${order.days} days.`));
    const ref = newRef();
    await means.tell({ who, did: "denied", ref });
    await means.endSessions(who);
    output.err(`Ended sessions and streams; running replicas leave events with the reference ${ref}.`);
    const { ended, revokedAtProvider } = await means.endGrants(who, ref);
    output.err(`Ended ${counted(ended, "grant")} at upstreams; ${revokedAtProvider} revoked there too.`);
    output.err(`Revoked ${counted(await means.revokeTokens(who), "headless token")}.`);
    await means.forgetSignIn(who);
    for (const hint of await hintsAt(otherIdentities(who, config), means)) output.err(shown(hint));
    return 0;
  });
}

/** Lines for every issuer by which they may still come: whom there is something of by name, else that there may be. */
async function hintsAt(others: readonly OtherIdentity[], means: Pick<Offboarding, "traceOf">): Promise<string[]> {
  const hints: string[] = [];
  for (const alias of new Set(others.map((other) => other.alias))) {
    const known = others.flatMap((other) => (other.alias === alias && other.who !== undefined ? [other.who] : []));
    const traces = await Promise.all(known.map((who) => means.traceOf(who)));
    const present = known.filter((_, index) => traces[index] === "present");
    const command = (name: string): string => `sallyport offboard ${name} --issuer ${alias}`;
    for (const { subject } of present)
      hints.push(`${subject} of ${alias} is let in still; if that is the same person: ${command(subject)}`);
    if (present.length === 0 && !traces.includes("denied"))
      hints.push(`If ${alias} knows them as well, by this name or another: ${command("SUBJECT")}`);
  }
  return hints;
}

/** `sallyport readmit`: takes somebody off the deny list. Nothing that was ended comes back. */
export function readmit(
  order: OffboardOrder,
  env: Environment,
  output: Output,
  open: OpenOffboarding,
): Promise<ExitCode> {
  return withSubject(order, { env, output, open }, async (who, means) => {
    if (!(await means.admit(who))) return no(`${who.subject} of ${who.issuer} was not denied`, output);
    const ref = newRef();
    await means.tell({ who, did: "admitted", ref });
    output.err(shown(`${who.subject} of ${who.issuer} is let in again, and has to sign in and connect anew (${ref}).`));
    return 0;
  });
}

function withSubject(
  order: OffboardOrder,
  at: { readonly env: Environment; readonly output: Output; readonly open: OpenOffboarding },
  work: (who: Subject, means: Offboarding, config: Config) => Promise<ExitCode>,
): Promise<ExitCode> {
  return withStore(order.config, at, { named: (config) => subjectAt(order, config), work });
}
