import { answerJson } from "./compose-json-page.ts";
import { openSealer } from "./compose-sealer.ts";
import type { SignIn } from "./compose-sign-in.ts";
import type { ClientConfig, CredentialConfig } from "./config/types-credentials.ts";
import type { Config, UpstreamConfig, UpstreamTlsConfig } from "./config/types.ts";
import type { OwnPages } from "./edge/public-server.ts";
import type { Store } from "./store/store.ts";
import type { Log } from "./telemetry/log.ts";
import { createAssertionKeys, type AssertionKeys } from "./upstream/credentials/assertion-keys.ts";
import { chooseCredential } from "./upstream/credentials/choose-credential.ts";
import type { Credential } from "./upstream/credentials/credential.ts";
import type { IdentityTokens } from "./upstream/credentials/identity-assertion.ts";
import { userGrantCredential } from "./upstream/grants/user-grant-credential.ts";
import type { Grants } from "./upstream/grants/user-grants.ts";
import type { ClientOptions, CredentialOptions, UpstreamOptions } from "./upstream/options.ts";

/** What the gateway shows its upstreams, by their names. Calls and files of one upstream share it. */
export interface OpenCredentials {
  readonly byUpstream: ReadonlyMap<string, Credential>;
  /** Where the keys of assertions are published; undefined where nothing is signed. */
  readonly pages: OwnPages | undefined;
}

export function openCredentials(of: {
  readonly config: Config;
  readonly store: Store;
  readonly log: Log;
  /** Present where an upstream is reached by grants of users. */
  readonly grants: Grants | undefined;
  readonly signIn: Pick<SignIn, "pages">;
}): OpenCredentials {
  const { config, grants } = of;
  const keys = signsAssertions(config) ? openAssertionKeys(of) : undefined;
  const entries = Object.entries(config.upstreams).map(([name, upstream]): [string, Credential] => [
    name,
    chooseCredential(credentialOptions(upstream.credential, { name, config, grants }), {
      now: Date.now,
      limits: config.limits,
      addresses: upstream.addresses,
      ca: upstream.tls.ca?.reveal(),
      signer: keys,
      identities: identitiesOf(of),
    }),
  ]);
  return { byUpstream: new Map(entries), pages: keys === undefined ? undefined : keyPages(keys) };
}

/** The upstreams as their room takes them. */
export function upstreamOptions(config: Config, { byUpstream }: OpenCredentials): Record<string, UpstreamOptions> {
  return Object.fromEntries(
    Object.entries(config.upstreams).map(([name, upstream]) => [name, optionsOf(upstream, byUpstream.get(name))]),
  );
}

function optionsOf(upstream: UpstreamConfig, credential: Credential | undefined): UpstreamOptions {
  const { url, era, addresses, connectionsMax, queueMax, timeouts, breaker, tls } = upstream;
  return {
    ...{ url, era, addresses, connectionsMax, queueMax, timeouts, breaker },
    tls: tlsOf(tls),
    credential: credential === undefined ? { type: "none" } : { type: "made", credential },
  };
}

function tlsOf({ ca, cert, key }: UpstreamTlsConfig): UpstreamOptions["tls"] {
  return { ca: ca?.reveal(), cert: cert?.reveal(), key: key?.reveal() };
}

function signsAssertions({ upstreams }: Config): boolean {
  return Object.values(upstreams).some(
    ({ credential }) =>
      credential.type === "assertion" || (credential.type === "tokenExchange" && credential.actor === "assertion"),
  );
}

function openAssertionKeys(of: { readonly config: Config; readonly store: Store; readonly log: Log }): AssertionKeys {
  const { config, store, log } = of;
  return createAssertionKeys({
    issuer: config.publicUrl,
    configured: config.keys.assertion.map((key) => key.reveal()),
    records: store,
    sealer: openSealer("assertion keys", config),
    now: Date.now,
    limits: config.limits,
    log: (event, facts) => {
      log[event === "assertion-keys-sealed" ? "error" : "info"]("upstream.noted", { what: event, ...facts });
    },
  });
}

