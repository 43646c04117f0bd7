import { randomBytes, type JsonWebKey } from "node:crypto";
import { anonymousPrincipal } from "./auth/anonymous.ts";
import { createAuthenticator, type Authenticator } from "./auth/authenticate.ts";
import type { GuardedFetch } from "./auth/port.ts";
import type { TrustedIssuer } from "./auth/trusted-issuer.ts";
import type { AuthServer } from "./authserver/create.ts";
import type { BuiltInConfig, IssuerConfig } from "./config/types-auth.ts";
import type { Addresses, Config } from "./config/types.ts";
import type { SignInPages } from "./edge/public-server.ts";
import type { Principal } from "./model/principal.ts";
import { StartRefused } from "./model/start-refused.ts";
import { ok } from "./model/result.ts";
import type { Store } from "./store/store.ts";
import type { Log } from "./telemetry/log.ts";
import { createGuardedFetch } from "./upstream/egress.ts";

/** Who is let in: the verifier of tokens, and the authorization server where one is built in. */
export interface SignIn {
  readonly authenticate: Authenticator["authenticate"];
  readonly pages: SignInPages | undefined;
  /** The issuer identifier behind a configured alias; the empty string where nobody signs in. */
  issuerOf(alias: string | undefined): string;
  /** Who is told of everybody that is turned away because they are on the deny list; one listener. */
  whenSubjectDenied(listener: (principal: Principal) => void): void;
}

/** Joins issuers, keys and the built-in authorization server to the one verifier. */
export async function createSignIn(of: { config: Config; store: Store; log: Log }): Promise<SignIn> {
  const { auth } = of.config;
  if (auth.kind === "none") {
    const everybody = ok(anonymousPrincipal);
    return { authenticate: () => everybody, pages: undefined, issuerOf: () => "", whenSubjectDenied: () => undefined };
  }
  const pages = auth.builtIn === undefined ? undefined : await openAuthServer(of, auth.builtIn);
  const external = auth.issuers.map((issuer) => externalIssuer(of.config, issuer));
  const issuers =
    pages === undefined || auth.builtIn === undefined ? external : [...external, ownIssuer(auth.builtIn, pages)];
  let told: (principal: Principal) => void = () => undefined;
  const authenticator = createAuthenticator({
    issuers,
    fetch: fetchFrom(of.config, "public"),
    denyList: of.store,
    limits: of.config.limits,
    onSubjectDenied: (principal) => {
      told(principal);
    },
  });
  return {
    authenticate: (request) => authenticator.authenticate(request),
    pages,
    issuerOf: (alias) => issuers.find((issuer) => issuer.alias === alias)?.issuer ?? "",
    whenSubjectDenied: (listener) => {
      told = listener;
    },
  };
}

function externalIssuer(config: Config, issuer: IssuerConfig): TrustedIssuer {
  const { tenant, tenantClaim, serviceWhen, jwksUri } = issuer;
  const audience = new Map(
    Object.entries(issuer.audience).map(([server, value]) => [`${config.publicUrl}/${server}/mcp`, value]),
  );
  return {
    alias: issuer.alias,
    issuer: issuer.issuer,
    issuerAliases: issuer.issuerAliases,
    ...(tenantClaim === undefined ? { tenant } : { tenantClaim }),
    audience: Object.fromEntries<string>(audience),
    groupsClaim: issuer.groupsClaim,
    scopeClaim: issuer.scopeClaim,
    serviceWhen: serviceWhen === undefined ? undefined : { claim: serviceWhen.claim, values: [serviceWhen.equals] },
    claims: issuer.claims,
    algorithms: issuer.algorithms,
    keys: jwksUri === undefined ? { kind: "discovery" } : { kind: "jwksUri", uri: jwksUri },
    fetch: fetchFrom(config, issuer.addresses),
  };
}

function ownIssuer(builtIn: BuiltInConfig, pages: AuthServer): TrustedIssuer {
  return {
    alias: builtIn.alias,
    issuer: pages.issuer,
    groupsClaim: "groups",
    keys: { kind: "local", keys: () => pages.publicKeys() },
  };
}

function fetchFrom(config: Config, allow: Addresses): GuardedFetch {
  const { issuerFetchTimeoutMs: timeoutMs, issuerMetadataBytesMax: bytesMax } = config.limits;
  return createGuardedFetch({ allow, timeoutMs, bytesMax });
}

async function openAuthServer(
  of: { config: Config; store: Store; log: Log },
  builtIn: BuiltInConfig,
): Promise<AuthServer> {
  // Loaded only where it is used: the library is large and warns on standard error about Node 20.
  const { createAuthServer } = await import("./authserver/create.ts");
  const { config } = of;
  const served = Object.entries(config.servers).filter(([, { issuer }]) => issuer === builtIn.alias);
  const resources = served.map(([name, { scopes }]) => ({
    uri: `${config.publicUrl}/${name}/mcp`,
    scopes: scopes.supported,
    minimalScopes: scopes.minimal,
  }));
  const jwks = builtIn.signingKeys === undefined ? {} : { jwks: readKeySet(builtIn.signingKeys.reveal()) };
  return createAuthServer({
    publicUrl: config.publicUrl,
    resources,
    users: builtIn.users.map((user) => ({ ...user, password: user.password.reveal() })),
    clients: builtIn.clients.map((client) => ({
      clientId: client.clientId,
      clientSecret: client.clientSecret.reveal(),
      grantTypes: ["client_credentials"],
      scopes: client.scopes,
    })),
    redirectSchemes: builtIn.redirectSchemes,
    records: of.store,
    secrets: { cookieKeys: [builtIn.cookieSecret?.reveal() ?? randomBytes(32).toString("hex")], ...jwks },
    accessTokenSeconds: builtIn.accessTokenSeconds,
    refreshTokenSeconds: builtIn.refreshTokenSeconds,
    log: (event, facts) => {
      of.log.info("authserver.noted", { what: event, ...facts });
    },
  });
}

/** The configured private keys (RFC 7517 §5). Whether each is a usable key, the authorization server says when it starts. */
function readKeySet(text: string): { keys: JsonWebKey[] } {
  const parsed: unknown = JSON.parse(text);
  const keys: unknown = typeof parsed === "object" && parsed !== null && "keys" in parsed ? parsed.keys : undefined;
  if (!Array.isArray(keys))
    throw new StartRefused(["auth.builtIn.signingKeys: found no `keys` array, expected a JWK set"]);
  return { keys: keys.filter(isKey) };
}

function isKey(value: unknown): value is JsonWebKey {
  return typeof value === "object" && value !== null && "kty" in value;
}
