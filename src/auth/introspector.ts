import { readOwn } from "../model/json.ts";
import type { JsonObject } from "../model/json.ts";
import type { Limits } from "../model/limits.ts";
import { refuse } from "../model/refusal.ts";
import { ok } from "../model/result.ts";
import type { Refused, Result } from "../model/result.ts";
import { sha256 } from "./deny-list.ts";
import { fetchJson } from "./fetch-json.ts";
import { discoverPlace } from "./issuer-metadata.ts";
import type { GuardedFetch } from "./port.ts";
import { createRecentEntries } from "./recent-entries.ts";
import type { IntrospectionClient, TrustedIssuer } from "./trusted-issuer.ts";

export type IntrospectionLimits = Pick<
  Limits,
  | "issuerFetchTimeoutMs"
  | "issuerMetadataBytesMax"
  | "issuerKeysAgeMsMax"
  | "verifiedTokensMax"
  | "introspectionsInFlightMax"
  | "introspectionRetryMsMin"
  | "introspectionWindowMs"
  | "introspectionsInactivePerWindowMax"
  | "introspectionInactiveMs"
  | "introspectionKnownMs"
>;

export interface Introspector {
  /**
   * What the issuer says of a token that is active (RFC 7662 §2.2). Refuses AUTH_TOKEN_INACTIVE, and
   * AUTH_ISSUER_UNAVAILABLE when nobody can tell. Never rejects; `now` in milliseconds.
   */
  ask(token: string, now: number): Promise<Result<JsonObject>>;
}

export interface IntrospectorOptions {
  readonly trusted: TrustedIssuer;
  readonly client: IntrospectionClient;
  readonly fetch: GuardedFetch;
  readonly limits: IntrospectionLimits;
}

/**
 * Asks one issuer about tokens that are no JWT. Concurrent questions about one token share an answer.
 *
 * - *Strangers:* a token that is not active is remembered for `introspectionInactiveMs`. After
 *   `introspectionsInactivePerWindowMax` such answers within `introspectionWindowMs` only tokens that were active
 *   within `introspectionKnownMs` are asked about, so that made-up tokens cost the issuer a bounded number of
 *   requests, and people who are signed in nothing.
 * - *Slow or down:* at most `introspectionsInFlightMax` questions are open; after one that failed, none is asked
 *   for `introspectionRetryMsMin`. Where it was about a token that is not known, known ones are asked about all the
 *   same: some endpoints fail on whatever is odd enough, which a stranger could send every second.
 * - *Lying:* an answer without a boolean `active` is a failure; what else it says is the caller's to judge.
 */
export function createIntrospector({ trusted, client, fetch, limits }: IntrospectorOptions): Introspector {
  const known = createRecentEntries<number>(limits.verifiedTokensMax);
  const inactive = createRecentEntries<number>(limits.verifiedTokensMax);
  const underWay = new Map<string, Promise<Result<JsonObject>>>();
  const state = { failedAt: -Infinity, knownFailedAt: -Infinity, windowAt: -Infinity, inWindow: 0 };
  const request = requestTo({ trusted, client, fetch, limits });

  function ask(token: string, now: number): Promise<Result<JsonObject>> {
    const digest = sha256(token);
    if ((inactive.get(digest) ?? 0) > now) return Promise.resolve(refuseInactive());
    const open = underWay.get(digest);
    if (open !== undefined) return open;
    const reason = closedFor(digest, now);
    if (reason !== undefined) return Promise.resolve(unavailable(reason));
    const asked = askAnew(token, digest, now).finally(() => underWay.delete(digest));
    underWay.set(digest, asked);
    return asked;
  }

  function closedFor(digest: string, now: number): string | undefined {
    if (underWay.size >= limits.introspectionsInFlightMax) return "too many questions are open";
    const failedAt = isKnown(digest, now) ? state.knownFailedAt : state.failedAt;
    if (now - failedAt < limits.introspectionRetryMsMin) return "the last question failed";
    const isSpent =
      now - state.windowAt < limits.introspectionWindowMs &&
      state.inWindow >= limits.introspectionsInactivePerWindowMax;
    return isSpent && !isKnown(digest, now) ? "too many tokens were not active" : undefined;
  }

  function isKnown(digest: string, now: number): boolean {
    return (known.get(digest) ?? 0) > now;
  }

  async function askAnew(token: string, digest: string, now: number): Promise<Result<JsonObject>> {
    try {
      const answer = await request(token, now);
      const active = readOwn(answer, "active");
      if (typeof active !== "boolean") throw new Error("an introspection answer without `active`");
      if (!active) return noteInactive(digest, now);
      known.put(digest, now + limits.introspectionKnownMs);
      return ok(answer);
    } catch (cause) {
      state.failedAt = now;
      if (isKnown(digest, now)) state.knownFailedAt = now;
      return unavailable("the question failed", cause);
    }
  }

  function noteInactive(digest: string, now: number): Refused {
    if (now - state.windowAt >= limits.introspectionWindowMs) Object.assign(state, { windowAt: now, inWindow: 0 });
    state.inWindow += 1;
    inactive.put(digest, now + limits.introspectionInactiveMs);
    return refuseInactive();
  }

  function refuseInactive(): Refused {
    return refuse("AUTH_TOKEN_INACTIVE", { issuer: trusted.alias });
  }

  function unavailable(reason: string, cause?: unknown): Refused {
    return refuse("AUTH_ISSUER_UNAVAILABLE", { issuer: trusted.alias, needed: "introspection", reason }, { cause });
  }

  return { ask };
}

/** Sends the question. One time limit spans metadata, which is read anew now and then, and answer. */
function requestTo({
  trusted,
  client,
  fetch,
  limits,
}: IntrospectorOptions): (token: string, now: number) => Promise<JsonObject> {
  const found = { endpoint: client.endpoint ?? "", until: client.endpoint === undefined ? -Infinity : Infinity };
  return async (token, now) => {
    const signal = AbortSignal.timeout(limits.issuerFetchTimeoutMs);
    const options = { fetch: trusted.fetch ?? fetch, signal, bytesMax: limits.issuerMetadataBytesMax };
    if (now >= found.until) {
      found.endpoint = await discoverPlace(trusted.issuer, "introspection_endpoint", options);
      found.until = now + limits.issuerKeysAgeMsMax;
    }
    const body = new URLSearchParams({ token, token_type_hint: "access_token" });
    const form = { body, headers: { authorization: basicOf(client) } };
    return fetchJson(found.endpoint, { ...options, form });
  };
}

/** Client authentication with HTTP Basic: both parts form-encoded first (RFC 6749 §2.3.1). */
function basicOf({ clientId, clientSecret }: IntrospectionClient): string {
  const encoded = [clientId, clientSecret].map((part) =>
    new URLSearchParams({ p: part }).toString().slice("p=".length),
  );
  return `Basic ${Buffer.from(encoded.join(":")).toString("base64")}`;
}
