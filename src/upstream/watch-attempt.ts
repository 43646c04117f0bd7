import type { Refusal } from "../model/refusal.ts";
import { refuse } from "../model/refusal.ts";
import type { Link } from "./link.ts";
import type { UpstreamWatch, Wanted } from "./port.ts";
import type { StreamEnd } from "./watch-connection.ts";
import type { StreamOffer } from "./watch-offer.ts";

/** How one attempt at a stream ended. */
export type AttemptEnd =
  /** Nothing is wanted that the upstream declares, or it offers no stream: there is a long time until the next. */
  | { readonly kind: "unavailable" }
  /** It was opened and ended, or it failed; `retryMs` is the upstream's own wish for the pause. */
  | { readonly kind: "over"; readonly refusal: Refusal | undefined; readonly retryMs: number | undefined }
  /** It was rejected like one of the other era: perhaps the upstream was replaced. */
  | { readonly kind: "stale" };

/** One attempt, as whoever carries it out sees it. */
export interface Attempt {
  readonly link: Link;
  readonly watch: UpstreamWatch;
  readonly offer: StreamOffer;
  readonly signal: AbortSignal;
  readonly wanted: () => Wanted;
  /** Takes what makes the stream bring something else; it says false when only another stream can. */
  readonly onChange: (adapt: (wanted: Wanted) => boolean) => void;
  readonly onQueued: () => void;
  /** `resumed`: the upstream was asked for what had been missed. */
  readonly onOpen: (resumed: boolean) => void;
  /** From now on it brings all that is wanted. */
  readonly onStanding: () => void;
}

/**
 * What an upstream says when it was not able to, rather than not willing: it is asked again. 401 and 403 speak
 * of the credential, 408, 425 and 429 of the moment, 409 of a stream that it has not noticed the end of.
 */
const passing: ReadonlySet<number> = new Set([401, 403, 408, 409, 425, 429]);

/** Whether an answer says that there is no such stream: any but an event stream, and no failure that may pass. */
export function isNoOffer(status: number): boolean {
  return status === 501 || (status < 500 && !passing.has(status));
}

/** The end of an attempt that whoever keeps the stream gave up. */
export const withdrawn: AttemptEnd = { kind: "over", refusal: undefined, retryMs: undefined };

export function overFor(end: StreamEnd, retryMs: number | undefined): AttemptEnd {
  switch (end.kind) {
    case "closed":
    case "ended":
      return { kind: "over", refusal: undefined, retryMs };
    case "lost":
      return { kind: "over", refusal: end.refusal, retryMs };
    case "refused": {
      const auth = end.status === 401 || end.status === 403;
      const code = auth ? "UPSTREAM_AUTH_FAILED" : "UPSTREAM_STATUS_UNEXPECTED";
      return { kind: "over", refusal: refuse(code, { status: end.status }).refusal, retryMs };
    }
  }
}
