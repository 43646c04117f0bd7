import { defaults } from "./defaults.ts";
import type { Place } from "./fault.ts";
import { mapByName } from "./map-by-name.ts";
import type { RawClient, RawCredential, RawExchange, RawTarget, RawUserGrant } from "./raw-credentials.ts";
import type { SecretReader } from "./secret-reader.ts";
import type { ClientConfig, CredentialConfig, TargetConfig } from "./types-credentials.ts";
import type { Addresses } from "./types.ts";

/** What a credential takes over from its upstream where it says nothing itself. */
export interface CredentialOf {
  readonly name: string;
  readonly url: string;
  readonly addresses: Addresses;
}

export function fillCredential(
  raw: RawCredential,
  upstream: CredentialOf,
  at: { readonly place: Place; readonly secrets: SecretReader },
): CredentialConfig {
  switch (raw.type) {
    case "none":
      return { type: "none" };
    case "static":
      return fillStatic(raw, at);
    case "clientCredentials":
      return { type: "clientCredentials", ...fillClient(raw, upstream, at), ...fillTarget(raw) };
    case "assertion":
      return fillAssertion(raw, upstream);
    case "tokenExchange":
      return fillExchange(raw, upstream, at);
    case "identityAssertion": {
      const { scopes = [], resource = upstream.url } = raw;
      return { type: "identityAssertion", ...fillClient(raw, upstream, at), scopes, resource };
    }
    case "user":
      return fillUserGrant(raw, upstream, at);
  }
}

function fillStatic(
  { headers = {}, basic }: Extract<RawCredential, { type: "static" }>,
  { place, secrets }: { readonly place: Place; readonly secrets: SecretReader },
): CredentialConfig {
  return {
    type: "static",
    headers: mapByName(headers, (reference, name) => secrets.read([...place, "headers", name], reference)),
    basic:
      basic === undefined
        ? undefined
        : { username: basic.username, password: secrets.read([...place, "basic", "password"], basic.password) },
  };
}

function fillAssertion(
  {
    audience,
    subject = defaults.assertionSubject,
    seconds = defaults.assertionSeconds,
  }: Extract<RawCredential, { type: "assertion" }>,
  { url }: CredentialOf,
): CredentialConfig {
  return { type: "assertion", audience: audience ?? url, subject, seconds };
}

function fillExchange(
  raw: RawExchange,
  upstream: CredentialOf,
  at: { readonly place: Place; readonly secrets: SecretReader },
): CredentialConfig {
  const {
    subjectTokenType = defaults.subjectTokenType,
    actor = defaults.actor,
    boundTokens = defaults.boundTokens,
  } = raw;
  const client = { ...fillClient(raw, upstream, at), ...fillTarget(raw) };
  return { type: "tokenExchange", ...client, subjectTokenType, actor, boundTokens };
}

function fillUserGrant(
  raw: RawUserGrant,
  { name }: CredentialOf,
  { place, secrets }: { readonly place: Place; readonly secrets: SecretReader },
): CredentialConfig {
  return {
    type: "user",
    title: raw.title ?? name,
    issuer: raw.issuer,
    clientId: raw.clientId,
    clientSecret: secrets.readOptional([...place, "clientSecret"], raw.clientSecret),
    scopes: raw.scopes,
    sendResource: raw.sendResource ?? defaults.sendResource,
    assumePkce: raw.assumePkce ?? defaults.assumePkce,
    profile: raw.profile ?? defaults.grantProfile,
  };
}

function fillClient(
  raw: RawClient,
  { addresses }: CredentialOf,
  { place, secrets }: { readonly place: Place; readonly secrets: SecretReader },
): ClientConfig {
  return {
    issuer: raw.issuer,
    clientId: raw.clientId,
    clientSecret: secrets.readOptional([...place, "clientSecret"], raw.clientSecret),
    method: raw.method ?? defaults.clientAuthentication,
    privateKey: secrets.readOptional([...place, "privateKey"], raw.privateKey),
    keyId: raw.keyId,
    addresses: raw.addresses ?? addresses,
  };
}

function fillTarget({ scopes = [], resource, audience }: RawTarget): TargetConfig {
  return { scopes, resource, audience };
}
