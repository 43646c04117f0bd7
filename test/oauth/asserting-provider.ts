import { randomUUID } from "node:crypto";
import { exportJWK, generateKeyPair, importJWK, jwtVerify, SignJWT } from "jose";
import type { CryptoKey, JWK } from "jose";
import { errors } from "oidc-provider";
import type Provider from "oidc-provider";
import { startCompanyProvider } from "../connect/company-provider.ts";
import type { CompanyProvider } from "../connect/company-provider.ts";

/** The company's provider, which vouches for its people at other authorization servers. */
export interface AssertingProvider extends CompanyProvider {
  /** By authorization server, under which id the gateway is known there; at others nobody is vouched for. */
  readonly clientIds: Map<string, string>;
  /** Parameters of every token exchange, in order. */
  readonly exchanges: Readonly<Record<string, unknown>>[];
}

type ExchangeParameters = Readonly<Record<string, unknown>>;

const parameters = [
  "audience",
  "resource",
  "scope",
  "requested_token_type",
  "subject_token",
  "subject_token_type",
] as const;
const exchangeGrant = "urn:ietf:params:oauth:grant-type:token-exchange";
const idTokenType = "urn:ietf:params:oauth:token-type:id_token";
const assertionType = "urn:ietf:params:oauth:token-type:id-jag";
const assertionSeconds = 300;

/** A real OpenID provider with the token exchange of draft-ietf-oauth-identity-assertion-authz-grant §4.3 added to it. */
export async function startAssertingProvider(redirectUris: readonly string[]): Promise<AssertingProvider> {
  const pair = await generateKeyPair("RS256", { extractable: true });
  const key = { ...(await exportJWK(pair.privateKey)), kid: "company", alg: "RS256", use: "sig" };
  const [clientIds, exchanges] = [new Map<string, string>(), new Array<Record<string, unknown>>()];
  const by: Vouching = {
    clientIds,
    exchanges,
    key: pair.privateKey,
    publicKey: await exportJWK(pair.publicKey),
    groupsOf: (subject) => company.groups.get(subject),
  };
  const company: CompanyProvider = await startCompanyProvider(redirectUris, {
    keys: [key],
    grants: [exchangeGrant],
    ready: (provider) => {
      offerAssertions(provider, by);
    },
  });
  return Object.assign(company, { clientIds, exchanges });
}

interface Vouching {
  readonly clientIds: ReadonlyMap<string, string>;
  readonly exchanges: Record<string, unknown>[];
  readonly key: CryptoKey;
  readonly publicKey: JWK;
  /** Undefined for somebody who is not there. */
  readonly groupsOf: (subject: string) => readonly string[] | undefined;
}

function offerAssertions(provider: Provider, by: Vouching): void {
  provider.registerGrantType<ExchangeParameters>(
    exchangeGrant,
    async (ctx) => {
      const asked: Record<string, unknown> = { ...ctx.oidc.params };
      by.exchanges.push(asked);
      if (asked["subject_token_type"] !== idTokenType || asked["requested_token_type"] !== assertionType)
        throw new errors.InvalidRequest("only ID tokens are exchanged, for identity assertions");
      const audience = String(asked["audience"]);
      const clientId = by.clientIds.get(audience);
      if (clientId === undefined) throw new errors.InvalidTarget();
      const claims = await claimsOf(String(asked["subject_token"]), { provider, by, client: ctx.oidc.client.clientId });
      const { resource, scope } = asked;
      const about = { client_id: clientId, resource, ...(scope === undefined ? {} : { scope }) };
      ctx.body = {
        access_token: await signed({ ...claims, ...about }, { issuer: provider.issuer, audience, key: by.key }),
        issued_token_type: assertionType,
        token_type: "N_A",
        expires_in: assertionSeconds,
      };
    },
    [...parameters],
  );
}

/** Whom an ID token of the provider's own is about, as they are now. */
async function claimsOf(
  idToken: string,
  { provider, by, client }: { readonly provider: Provider; readonly by: Vouching; readonly client: string },
): Promise<Record<string, unknown>> {
  const checks = { issuer: provider.issuer, audience: client };
  const verified = await jwtVerify(idToken, await importJWK(by.publicKey, "RS256"), checks).catch(() => undefined);
  const subject = verified?.payload.sub ?? "";
  const groups = by.groupsOf(subject);
  if (groups === undefined) throw new errors.InvalidGrant("nobody who is here signed in with it");
  return { sub: subject, groups };
}

function signed(
  claims: Record<string, unknown>,
  { issuer, audience, key }: { readonly issuer: string; readonly audience: string; readonly key: CryptoKey },
): Promise<string> {
  const iat = Math.floor(Date.now() / 1_000);
  return new SignJWT({ iss: issuer, aud: audience, iat, exp: iat + assertionSeconds, jti: randomUUID(), ...claims })
    .setProtectedHeader({ alg: "RS256", kid: "company", typ: "oauth-id-jag+jwt" })
    .sign(key);
}
