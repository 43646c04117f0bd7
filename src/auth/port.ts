import type { RecordReads, RecordSets, RecordWrites } from "../model/records.ts";

/** The deny list is read on every request: kinds `denied-token` (by digest) and `denied-subject`. */
export type DenyList = RecordReads;

/** What the verifier reads of headless tokens: kind `headless-token`. */
export type HeadlessReads = Pick<RecordReads, "get">;

/** What making, listing and revoking them needs besides: kind `headless-tokens`. */
export type HeadlessRecords = HeadlessReads & Pick<RecordWrites, "set" | "delete"> & RecordSets;

/** Which proofs were used: kind `dpop-proof`. */
export type ProofRecords = Pick<RecordWrites, "setIfAbsent">;

/** `fetch` behind the egress guard (RFC 9110 semantics as undici's; redirects are never followed). */
export type GuardedFetch = (url: string | URL, init?: RequestInit) => Promise<Response>;
