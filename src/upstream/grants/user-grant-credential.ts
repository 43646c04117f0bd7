import { createHash } from "node:crypto";
import type { Principal } from "../../model/principal.ts";
import { ok, type Result } from "../../model/result.ts";
import type { CredentialHeaders } from "../credentials/credential.ts";
import { readChallenge } from "./challenge.ts";
import { connectionRequired } from "./faults.ts";
import type { Caller, GrantToken, GrantTokens } from "./grant-tokens.ts";

/** The part of an account that a user's grant depends on: who calls, undefined for the gateway itself. */
export interface CallerAccount {
  readonly caller: { readonly principal: Principal } | undefined;
}

/** A credential that differs by caller. */
export interface UserGrantCredential {
  /** Of the person, not of their tokens: an upstream session outlives a refresh, and never passes to another person. */
  generation(account: CallerAccount): string;
  headers(account: CallerAccount): Promise<Result<CredentialHeaders>>;
  renew(account: CallerAccount, used: CredentialHeaders): Promise<Result<CredentialHeaders>>;
  /** What a 403 of the upstream comes to; undefined when its challenge is not about scopes. */
  forbidden(account: CallerAccount, wwwAuthenticate: string | undefined): Promise<Result<never> | undefined>;
}

/** Shows an upstream the token that its authorization server gave for the very person who calls. */
export function userGrantCredential(
  upstream: string,
  tokens: GrantTokens,
  { grantScopesMax }: { readonly grantScopesMax: number },
): UserGrantCredential {
  return {
    generation: ({ caller }) => digestOf(upstream, caller?.principal),
    headers: async (account) => {
      const caller = callerOf(account);
      if (caller === undefined) return connectionRequired(upstream, "no-person");
      return headersOf(await tokens.tokenFor(upstream, caller));
    },
    renew: async (account, used) => {
      const caller = callerOf(account);
      if (caller === undefined) return connectionRequired(upstream, "no-person");
      return headersOf(await tokens.renewed(upstream, caller, (used[1] ?? "").replace(/^Bearer /, "")));
    },
    forbidden: async (account, wwwAuthenticate) => {
      const { error, scopes } = readChallenge(wwwAuthenticate, grantScopesMax);
      const caller = callerOf(account);
      if (error !== "insufficient_scope" || caller === undefined) return undefined;
      return tokens.lacking(upstream, caller, scopes ?? []);
    },
  };
}

function callerOf({ caller }: CallerAccount): Caller | undefined {
  if (caller === undefined) return undefined;
  const { tenant, issuer, subject, clientId } = caller.principal;
  return { person: { tenant, issuer, subject }, clientId };
}

function headersOf(token: Result<GrantToken>): Result<CredentialHeaders> {
  return token.ok ? ok(Object.freeze(["authorization", `Bearer ${token.value.accessToken}`])) : token;
}

function digestOf(upstream: string, principal: Principal | undefined): string {
  const parts = ["user", upstream, principal?.tenant ?? "", principal?.issuer ?? "", principal?.subject ?? ""];
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 32);
}
