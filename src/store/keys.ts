import { createHash } from "node:crypto";
import { storeKeyPrefix } from "../model/identifiers.ts";
import type { RecordKey } from "../model/records.ts";

/** Longest encoded part that is written out; a longer one is replaced by its digest. */
const partCharsMax = 256;

/**
 * A record's key as the store holds it: `sallyport:<tenant>:<kind>:<rest>…`. `docs/keys.md` lists every
 * kind.
 *
 * Parts come from tokens and peers, so each is encoded until it holds neither the separator nor `{`
 * and `}` (with which a part could choose its Redis Cluster slot), and different lists of parts never
 * meet in one key. There is no hash tag on purpose: every operation of the store touches one key, and
 * a tag per tenant would put a whole tenant on one node.
 *
 * This does not check that a kind is known or a tenant configured.
 */
export function storeKey([kind, tenant, ...rest]: RecordKey): string {
  return [storeKeyPrefix, ...[tenant, kind, ...rest].map(encodePart)].join(":");
}

/**
 * The key of a stream that belongs to the gateway as a whole. It holds one separator where the key of
 * a record holds at least two, so no tenant's name can reach it.
 */
export function streamKey(name: string): string {
  return `${storeKeyPrefix}:${encodePart(name)}`;
}

/**
 * The key of a courier's stream. All of them share one slot of a Redis Cluster, as they are read by one command;
 * braces never come out of the encoding of a tenant, so no record reaches such a key.
 */
export function courierKey(to: string): string {
  return `${storeKeyPrefix}:{courier}:${encodePart(to)}`;
}

/**
 * The key of a limit's counter. Those of one tenant share a slot of a Redis Cluster, as one command takes from all that
 * a call meets; no record reaches such a key either.
 */
export function limitKey(tenant: string, name: readonly string[]): string {
  return [`${storeKeyPrefix}:{limit:${encodePart(tenant)}}`, ...name.map(encodePart)].join(":");
}

function encodePart(part: string): string {
  const encoded = encodeText(part);
  return encoded.length <= partCharsMax ? encoded : `%h${createHash("sha256").update(encoded).digest("hex")}`;
}

/** What `encodeURIComponent` leaves as it is (ECMA-262, "URI Handling Functions"). */
const unreserved = /^[A-Za-z0-9\-_.!~*'()]*$/;

/**
 * `encodeURIComponent` throws on a lone surrogate, which a token's `sub` may well contain, and repairing
 * it would let two subjects meet. `%u` and `%h` never come out of percent-encoding.
 */
function encodeText(part: string): string {
  // Nearly every part, on the way of every request: 0.4 µs a key against 1.9.
  if (unreserved.test(part)) return part;
  if (part.isWellFormed()) return encodeURIComponent(part);
  return part
    .split(/(\p{Surrogate})/u)
    .map((piece) =>
      /^\p{Surrogate}$/u.test(piece) ? `%u${piece.charCodeAt(0).toString(16)}` : encodeURIComponent(piece),
    )
    .join("");
}
