import { randomUUID } from "node:crypto";
import type { JsonObject } from "../../model/json.ts";
import { ok } from "../../model/result.ts";
import type { Result } from "../../model/result.ts";
import type { AssertionOptions } from "../options.ts";
import type { OnAccountOf } from "../port.ts";
import type { AssertionSigner } from "./assertion-keys.ts";
import type { Credential } from "./credential.ts";
import { createHeldTokens } from "./held-tokens.ts";
import type { Held, HeldTokensLimits } from "./held-tokens.ts";
import { digestOf } from "./static-headers.ts";

export interface AssertionContext {
  readonly signer: AssertionSigner;
  readonly now: () => number;
  readonly limits: HeldTokensLimits;
}

/**
 * A short-lived JWT, signed by the gateway, that tells an upstream who calls (RFC 9068: `typ` is `at+jwt`, so that
 * whatever reads access tokens reads it). It is made per principal, kept until half its life is over, and made
 * anew after a 401. A stream goes on when it ends: it was judged as the stream was opened, and ends with the client's.
 */
export function assertion(options: AssertionOptions, { signer, now, limits }: AssertionContext): Credential {
  const tokens = createHeldTokens({ now, limits });
  const ask = (account: OnAccountOf) => async (): Promise<Result<Held>> => {
    const iat = Math.floor(now() / 1_000);
    const claims = {
      ...claimsOf(account, signer.issuer, options.subject),
      aud: options.audience,
      iat,
      exp: iat + options.lifeSeconds,
    };
    const token = await signer.sign("at+jwt", { iss: signer.issuer, ...claims, jti: randomUUID() });
    const endsAt = (iat + options.lifeSeconds) * 1_000;
    const headers = Object.freeze(["authorization", `Bearer ${token}`]);
    return ok({ headers, renewAt: endsAt - options.lifeSeconds * 500, endsAt });
  };
  return {
    generation: ({ tenant, principalKey }) =>
      digestOf(["assertion", signer.issuer, options.audience, tenant, principalKey]),
    headers(account) {
      const key = keyOf(account);
      const fresh = tokens.fresh(key);
      return fresh === undefined ? tokens.obtain(key, ask(account)) : ok(fresh);
    },
    renew: (account, used) => tokens.renew(keyOf(account), used, ask(account)),
  };
}

/** All that the claims are made of. */
function keyOf({ tenant, principalKey, caller }: OnAccountOf): string {
  return JSON.stringify([tenant, principalKey, ...(caller?.principal.groups ?? [])]);
}

/**
 * `sub` is the caller's subject as its own issuer names it, or with the issuer's alias before it, and `sub_id` names
 * issuer and subject (RFC 9493 §3.2.3), since two issuers may have the same subject. `act` is the client that acts for
 * the caller, by the issuer that knows it (RFC 8693 §4.1). On its own account the gateway is the subject.
 */
function claimsOf({ tenant, caller }: OnAccountOf, gateway: string, named: AssertionOptions["subject"]): JsonObject {
  if (caller === undefined) {
    return { sub: gateway, sub_id: subjectId(gateway, gateway), client_id: gateway, tenant };
  }
  const { issuer, issuerAlias, subject, clientId, groups } = caller.principal;
  const client = clientId === "" ? {} : { client_id: clientId, act: { iss: issuer, sub: clientId } };
  const sub = named === "plain" ? subject : `${issuerAlias}:${subject}`;
  return { sub, sub_id: subjectId(issuer, subject), ...client, tenant, groups: [...groups] };
}

function subjectId(iss: string, sub: string): JsonObject {
  return { format: "iss_sub", iss, sub };
}
