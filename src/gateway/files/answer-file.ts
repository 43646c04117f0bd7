import { limits } from "../../model/limits.ts";
import { refuse, type Refusal, type RefusalCode } from "../../model/refusal.ts";
import type { Exchange } from "../exchange.ts";
import { answerRefusal, type Answer } from "../wire-answer.ts";
import type { FileHead } from "./judge-answer.ts";

/**
 * What every answer under `/files/` says to a browser that opens it as a page: it is of the type it says, it may do
 * nothing, it shows on no other site and is kept by nobody (design, decision 10).
 */
export const fileGuards: Readonly<Record<string, string>> = {
  "cache-control": "private, no-store",
  "content-security-policy": "sandbox; default-src 'none'",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

/** The headers under which a file is delivered. It is always offered for saving, under a name made of its path. */
export function fileHeaders(head: FileHead, path: string): Record<string, string> {
  if (head.status === 304 || head.status === 416) return { ...head.headers, ...fileGuards };
  return { ...head.headers, ...fileGuards, "content-disposition": dispositionOf(path) };
}

/** The name is the path's last segment: what the upstream says in a header of its own is not looked at (RFC 6266 §4.3). */
function dispositionOf(path: string): string {
  const segment = decodeURIComponent(path.slice(path.lastIndexOf("/") + 1));
  // A surrogate whose other half is cut off is replaced with the rest (`\p{C}`).
  const name = segment.slice(0, limits.fileNameCharsMax).replaceAll(/[\p{C}"*/:<>?\\|]/gu, "_");
  const plain = name.replaceAll(/[^\x20-\x7e]|%/g, "_");
  const encoded = encodeURIComponent(name).replaceAll(/[!'()*]/g, percentEncoded);
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`;
}

/** RFC 8187 §3.2.1: `attr-char` has none of these, and `encodeURIComponent` leaves them. */
function percentEncoded(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}

/** The answer to a request for a file that is refused. A status always: there is no JSON-RPC message it could stand in. */
export function answerFileRefusal(refusal: Refusal, x: Exchange): Answer<string> {
  const told = toldRefusal(refusal);
  const answer = answerRefusal(told, {
    ref: x.ref,
    era: undefined,
    id: undefined,
    method: undefined,
    asked: undefined,
    outcome: x.outcome,
    resource: x.arrival.server,
    authorization: x.arrival.authorization,
  });
  const status = answer.status === 200 ? (statuses.get(told.code) ?? statusBelow(told.code)) : answer.status;
  return { ...answer, status, headers: { ...answer.headers, ...fileGuards } };
}

/** What somebody may not have is answered like what is not there, and so is what the upstream does not have. */
function toldRefusal(refusal: Refusal): Refusal {
  const { code, facts } = refusal;
  const isAbsent = code === "UPSTREAM_STATUS_UNEXPECTED" && (facts["status"] === 404 || facts["status"] === 410);
  return code === "POLICY_DENIED" || isAbsent ? refuse("ROUTE_UNKNOWN").refusal : refusal;
}

const statuses: ReadonlyMap<RefusalCode, number> = new Map([
  ["RATE_LIMITED", 429],
  ["QUOTA_EXHAUSTED", 429],
  ["CONCURRENCY_LIMITED", 429],
  ["UPSTREAM_QUEUE_FULL", 503],
  ["UPSTREAM_TIMED_OUT", 504],
]);

function statusBelow(code: RefusalCode): number {
  return code.startsWith("UPSTREAM_") ? 502 : 500;
}
