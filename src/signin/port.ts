/** `fetch` behind the egress guard: no redirects, no address outside the allowed ones, bounded in bytes and time. */
export type GuardedFetch = (url: string | URL, init?: RequestInit) => Promise<Response>;