function credentialOptions(
  credential: CredentialConfig,
  { name, config, grants }: { readonly name: string; readonly config: Config; readonly grants: Grants | undefined },
): CredentialOptions {
  switch (credential.type) {
    case "none":
      return credential;
    case "static":
      return { type: "static", headers: staticHeadersOf(credential) };
    case "clientCredentials":
      return { type: "clientCredentials", ...targetOf(credential), ...clientOf(credential) };
    case "assertion":
      return {
        type: "assertion",
        audience: credential.audience,
        subject: credential.subject,
        lifeSeconds: credential.seconds,
      };
    case "tokenExchange": {
      const { subjectTokenType, actor, boundTokens } = credential;
      const client = { ...targetOf(credential), ...clientOf(credential) };
      return { type: "tokenExchange", ...client, subjectTokenType, actor, boundTokens };
    }
    case "identityAssertion": {
      const { scopes, resource } = credential;
      const provider = providerOf(config);
      return { type: "identityAssertion", ...clientOf(credential), scopes, resource, provider };
    }
    case "user": {
      if (grants === undefined) throw new Error("an upstream needs grants of users, and none were opened");
      return { type: "made", credential: userGrantCredential(name, grants.tokens, config.limits) };
    }
  }
}

/** The gateway as the client at which people sign in: their ID tokens are made out to it. */
function providerOf({ auth }: Config): ClientOptions {
  const provider = auth.kind === "none" ? undefined : auth.builtIn?.provider;
  if (provider === undefined) throw new Error("an identity assertion needs a provider, and none is configured");
  const { issuer, clientId, clientSecret, addresses } = provider;
  const authentication = { method: "client_secret_basic", clientSecret: clientSecret?.reveal() ?? "" } as const;
  return { issuer, clientId, authentication, addresses };
}

/** People of the built-in server, which knows one tenant; nobody else signed in at its provider. */
function identitiesOf({
  config,
  signIn,
}: {
  readonly config: Config;
  readonly signIn: Pick<SignIn, "pages">;
}): IdentityTokens {
  return {
    idTokenOf: async ({ tenant, issuer, subject }) =>
      issuer === config.publicUrl && tenant === "default" ? signIn.pages?.idTokenOf(subject) : undefined,
  };
}

function staticHeadersOf({ headers, basic }: Extract<CredentialConfig, { type: "static" }>): Record<string, string> {
  const named = Object.entries(headers).map(([name, value]): [string, string] => [name, value.reveal()]);
  if (basic === undefined) return Object.fromEntries(named);
  const pair = Buffer.from(`${basic.username}:${basic.password.reveal()}`, "utf8").toString("base64");
  return { ...Object.fromEntries(named), authorization: `Basic ${pair}` };
}

function targetOf({
  scopes,
  resource,
  audience,
}: Extract<CredentialConfig, { type: "clientCredentials" | "tokenExchange" }>): {
  readonly scopes: readonly string[];
  readonly resource: string | undefined;
  readonly audience: string | undefined;
} {
  return { scopes, resource, audience };
}

function clientOf({
  issuer,
  clientId,
  clientSecret,
  method,
  privateKey,
  keyId,
  addresses,
}: ClientConfig): ClientOptions {
  const authentication: ClientOptions["authentication"] =
    privateKey === undefined
      ? { method, clientSecret: clientSecret?.reveal() ?? "" }
      : { method: "private_key_jwt", privateKey: privateKey.reveal(), keyId };
  return { issuer, clientId, authentication, addresses };
}

const keysPath = "/oauth/assertion-keys";

/** Upstreams and authorization servers read them here (RFC 7517 §8.5); nobody needs to sign in for that. */
function keyPages(keys: AssertionKeys): OwnPages {
  return {
    handles: (path) => path === keysPath,
    handle: (req, res) => answerJson({ req, res, type: "application/jwk-set+json" }, () => keys.publicKeys()),
  };
}
