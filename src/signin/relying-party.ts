import { calculatePKCECodeChallenge } from "oauth4webapi";
import type { AuthorizationServer } from "oauth4webapi";
import type { Limits } from "../model/limits.ts";
import { refuse } from "../model/refusal.ts";
import { ok } from "../model/result.ts";
import type { Result } from "../model/result.ts";
import { exchangeCode, refreshTokens } from "./ask-provider.ts";
import type { Provider, Refreshed } from "./ask-provider.ts";
import { readPerson } from "./person.ts";
import type { Person } from "./person.ts";
import type { GuardedFetch } from "./port.ts";
import { createProviderMetadata } from "./provider-metadata.ts";
import { recheckFaultOf, refusalOf } from "./provider-faults.ts";

export interface RelyingPartyOptions {
  /** The provider's issuer identifier, compared as an exact string. */
  readonly issuer: string;
  readonly clientId: string;
  /** Undefined: a public client, which PKCE alone protects. */
  readonly clientSecret: string | undefined;
  /** Asked for besides `openid`, such as `profile`, `email`, `offline_access`. */
  readonly scopes: readonly string[];
  /** The claim that lists groups; undefined: nobody has any. */
  readonly groupsClaim: string | undefined;
  /** The claim that names the person; `email` counts only where the provider says that it verified it. */
  readonly subjectFrom: string;
  readonly fetch: GuardedFetch;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Cryptographically random bytes. */
  readonly random: (bytes: number) => Uint8Array;
  readonly limits: Pick<
    Limits,
    "clockLeewaySeconds" | "identityCharsMax" | "groupsPerPersonMax" | "issuerKeysAgeMsMax" | "issuerKeysRetryMsMin"
  >;
}

/** One sign-in: where the provider sends the browser back to, and the random text that it sends along. */
export interface SignInAttempt {
  readonly redirectUri: string;
  /** At least 128 bits of randomness, and bound to the browser by whoever made it: nothing here knows browsers. */
  readonly state: string;
}

export interface Begun {
  readonly url: string;
  /** What `finish` needs again: nonce and PKCE verifier. It is a secret of the browser that it was made for. */
  readonly kept: string;
}

/** Who signed in, and what a later recheck needs. */
export interface SignedIn extends Person {
  readonly idToken: string;
  /** Absent where the provider gave none. */
  readonly refreshToken: string | undefined;
}

/**
 * `gone`: the provider no longer honours the sign-in. `unreadable`: it answered, and the answer does not hold.
 * `unavailable`: it could not be asked, or cannot say just now; the refresh token is the one it gave before that.
 */
export type Rechecked =
  | {
      readonly kind: "present";
      readonly person: Person;
      readonly refreshToken: string;
      /** Undefined where the provider gave none with the refresh (OpenID Connect Core §12.2). */
      readonly idToken: string | undefined;
    }
  | { readonly kind: "gone" | "unreadable" }
  | { readonly kind: "unavailable"; readonly refreshToken: string | undefined };

export interface RelyingParty {
  /** Refuses SIGNIN_PROVIDER_UNAVAILABLE. */
  begin(attempt: SignInAttempt & { readonly loginHint?: string | undefined }): Promise<Result<Begun>>;
  /**
   * Refuses SIGNIN_DECLINED (the provider answered with an error), SIGNIN_ANSWER_INVALID (its answer does not hold)
   * and SIGNIN_PROVIDER_UNAVAILABLE.
   */
  finish(
    attempt: SignInAttempt & { readonly kept: string; readonly parameters: URLSearchParams },
  ): Promise<Result<SignedIn>>;
  recheck(refreshToken: string): Promise<Rechecked>;
}

const secretBytes = 32;

/**
 * An OpenID Connect relying party for one provider: authorization code with PKCE S256 and nonce (OpenID Connect Core
 * §3.1, RFC 9700 §2.1). The provider's metadata, its `iss` (RFC 9207, required where advertised), state, ID token
 * signature, audience, nonce and times are checked; groups that the ID token lacks are asked of UserInfo.
 *
 * It keeps nothing of a person. Not checked: that `finish` runs in the browser that began, and that an attempt is
 * used once; its caller keeps `state` and `kept` so that both hold.
 */
export function createRelyingParty(options: RelyingPartyOptions): RelyingParty {
  const provider: Provider = { ...options, metadata: createProviderMetadata(options), keys: {} };
  return {
    begin: async (attempt) => {
      const metadata = await provider.metadata();
      return metadata.ok ? ok(await begin(options, metadata.value, attempt)) : metadata;
    },
    finish: async ({ redirectUri, state, kept, parameters }) => {
      const secrets = readKept(kept);
      if (secrets === undefined) return refuse("SIGNIN_ANSWER_INVALID", { reason: "nothing was kept for it" });
      const metadata = await provider.metadata();
      if (!metadata.ok) return metadata;
      try {
        const answer = { parameters, state, redirectUri, ...secrets };
        const { claims, idToken, refreshToken } = await exchangeCode(provider, metadata.value, answer);
        const person = readPerson(claims, options);
        return person.ok ? ok({ ...person.value, idToken, refreshToken }) : person;
      } catch (fault) {
        return refusalOf(fault);
      }
    },
    recheck: async (refreshToken) => recheck(options, provider, refreshToken),
  };
}

async function begin(
  options: RelyingPartyOptions,
  metadata: AuthorizationServer,
  attempt: SignInAttempt & { readonly loginHint?: string | undefined },
): Promise<Begun> {
  const [nonce, verifier] = [secretFrom(options.random), secretFrom(options.random)];
  const url = new URL(metadata.authorization_endpoint ?? "");
  const parameters: Readonly<Record<string, string | undefined>> = {
    response_type: "code",
    client_id: options.clientId,
    redirect_uri: attempt.redirectUri,
    scope: [...new Set(["openid", ...options.scopes])].join(" "),
    state: attempt.state,
    nonce,
    code_challenge: await calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
    login_hint: attempt.loginHint,
  };
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) url.searchParams.set(name, value);
  return { url: url.href, kept: `${nonce}.${verifier}` };
}

/** What one recheck fetches at most, each within the time of a guarded fetch: metadata, tokens, keys, UserInfo. */
export const recheckFetchesMax = 4;

async function recheck(options: RelyingPartyOptions, provider: Provider, refreshToken: string): Promise<Rechecked> {
  const metadata = await provider.metadata();
  if (!metadata.ok) return { kind: "unavailable", refreshToken: undefined };
  let refreshed: Refreshed | undefined;
  try {
    refreshed = await refreshTokens(provider, metadata.value, refreshToken);
    const answer = await refreshed.read();
    const person = readPerson(answer.claims, options);
    if (!person.ok) return { kind: "unreadable" };
    const idToken = answer.idToken === "" ? undefined : answer.idToken;
    return { kind: "present", person: person.value, refreshToken: answer.refreshToken ?? refreshToken, idToken };
  } catch (fault) {
    const kind = recheckFaultOf(fault, refreshed !== undefined);
    return kind === "unavailable" ? { kind, refreshToken: refreshed?.refreshToken } : { kind };
  }
}

function secretFrom(random: RelyingPartyOptions["random"]): string {
  return Buffer.from(random(secretBytes)).toString("base64url");
}

function readKept(kept: string): { readonly nonce: string; readonly verifier: string } | undefined {
  const [nonce = "", verifier = "", ...rest] = kept.split(".");
  return nonce === "" || verifier === "" || rest.length > 0 ? undefined : { nonce, verifier };
}
