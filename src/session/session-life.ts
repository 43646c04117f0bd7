import type { Limits } from "../model/limits.ts";
import type { Session } from "./session-record.ts";

type LifeLimits = Pick<Limits, "sessionIdleMs" | "sessionAgeMsMax">;

/** Milliseconds until the session is over; zero and less when it is. */
export function lifeLeft(
  { seenAt, openedAt }: Pick<Session, "seenAt" | "openedAt">,
  limits: LifeLimits,
  now: number,
): number {
  return Math.min(seenAt + limits.sessionIdleMs, openedAt + limits.sessionAgeMsMax) - now;
}

/**
 * Least time between two writes that note a session's use. Where sessions idle for little time it is a part of
 * that: a session in use must not be over before its use is noted.
 */
export function touchPauseMs(limits: LifeLimits & Pick<Limits, "sessionTouchMsMin">): number {
  return Math.min(limits.sessionTouchMsMin, limits.sessionIdleMs / 4);
}
