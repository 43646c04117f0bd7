import { refuse } from "../model/refusal.ts";
import type { Fact, Refusal } from "../model/refusal.ts";
import type { Hop, UpstreamAnswer } from "./port.ts";
import type { Reply } from "./reply.ts";

/**
 * What a reply means for whoever asked. A success is only a response with the matching id under a 2xx; all
 * else is a failure with its outcome: *failed* when the request was certainly not executed, *unknown* when it
 * may have been (design, decisions 6 and 7).
 */
export function toAnswer(
  reply: Reply,
  asked: { readonly upstream: string; readonly method: string; readonly hop: Hop },
): UpstreamAnswer {
  const { hop, upstream } = asked;
  const fault = faultOf(reply);
  if (fault === undefined && reply.kind === "response") {
    const { response, bytes } = reply;
    if ("error" in response) return { kind: "error", error: response.error, hop };
    return { kind: "result", result: response.result, hop, bytes };
  }
  const { refusal, executed } = fault ?? acceptedOnly(reply.kind);
  const outcome = executed && mayAct(asked.method) ? "unknown" : "failed";
  return { kind: "failed", outcome, refusal: { ...refusal, facts: { upstream, ...refusal.facts } }, hop };
}

/** Why a reply is no answer, and whether the request may have been executed; undefined when it is one. */
export function faultOf(reply: Reply): { readonly refusal: Refusal; readonly executed: boolean } | undefined {
  switch (reply.kind) {
    case "response":
      return isAuthStatus(reply.status) ? statusFault(reply.status) : undefined;
    case "status":
      return statusFault(reply.status);
    case "none":
      return { refusal: reply.refusal, executed: reply.sent };
    case "accepted":
      return undefined;
  }
}

/**
 * Methods that only ask. The outcome of one that got lost is *failed*, as nothing can have happened; reads of
 * resources and prompts run an upstream's code for one item and count as acting.
 */
const asking: ReadonlySet<string> = new Set([
  "initialize",
  "ping",
  "server/discover",
  "tools/list",
  "resources/list",
  "resources/templates/list",
  "prompts/list",
]);

function mayAct(method: string): boolean {
  return !asking.has(method);
}

function statusFault(status: number): { readonly refusal: Refusal; readonly executed: boolean } {
  const facts: Readonly<Record<string, Fact>> = { status };
  if (isAuthStatus(status)) return { refusal: refuse("UPSTREAM_AUTH_FAILED", facts).refusal, executed: false };
  return { refusal: refuse("UPSTREAM_STATUS_UNEXPECTED", facts).refusal, executed: mayHaveExecuted(status) };
}

function isAuthStatus(status: number): boolean {
  return status === 401 || status === 403;
}

/**
 * A 4xx says that the request was not carried out (RFC 9110 §15.5), a 307 or 308 that it would have to be made
 * elsewhere (§15.4.8). Any other redirect may follow an action, and a 5xx may come from a proxy whose own
 * upstream is still at work.
 */
function mayHaveExecuted(status: number): boolean {
  return !((status >= 400 && status < 500) || status === 307 || status === 308);
}

function acceptedOnly(kind: string): { readonly refusal: Refusal; readonly executed: boolean } {
  return { refusal: refuse("UPSTREAM_ANSWER_INVALID", { reason: kind }).refusal, executed: true };
}
