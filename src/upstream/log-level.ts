import type { Cancellation } from "../model/cancellation.ts";
import { isJsonObject, readOwn } from "../model/json.ts";
import { isAtLeast } from "../model/log-level.ts";
import type { LogLevel } from "../model/log-level.ts";
import { deliver } from "./deliver.ts";
import { legacyHeaders, writeLegacy } from "./legacy-hop.ts";
import type { HeldSession, LegacySessions } from "./legacy-sessions.ts";
import type { Link } from "./link.ts";
import type { Reply } from "./reply.ts";
import { waitWithin } from "./single-flight.ts";
import { faultOf } from "./verdict.ts";

/** What this process knows of the level that the upstream of a session was told. */
export interface ToldLevel {
  /** The lowest one; it is never raised, as an exchange beside may still want it. */
  level: LogLevel | undefined;
  /** A level is being told. */
  telling: Promise<void> | undefined;
}

export function createToldLevel(): ToldLevel {
  return { level: undefined, telling: undefined };
}

/**
 * Sees to it that the upstream sends the log messages which an exchange wants: an upstream that declares
 * `logging` is told the level (2025-11-25, logging, "Setting Log Level") before the first exchange in its
 * session that wants a lower one. The level is the session's and only ever goes down; what is too much for an
 * exchange is dropped there (see `takeLog`). It is kept in the session's record too: a replica that tells a
 * level looks there first, or it would raise what another has lowered. Two replicas that tell at the same
 * moment may still do so, and the later one stands. A failure is logged and not tried again for that level in
 * this process: a call is worth more than its log, and must not wait for it each time.
 */
export async function ensureLogLevel(
  link: Link,
  sessions: Pick<LegacySessions, "toldLevel" | "noteLevel">,
  session: HeldSession,
  wanted: { readonly logLevel: LogLevel; readonly signal: Cancellation; readonly until: number },
): Promise<void> {
  const { logLevel, signal, until } = wanted;
  if (!isJsonObject(readOwn(session.grant.identity.capabilities, "logging"))) return;
  const { told } = session;
  while (!covers(told.level, logLevel)) {
    told.telling ??= tell(link, sessions, session, logLevel).finally(() => {
      told.telling = undefined;
    });
    const ms = Math.max(1, until - link.now());
    if ((await waitWithin(told.telling, { signal, ms })) !== undefined) return;
  }
}

/** Whether an upstream that was told `level` sends messages of `wanted`. */
function covers(level: LogLevel | undefined, wanted: LogLevel): boolean {
  return level !== undefined && isAtLeast(wanted, level);
}

async function tell(
  link: Link,
  sessions: Pick<LegacySessions, "toldLevel" | "noteLevel">,
  session: HeldSession,
  level: LogLevel,
): Promise<void> {
  const noted = await sessions.toldLevel(session);
  if (noted !== undefined && covers(noted, level)) {
    session.told.level = noted;
    return;
  }
  const code = failureOf(await setLevel(link, session, level));
  session.told.level = level;
  if (code === undefined) await sessions.noteLevel(session, level);
  else link.log("upstream-log-level-not-set", { upstream: link.upstream, level, code });
}

async function setLevel(link: Link, { grant, account }: HeldSession, level: LogLevel): Promise<Reply> {
  const { reply } = await deliver(link, {
    account,
    method: "POST",
    lane: "control",
    expectsAnswer: true,
    until: link.now() + link.timeouts.probeMs,
    write: (id) => writeLegacy(legacyHeaders(grant), id, { method: "logging/setLevel", params: { level } }),
  });
  return reply;
}

function failureOf(reply: Reply): string | number | undefined {
  const fault = faultOf(reply);
  if (fault !== undefined) return fault.refusal.code;
  return reply.kind === "response" && "error" in reply.response ? reply.response.error.code : undefined;
}
