import { refuse } from "../model/refusal.ts";
import type { Refusal, RefusalCode } from "../model/refusal.ts";
import type { Breaker, Health } from "./breaker.ts";
import type { UpstreamAnswer, UpstreamRequest } from "./port.ts";

/** What serves recovery is never held back, and says nothing of calls (design, decision 7). */
const exempt: ReadonlySet<string> = new Set([
  "ping",
  "tasks/get",
  "tasks/result",
  "tasks/list",
  "tasks/update",
  "tasks/cancel",
]);

/**
 * Carries a request out unless its upstream is suspended; refuses with UPSTREAM_SUSPENDED then, at once and
 * before anything is sent. Cancellations, the end of sessions, probes and streams do not come by here.
 */
export async function throughBreaker(
  breaker: Breaker,
  { upstream, method }: Pick<UpstreamRequest, "upstream" | "method">,
  perform: () => Promise<UpstreamAnswer>,
): Promise<UpstreamAnswer> {
  if (exempt.has(method)) return perform();
  const admission = breaker.admit();
  if (admission.kind === "suspended") {
    const retryMs = Math.ceil(admission.retryMs);
    const { refusal } = refuse("UPSTREAM_SUSPENDED", { upstream, retryMs });
    return { kind: "failed", outcome: "failed", refusal, hop: undefined };
  }
  let health: Health = "neither";
  try {
    const answer = await perform();
    health = healthOf(answer);
    return answer;
  } finally {
    admission.settle(health);
  }
}

/** Any answer to the request is health, a tool's `isError` and a JSON-RPC error as much as a result. */
function healthOf(answer: UpstreamAnswer): Health {
  return answer.kind === "failed" ? failureOf(answer.refusal) : "well";
}

type Reading = Health | ((facts: Refusal["facts"]) => Health);

/** Codes that are not here tell nothing: the fault is the request's, the caller's or the gateway's own. */
const healthByCode: ReadonlyMap<RefusalCode, Reading> = new Map<RefusalCode, Reading>([
  ["UPSTREAM_UNREACHABLE", "ill"],
  ["UPSTREAM_ANSWER_INVALID", "ill"],
  ["UPSTREAM_ANSWER_UNMATCHED", "ill"],
  ["UPSTREAM_CLOSED_EARLY", "cut"],
  ["UPSTREAM_TIMED_OUT", healthBySilence],
  ["UPSTREAM_STATUS_UNEXPECTED", healthByStatus],
  ["UPSTREAM_AUTH_FAILED", "well"],
  ["UPSTREAM_ANSWER_TOO_LARGE", "well"],
  ["UPSTREAM_SESSION_LOST", "well"],
]);

function failureOf({ code, facts }: Refusal): Health {
  const health = healthByCode.get(code) ?? "neither";
  return typeof health === "string" ? health : health(facts);
}

/** Waiting in the gateway's own queue is not the upstream's doing, and a call may be long while its server is well. */
function healthBySilence({ phase, began }: Refusal["facts"]): Health {
  return phase === "queue" || began === true ? "neither" : "ill";
}

/** A 4xx and a redirect come from a server that is up, and so does 501; it is not known of one that says "not now". */
function healthByStatus({ status }: Refusal["facts"]): Health {
  if (typeof status !== "number" || [408, 425, 429].includes(status)) return "neither";
  return status >= 500 && status !== 501 ? "ill" : "well";
}
