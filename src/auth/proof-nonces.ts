import { createHmac } from "node:crypto";

/** The nonces that proofs must carry (RFC 9449 §9). Nothing is kept of them. `now` is milliseconds since the epoch. */
export interface ProofNonces {
  current(now: number): string;
  accepts(nonce: string, now: number): boolean;
}

export interface ProofNonceOptions {
  /** Keys of the MAC, 32 bytes each, the current one first; replicas that share them accept each other's nonces. */
  readonly keys: readonly Uint8Array[];
  /** The longest that a nonce is accepted after it became the current one. */
  readonly secondsMax: number;
}

/**
 * A nonce is the MAC of a span of time, half of `secondsMax` long, so that nobody can make a proof for later. That of
 * the span before is accepted still, and that of the next one, for a replica whose clock runs ahead.
 *
 * A nonce is no secret: whoever asks is told it. It says that a proof was made lately, and nothing of who made it.
 */
export function createProofNonces({ keys, secondsMax }: ProofNonceOptions): ProofNonces {
  const spanMs = (secondsMax * 1000) / 2;
  let known = { span: NaN, current: "", accepted: new Set<string>() };

  function at(now: number): typeof known {
    const span = Math.floor(now / spanMs);
    if (known.span !== span) {
      const nonces = [span, span - 1, span + 1].flatMap((one) => keys.map((key) => nonceOf(key, one)));
      known = { span, current: nonces[0] ?? "", accepted: new Set(nonces) };
    }
    return known;
  }

  return {
    current: (now) => at(now).current,
    accepts: (nonce, now) => at(now).accepted.has(nonce),
  };
}

/** 132 bits of HMAC-SHA-256. */
function nonceOf(key: Uint8Array, span: number): string {
  return createHmac("sha256", key).update(`${span}`).digest("base64url").slice(0, 22);
}
