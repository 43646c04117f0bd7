import { anonymousPrincipal } from "./auth/anonymous.ts";
import { createAuthenticator, type Authenticator } from "./auth/authenticate.ts";
import { createHeldScopes, type HeldScopes } from "./auth/held-scopes.ts";
import type { GuardedFetch } from "./auth/port.ts";
import type { ProofOptions } from "./auth/possession.ts";
import type { TrustedIssuer } from "./auth/trusted-issuer.ts";
import type { AuthServer } from "./authserver/create.ts";
import { openAuthServer } from "./compose-auth-server.ts";
import { openProofs } from "./compose-proofs.ts";
import type { IssuerConfig } from "./config/types-auth.ts";
import type { BuiltInConfig } from "./config/types-built-in.ts";
import { opaqueIssuerOf } from "./config/opaque-issuers.ts";
import type { Addresses, ByName, Config } from "./config/types.ts";
import type { Principal } from "./model/principal.ts";
import { ok } from "./model/result.ts";
import type { Store } from "./store/store.ts";
import type { Log } from "./telemetry/log.ts";
import { createGuardedFetch } from "./upstream/egress.ts";

/** Who is let in: the verifier of tokens, and the authorization server where one is built in. */
export interface SignIn {
  readonly authenticate: Authenticator["authenticate"];
  readonly pages: AuthServer | undefined;
  /** The issuer identifier behind a configured alias; the empty string where nobody signs in. */
  issuerOf(alias: string | undefined): string;
  /** Who is told of everybody that is turned away because they are on the deny list; one listener. */
  whenSubjectDenied(listener: (principal: Principal) => void): void;
  /** Absent: no token is taken with a DPoP proof. */
  readonly proofs: ProofOptions | undefined;
  /** How tokens of the issuer behind an alias are read. */
  trusted(alias: string): TrustedIssuer | undefined;
}

/** Joins issuers, keys and the built-in authorization server to the one verifier. */
export async function createSignIn(of: {
  config: Config;
  store: Store;
  log: Log;
  /** Every scope that a rule names. */
  policyScopes: () => readonly string[];
}): Promise<SignIn> {
  const { auth } = of.config;
  if (auth.kind === "none") {
    const everybody = ok(anonymousPrincipal);
    return {
      authenticate: () => everybody,
      pages: undefined,
      issuerOf: () => "",
      whenSubjectDenied: () => undefined,
      proofs: undefined,
      trusted: () => undefined,
    };
  }
  const pages = auth.builtIn === undefined ? undefined : await openAuthServer(of, auth.builtIn);
  const external = auth.issuers.map((issuer) => externalIssuer(of.config, issuer));
  const issuers =
    pages === undefined || auth.builtIn === undefined ? external : [...external, ownIssuer(auth.builtIn, pages)];
  const proofs = openProofs(of.config, of.store);
  let told: (principal: Principal) => void = () => undefined;
  const authenticator = createAuthenticator({
    issuers,
    opaqueIssuers: opaqueIssuers(of.config),
    heldScopes: heldScopesUnder(auth.scopeImplications, of),
    fetch: fetchFrom(of.config, "public"),
    headless: auth.headless === undefined ? undefined : { ...auth.headless, records: of.store },
    proofs,
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
    proofs,
    trusted: (alias) => issuers.find((issuer) => issuer.alias === alias),
  };
}

/** The same function as long as rules name the same scopes. */
function heldScopesUnder(
  implications: Readonly<Record<string, readonly string[]>>,
  of: { readonly config: Config; readonly policyScopes: () => readonly string[] },
): () => HeldScopes {
  const supported = Object.values(of.config.servers).flatMap(({ scopes }) => scopes.supported);
  let known: { readonly under: readonly string[]; readonly held: HeldScopes } | undefined;
  return () => {
    const under = of.policyScopes();
    if (known?.under !== under)
      known = { under, held: createHeldScopes({ implications, known: [...supported, ...under] }) };
    return known.held;
  };
}

/** What clients have to put before a scope of a server where its metadata sends them. */
export function advertisedScopePrefix({ auth, servers }: Config, server: string): string | undefined {
  if (auth.kind === "none") return undefined;
  return auth.issuers.find(({ alias }) => alias === servers[server]?.issuer)?.scopePrefix[server];
}

function externalIssuer(config: Config, issuer: IssuerConfig): TrustedIssuer {
  const { tenant, tenantClaim, serviceWhen, jwksUri, introspection } = issuer;
  return {
    alias: issuer.alias,
    profile: issuer.profile,
    issuer: issuer.issuer,
    issuerAliases: issuer.issuerAliases,
    ...(tenantClaim === undefined ? { tenant } : { tenantClaim }),
    audience: byResource(config, issuer.audience),
    scopePrefix: byResource(config, issuer.scopePrefix),
    tokenTypes: issuer.tokenTypes,
    subjectClaim: issuer.subjectClaim,
    groupsClaim: issuer.groupsClaim,
    scopeClaim: issuer.scopeClaim,
    serviceWhen: serviceWhen === undefined ? undefined : { claim: serviceWhen.claim, values: [serviceWhen.equals] },
    introspection:
      introspection === undefined ? undefined : { ...introspection, clientSecret: introspection.clientSecret.reveal() },
    dpop: issuer.dpop,
    claims: issuer.claims,
    algorithms: issuer.algorithms,
    keys: jwksUri === undefined ? { kind: "discovery" } : { kind: "jwksUri", uri: jwksUri },
    fetch: fetchFrom(config, issuer.addresses, issuer.tls?.ca.reveal()),
  };
}

function byResource(config: Config, byServer: ByName<string>): Readonly<Record<string, string>> {
  const entries = Object.entries(byServer).map(([server, value]): [string, string] => [
    resourceOf(config, server),
    value,
  ]);
  return Object.fromEntries<string>(entries);
}

function resourceOf({ publicUrl }: Config, server: string): string {
  return `${publicUrl}/${server}/mcp`;
}

function opaqueIssuers(config: Config): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(config.servers).flatMap(([server, { issuer }]): [string, string][] => {
      const asked = opaqueIssuerOf(config.auth, issuer);
      return asked === undefined ? [] : [[resourceOf(config, server), asked]];
    }),
  );
}

function ownIssuer(builtIn: BuiltInConfig, pages: AuthServer): TrustedIssuer {
  return {
    alias: builtIn.alias,
    issuer: pages.issuer,
    groupsClaim: "groups",
    // It binds its tokens to nothing.
    dpop: "off",
    keys: { kind: "local", keys: () => pages.publicKeys() },
  };
}

function fetchFrom(config: Config, allow: Addresses, ca?: string): GuardedFetch {
  const { issuerFetchTimeoutMs: timeoutMs, issuerMetadataBytesMax: bytesMax } = config.limits;
  return createGuardedFetch({ allow, timeoutMs, bytesMax, ca });
}
