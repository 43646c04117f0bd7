import type { RecordReads } from "../model/records.ts";

/** The deny list is read on every request: kinds `denied-token` (by digest) and `denied-subject`. */
export type DenyList = RecordReads;

/** `fetch` behind the egress guard (RFC 9110 semantics as undici's; redirects are never followed). */
export type GuardedFetch = (url: string | URL, init?: RequestInit) => Promise<Response>;
