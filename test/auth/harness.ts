import type { JWTPayload } from "jose";
import { createAuthenticator } from "../../src/auth/authenticate.ts";
import type { Authenticator } from "../../src/auth/authenticate.ts";
import type { DenyList } from "../../src/auth/port.ts";
import type { TrustedIssuer } from "../../src/auth/trusted-issuer.ts";
import { limits } from "../../src/model/limits.ts";
import type { Limits } from "../../src/model/limits.ts";
import type { RecordKey } from "../../src/model/records.ts";
import type { Principal } from "../../src/model/principal.ts";
import type { Refusal } from "../../src/model/refusal.ts";
import type { Result } from "../../src/model/result.ts";

export const resource = "https://gw.test/support/mcp";
export const issuer = "https://login.test/realm";
/** A whole second, so that boundaries are sharp. */
export const start = 1_800_000_000_000;
export const startSeconds: number = start / 1000;

/** The claims of a good access token. */
export const goodClaims: JWTPayload = {
  iss: issuer,
  sub: "u1",
  aud: resource,
  client_id: "desktop",
  exp: startSeconds + 3600,
};

/** Two records deny; everything else is absent. `broken` is thrown instead of an answer. `atOnce`: it can be read without a wait. */
export function denyList(
  atOnce = false,
): DenyList & { readonly denied: Set<string>; reads: number; broken: Error | undefined } {
  const list: ReturnType<typeof denyList> = {
    denied: new Set<string>(),
    reads: 0,
    broken: undefined,
    get(key) {
      list.reads += 1;
      if (list.broken !== undefined) return Promise.reject(list.broken);
      return Promise.resolve(list.denied.has(JSON.stringify(key)) ? "1" : undefined);
    },
  };
  if (!atOnce) return list;
  const getNow = (key: RecordKey): string | undefined => {
    list.reads += 1;
    if (list.broken !== undefined) throw list.broken;
    return list.denied.has(JSON.stringify(key)) ? "1" : undefined;
  };
  return Object.assign(list, { getNow });
}

export interface Bench {
  readonly authenticator: Authenticator;
  readonly list: ReturnType<typeof denyList>;
  /** Presents one token, as a bearer token, at `start + laterMs`. */
  present(token: string, laterMs?: number, at?: string): Promise<Result<Principal>>;
}

/** An authenticator whose network is cut off unless a fetch is given. */
export function bench(
  issuers: readonly TrustedIssuer[],
  options: { readonly fetch?: typeof fetch; readonly limits?: Partial<Limits>; readonly denyAtOnce?: boolean } = {},
): Bench {
  const list = denyList(options.denyAtOnce);
  const noFetch = (): never => {
    throw new Error("nothing may be fetched here");
  };
  const authenticator = createAuthenticator({
    issuers,
    fetch: options.fetch ?? noFetch,
    denyList: list,
    limits: { ...limits, ...options.limits },
  });
  const present: Bench["present"] = async (token, laterMs = 0, at = resource) =>
    await authenticator.authenticate({ authorization: [`Bearer ${token}`], resource: at, now: start + laterMs });
  return { authenticator, list, present };
}

export function codeOf(result: Result<unknown>): string {
  return result.ok ? "ok" : result.refusal.code;
}

export function refusalOf(result: Result<unknown>): Refusal | undefined {
  return result.ok ? undefined : result.refusal;
}
