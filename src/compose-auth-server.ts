import { randomBytes, type JsonWebKey } from "node:crypto";
import { deniedSubjectKey } from "./auth/deny-list.ts";
import type { AssertionIssuer } from "./authserver/assertion-issuer.ts";
import type { AuthServer, RegisteredClient } from "./authserver/create.ts";
import type { Broker, GrantType } from "./authserver/options.ts";
import { openProvider } from "./compose-provider.ts";
import { openSealer } from "./compose-sealer.ts";
import { defaults } from "./config/defaults.ts";
import type { BuiltInClient, BuiltInConfig, BuiltInGrant } from "./config/types-built-in.ts";
import type { Addresses, Config } from "./config/types.ts";
import { limits } from "./model/limits.ts";
import type { Subject } from "./model/principal.ts";
import { StartRefused } from "./model/start-refused.ts";
import type { Store } from "./store/store.ts";
import type { Log } from "./telemetry/log.ts";
import { createGuardedFetch, type GuardedFetch } from "./upstream/egress.ts";

/** Joins the built-in authorization server to its store, to its provider and to the ways out. */
export async function openAuthServer(
  { config, store, log }: { readonly config: Config; readonly store: Store; readonly log: Log },
  builtIn: BuiltInConfig,
): Promise<AuthServer> {
  // Loaded only where it is used: the library is large and warns on standard error about Node 20.
  const { createAuthServer } = await import("./authserver/create.ts");
  return createAuthServer({
    publicUrl: config.publicUrl,
    resources: resourcesOf(config, builtIn),
    users: builtIn.users.map((user) => ({ ...user, password: user.password.reveal() })),
    broker: brokerOf(config, builtIn),
    isDenied: async (subject) => (await store.get(deniedSubjectKey(ownSubject(config, subject)))) !== undefined,
    scopesByGroup: builtIn.scopesByGroup === undefined ? undefined : new Map(Object.entries(builtIn.scopesByGroup)),
    clients: builtIn.clients.map(registeredClient),
    assertionIssuers: assertionIssuersOf(config, builtIn),
    fetchPublic: documentFetch(),
    redirectSchemes: builtIn.redirectSchemes,
    records: store,
    secrets: { cookieKeys: cookieKeys(builtIn), ...signingKeys(builtIn) },
    accessTokenSeconds: builtIn.accessTokenSeconds,
    refreshTokenSeconds: builtIn.refreshTokenSeconds,
    log: (event, facts) => {
      log.info("authserver.noted", { what: event, ...facts });
    },
  });
}

/** The built-in server knows one tenant, as its tokens do. */
function ownSubject({ publicUrl: issuer }: Config, subject: string): Subject {
  return { tenant: "default", issuer, subject };
}

function resourcesOf(
  { servers, publicUrl }: Config,
  { alias }: BuiltInConfig,
): {
  readonly uri: string;
  readonly scopes: readonly string[];
  readonly minimalScopes: readonly string[];
}[] {
  return Object.entries(servers)
    .filter(([, { issuer }]) => issuer === alias)
    .map(([name, { scopes }]) => ({
      uri: `${publicUrl}/${name}/mcp`,
      scopes: scopes.supported,
      minimalScopes: scopes.minimal,
    }));
}

function brokerOf(config: Config, { provider }: BuiltInConfig): Broker | undefined {
  if (provider === undefined) return undefined;
  return {
    issuer: provider.issuer,
    provider: openProvider(provider, config, issuerFetch(config, provider.addresses)),
    sealer: openSealer("provider sign-in", config),
    regrantSeconds: provider.regrantSeconds,
  };
}

function assertionIssuersOf(config: Config, { assertionIssuers }: BuiltInConfig): readonly AssertionIssuer[] {
  return assertionIssuers.map(({ addresses, ...issuer }) => ({
    ...issuer,
    algorithms: defaults.algorithms,
    groupsMax: config.limits.groupsPerPersonMax,
    fetch: issuerFetch(config, addresses),
  }));
}

const grantTypes: Readonly<Record<BuiltInGrant, readonly GrantType[]>> = {
  authorizationCode: ["authorization_code", "refresh_token"],
  clientCredentials: ["client_credentials"],
  identityAssertion: ["urn:ietf:params:oauth:grant-type:jwt-bearer"],
};

function registeredClient({ clientSecret, jwks, grants, ...client }: BuiltInClient): RegisteredClient {
  return {
    ...client,
    clientSecret: clientSecret?.reveal(),
    jwks: jwks === undefined ? undefined : readKeySet(jwks.reveal(), "the jwks of a client"),
    grantTypes: grants.flatMap((grant) => grantTypes[grant]),
  };
}

function cookieKeys({ cookieSecret, cookieSecretPrevious }: BuiltInConfig): readonly string[] {
  const current = cookieSecret?.reveal() ?? randomBytes(32).toString("hex");
  return [current, ...cookieSecretPrevious.map((secret) => secret.reveal())];
}

function signingKeys({ signingKeys: keys }: BuiltInConfig): { jwks?: { keys: JsonWebKey[] } } {
  return keys === undefined ? {} : { jwks: readKeySet(keys.reveal(), "signingKeys") };
}

/** Documents of clients, whose URLs strangers choose: public addresses alone, whatever else is allowed. */
function documentFetch(): GuardedFetch {
  const { oauthClientDocumentTimeoutMs: timeoutMs, oauthClientDocumentBytesMax: bytesMax } = limits;
  return createGuardedFetch({ allow: "public", timeoutMs, bytesMax });
}

export function issuerFetch({ limits: configured }: Config, allow: Addresses): GuardedFetch {
  const { issuerFetchTimeoutMs: timeoutMs, issuerMetadataBytesMax: bytesMax } = configured;
  return createGuardedFetch({ allow, timeoutMs, bytesMax });
}

/** The configured keys (RFC 7517 §5). Whether each is a usable key, the authorization server says when it starts. */
function readKeySet(text: string, what: string): { keys: JsonWebKey[] } {
  const parsed: unknown = JSON.parse(text);
  const keys: unknown = typeof parsed === "object" && parsed !== null && "keys" in parsed ? parsed.keys : undefined;
  if (!Array.isArray(keys)) throw new StartRefused([`auth.builtIn: found no \`keys\` array in ${what}`]);
  return { keys: keys.filter(isKey) };
}

function isKey(value: unknown): value is JsonWebKey {
  return typeof value === "object" && value !== null && "kty" in value;
}
