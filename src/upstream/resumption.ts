import type { Cancellation } from "../model/cancellation.ts";
import { refuse } from "../model/refusal.ts";
import type { Fact, Refusal } from "../model/refusal.ts";
import { deliver } from "./deliver.ts";
import type { Delivered, Delivery } from "./deliver.ts";
import type { StreamTrail } from "./event-answer.ts";
import { resumptionHeaders } from "./legacy-hop.ts";
import type { LegacyGrant } from "./legacy-hop.ts";
import type { Link } from "./link.ts";
import { isSuccess } from "./read-answer.ts";
import type { Reply } from "./reply.ts";

/** A request whose stream says where it has come to. */
export interface Resumable extends Delivery {
  readonly trail: StreamTrail;
}

/**
 * Delivers a request and, when its stream is cut before the answer, takes the stream up where it was cut: by a
 * GET with the id of the last event, in the same session, after the pause that the upstream asked for
 * (2025-11-25, transports, "Resumability and Redelivery"). A server that closes the connection on purpose, to
 * be polled, is thereby polled. The request itself is never sent again, so whatever comes after the first cut
 * leaves its outcome unknown. It ends with the answer, with a GET that is refused, after
 * `upstreamResumptionsMax` attempts in a row without an event, and when the deadline would pass in a pause.
 */
export async function deliverResuming(link: Link, grant: LegacyGrant, delivery: Resumable): Promise<Delivered> {
  const { trail, until, signal } = delivery;
  let last = await deliver(link, delivery);
  let fruitless = 0;
  while (isCut(last.reply) && isEventId(trail.lastEventId)) {
    const pauseMs = pauseBefore(link, trail);
    if (fruitless >= link.limits.upstreamResumptionsMax) return gaveUp(last, { resumptions: fruitless });
    if (link.now() + pauseMs >= until) return gaveUp(last, { pauseMs });
    if (!(await pause(pauseMs, signal))) return gone(last);
    const before = { ...trail };
    last = await resume(link, { grant, delivery, id: last.id, lastEventId: trail.lastEventId });
    fruitless = before.lastEventId === trail.lastEventId && before.messages === trail.messages ? fruitless + 1 : 0;
  }
  return last;
}

interface Resumption {
  readonly grant: LegacyGrant;
  readonly delivery: Resumable;
  /** Of the request whose answer is waited for. */
  readonly id: string;
  readonly lastEventId: string;
}

async function resume(link: Link, { grant, delivery, id, lastEventId }: Resumption): Promise<Delivered> {
  const { reply } = await deliver(link, {
    ...delivery,
    method: "GET",
    awaits: id,
    write: () => ({ headers: resumptionHeaders(grant, lastEventId), body: null }),
  });
  return { reply: afterRequest(reply), id };
}

/** The reply to a GET as one to the request before it, which was sent and may have been executed. */
function afterRequest(reply: Reply): Reply {
  if (reply.kind === "none") return { ...reply, sent: true };
  if (reply.kind === "response" && isSuccess(reply.status)) return reply;
  return cut({ resumptionStatus: reply.status });
}

/** The connection ended; or there was none for now, which another attempt may find. */
function isCut(reply: Reply): boolean {
  if (reply.kind !== "none" || !reply.sent) return false;
  const { code, facts } = reply.refusal;
  if (code === "UPSTREAM_CLOSED_EARLY") return mayPass(facts["resumptionStatus"]);
  return code === "UPSTREAM_UNREACHABLE";
}

/** A refusal of the stream is final, unless its status says "not now" (RFC 9110 §15.6, RFC 6585 §4). */
function mayPass(status: Fact | undefined): boolean {
  return typeof status !== "number" || status >= 500 || status === 408 || status === 425 || status === 429;
}

/** Visible ASCII, which a header can carry as it is. Other ids cannot be gone on from. */
export function isEventId(id: string | undefined): id is string {
  return id !== undefined && id.length <= eventIdCharsMax && /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(id);
}

const eventIdCharsMax = 1_024;

/** At least what the upstream asked for, and a little more, so that many whom it cut do not return at once. */
function pauseBefore({ limits, random }: Link, { retryMs }: StreamTrail): number {
  const asked = retryMs ?? limits.upstreamResumptionPauseMs;
  return Math.max(limits.upstreamResumptionPauseMsMin, Math.round(asked * (1 + random() / 4)));
}

/** False when nobody waits any more. */
function pause(ms: number, signal: Cancellation | undefined): Promise<boolean> {
  if (signal?.aborted === true) return Promise.resolve(false);
  return new Promise((resolve) => {
    const end = (waited: boolean): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
      resolve(waited);
    };
    const onAbort = (): void => {
      end(false);
    };
    const timer = setTimeout(end, ms, true);
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}

function cut(facts: Readonly<Record<string, Fact>>): Reply {
  return unknown(refuse("UPSTREAM_CLOSED_EARLY", facts).refusal);
}

function gaveUp({ reply, id }: Delivered, facts: Readonly<Record<string, Fact>>): Delivered {
  const before = reply.kind === "none" ? reply.refusal.facts : {};
  return { reply: cut({ ...before, ...facts }), id };
}

function gone({ id }: Delivered): Delivered {
  return { reply: unknown(refuse("CLIENT_GONE").refusal), id };
}

function unknown(refusal: Refusal): Reply {
  return { kind: "none", refusal, sent: true, error: undefined };
}
