import { principalKey } from "../model/principal.ts";
import type { Principal } from "../model/principal.ts";
import { StoreUnavailable } from "../model/records.ts";
import { refuse } from "../model/refusal.ts";
import { ok } from "../model/result.ts";
import type { Result } from "../model/result.ts";
import { headlessDigest, headlessForm, headlessId, headlessKey, readHeadless } from "./headless-token.ts";
import type { HeadlessToken } from "./headless-token.ts";
import type { HeadlessReads } from "./port.ts";

/** Whose headless tokens are. The issuer is no URL, so no configured one can be mistaken for it. */
export const headlessIssuer = "headless";

export interface HeadlessOptions {
  readonly records: HeadlessReads;
  readonly alias: string;
  readonly tenant: string;
}

/**
 * Verifies a token that `sallyport token create` made, by its record, which is read every time: revoking one holds
 * from the next request on. The principal is a service, with the token's id as its client, so that evidence and
 * sessions tell the tokens of one service apart, and with the items that the token is bound to.
 *
 * Refuses AUTH_TOKEN_MALFORMED, AUTH_TOKEN_INACTIVE, AUTH_AUDIENCE_MISMATCH, AUTH_TOKEN_EXPIRED and
 * STORE_UNAVAILABLE. Does not read the deny list, and does not enforce the items: policy does.
 */
export async function verifyHeadless(
  token: string,
  of: HeadlessOptions,
  request: { readonly resource: string; readonly now: number },
): Promise<Result<Principal>> {
  if (!headlessForm.test(token)) return refuse("AUTH_TOKEN_MALFORMED", { reason: "no headless token" });
  const digest = headlessDigest(token);
  try {
    const text = await of.records.get(headlessKey(of.tenant, digest));
    return judge(text === undefined ? undefined : readHeadless(text), digest, { ...of, ...request });
  } catch (cause) {
    if (cause instanceof StoreUnavailable) return refuse("STORE_UNAVAILABLE", { needed: "headless tokens" }, { cause });
    throw cause;
  }
}

function judge(
  found: HeadlessToken | undefined,
  digest: string,
  of: HeadlessOptions & { readonly resource: string; readonly now: number },
): Result<Principal> {
  if (found === undefined) return refuse("AUTH_TOKEN_INACTIVE", { issuer: of.alias });
  if (found.resource !== of.resource) return refuse("AUTH_AUDIENCE_MISMATCH", { expected: of.resource, audiences: 1 });
  if (of.now >= found.expiresAt)
    return refuse("AUTH_TOKEN_EXPIRED", { exp: found.expiresAt / 1000, now: of.now / 1000 });
  const identity = {
    tenant: of.tenant,
    issuer: headlessIssuer,
    kind: "service",
    subject: found.subject,
    clientId: headlessId(digest),
  } as const;
  const { items, scopes } = found;
  return ok({
    ...identity,
    issuerAlias: of.alias,
    groups: [],
    scopes,
    claims: {},
    expiresAt: Math.floor(found.expiresAt / 1000),
    key: principalKey(identity),
    boundTo: items,
  });
}
