import type { AuditEvent } from "./event.ts";
import type { AuditDraft } from "./port.ts";
import { bodyOf, hashOfBody, lineFrom } from "./line.ts";
import type { Place } from "./line.ts";

/** What the first event of a chain names as the one before it. */
export const genesisHash: string = "0".repeat(64);

/** Where a chain stands: its last event's sequence number and hash. */
export interface ChainHead {
  readonly seq: number;
  readonly hash: string;
}

/** An event as it was recorded, with what was in force at that moment. */
export interface StampedDraft {
  readonly draft: AuditDraft;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly digests: AuditEvent["digests"];
}

/** Gives events their place in the replica's chain. The caller presents them in order. */
export interface Chain {
  /** The event's line. */
  seal(stamped: StampedDraft): string;
}

export interface ChainOptions {
  readonly replica: string;
  /** Where an earlier run of this replica stopped; undefined starts a new chain at 1. */
  readonly resume: ChainHead | undefined;
  /** UTF-8 bytes of one event's body. */
  readonly eventBytesMax: number;
}

/**
 * A hash chain per replica: each event carries the hash of the one before, and its own over all it says.
 * Whoever changes, removes or reorders events must write the rest of the chain anew. It cannot show that
 * the newest events were cut off: for that, compare with a copy or with the gateway's own count.
 */
export function createChain({ replica, resume, eventBytesMax }: ChainOptions): Chain {
  let head: ChainHead = resume ?? { seq: 0, hash: genesisHash };
  const timeText = createTimeText();
  return {
    seal({ draft, at, digests }) {
      const place = {
        v: 1,
        seq: head.seq + 1,
        at: timeText(at),
        replica,
        prev: head.hash,
        digests,
      } as const;
      const body = fit(draft, place, eventBytesMax);
      const hash = hashOfBody(body);
      head = { seq: place.seq, hash };
      return lineFrom(body, hash);
    },
  };
}

/** Milliseconds as ISO 8601. Events come in batches, of which most share a millisecond: 0.8 µs less for those. */
function createTimeText(): (ms: number) => string {
  let known = { ms: 0, text: new Date(0).toISOString() };
  return (ms) => {
    if (known.ms !== ms) known = { ms, text: new Date(ms).toISOString() };
    return known.text;
  };
}

/** An event too large for its bound loses what is largest and least needed, and says so. */
function fit(draft: AuditDraft, place: Place, bytesMax: number): string {
  for (const shorten of [whole, withoutContent, coreOnly]) {
    const body = bodyOf(shorten(draft), place);
    if (shorten === coreOnly || fits(body, bytesMax)) return body;
  }
  throw new Error("unreachable: the core of an event always ends the loop");
}

/** A UTF-16 code unit becomes at most three bytes of UTF-8, so most bodies need not be measured. */
function fits(body: string, bytesMax: number): boolean {
  return body.length * 3 <= bytesMax || Buffer.byteLength(body) <= bytesMax;
}

function whole(draft: AuditDraft): AuditDraft {
  return draft;
}

function withoutContent(draft: AuditDraft): AuditDraft {
  const rest: { -readonly [Name in keyof AuditDraft]: AuditDraft[Name] } = {
    ...draft,
    shortened: ["read", "findings"],
  };
  delete rest.read;
  delete rest.findings;
  return rest;
}

function coreOnly(draft: AuditDraft): AuditDraft {
  const { type, ref, tenant, outcome, refusal } = draft;
  return {
    type,
    ref,
    tenant: tenant.slice(0, 256),
    ...(outcome === undefined ? {} : { outcome }),
    ...(refusal === undefined ? {} : { refusal: { code: refusal.code, facts: {} } }),
    shortened: ["everything else"],
  };
}
