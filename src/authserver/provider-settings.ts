import { errors, interactionPolicy } from "oidc-provider";
import type Provider from "oidc-provider";
import type { ClientMetadata, Configuration, KoaContextWithOIDC } from "oidc-provider";
import { limits } from "../model/limits.ts";
import { accountOf, personIn } from "./account.ts";
import type { ClientDocuments } from "./client-documents.ts";
import { hasEnded } from "./ended-sign-ins.ts";
import { createGrantAdapter } from "./grant-adapter.ts";
import type { AuthServerOptions, RegisteredClient } from "./options.ts";
import { messagePage } from "../web/page.ts";
import { paths } from "./paths.ts";
import type { People, Person } from "./people.ts";
import { isNativeRedirect } from "./redirects.ts";
import { resourceServerInfo } from "./resource-server.ts";
import { findResource, scopesOffered } from "./resources.ts";
import type { SigningKeys } from "./signing-keys.ts";

export interface ProviderParts {
  readonly options: AuthServerOptions;
  readonly signing: SigningKeys;
  readonly people: People;
  readonly documents: ClientDocuments | undefined;
}

/** Signatures with which clients prove themselves: none is symmetric, so nobody else can make one. */
export const clientSigningAlgorithms = ["ES256", "RS256", "PS256", "EdDSA"] as const;

/**
 * The library's configuration: everything not offered is switched off by name, so that an update
 * which changes a default changes nothing here.
 */
export function providerSettings(parts: ProviderParts): Configuration {
  const { options, signing } = parts;
  const adapterContext = {
    records: options.records,
    now: options.now ?? Date.now,
    refreshGraceMs: limits.oauthRefreshGraceMs,
    documents: parts.documents,
  };
  return {
    adapter: (model) => createGrantAdapter(model, adapterContext),
    clients: options.clients.map(clientMetadata),
    clientAuthMethods: ["none", "client_secret_basic", "client_secret_post", "private_key_jwt"],
    clientDefaults: { id_token_signed_response_alg: signing.alg, grant_types: ["authorization_code", "refresh_token"] },
    enabledJWA: { idTokenSigningAlgValues: [signing.alg], clientAuthSigningAlgValues: clientSigningAlgorithms },
    jwks: { keys: signing.keys.map((key) => ({ ...key })) },
    cookies: cookieSettings(options),
    routes: routeSettings(),
    features: featureSettings(parts),
    // RFC 9700 §2.1.1: PKCE for every client; the library knows no other method than S256.
    pkce: { required: () => true },
    responseTypes: ["code"],
    scopes: [],
    allowOmittingSingleRegisteredRedirectUri: false,
    // These endpoints look at no cookie, so the origin of a script says nothing about who is behind it.
    clientBasedCORS: () => true,
    // Documents of clients, with the keys that they name, are read by `client-documents.ts`; nothing is left to dial for.
    fetch: () => Promise.reject(new Error("the library of the authorization server fetches nothing")),
    ...tokenSettings(options),
    ...interactionSettings(parts),
  };
}

function featureSettings(parts: ProviderParts): NonNullable<Configuration["features"]> {
  const off = { enabled: false } as const;
  return {
    clientCredentials: { enabled: true },
    registration: { enabled: true, initialAccessToken: false, issueRegistrationAccessToken: false },
    // RFC 7009 §2.1: a token is revoked for the client it was issued to.
    revocation: { enabled: true, allowedPolicy: (_ctx, client, token) => token.clientId === client.clientId },
    resourceIndicators: resourceSettings(parts),
    backchannelLogout: off,
    ciba: { enabled: false, deliveryModes: ["poll"] },
    claimsParameter: off,
    // Metadata documents are read here, by `client-documents.ts`.
    clientIdMetadataDocument: off,
    devInteractions: off,
    deviceFlow: off,
    dPoP: off,
    encryption: off,
    introspection: off,
    jwtIntrospection: off,
    jwtResponseModes: off,
    jwtUserinfo: off,
    mTLS: off,
    pushedAuthorizationRequests: off,
    registrationManagement: off,
    requestObjects: off,
    rpInitiatedLogout: off,
    rpMetadataChoices: off,
    userinfo: off,
    webMessageResponseMode: off,
  };
}

/** RFC 8707: each token is for one server, and its scopes are those this client and this person can have there. */
function resourceSettings({
  options,
  signing,
  people,
}: ProviderParts): NonNullable<NonNullable<Configuration["features"]>["resourceIndicators"]> {
  return {
    enabled: true,
    // Requests are prepared, so one without a resource is a client of several servers; and no grant holds two.
    defaultResource: () => {
      throw new errors.InvalidTarget();
    },
    useGrantedResource: () => true,
    getResourceServerInfo: async (ctx, indicator, client) => {
      const resource = findResource(options.resources, indicator);
      if (resource === undefined) throw new errors.InvalidTarget();
      const allowed = options.clients.find(({ clientId }) => clientId === client.clientId)?.scopes;
      const person = await personAsking(ctx, people);
      return resourceServerInfo(scopesOffered(resource, allowed, person?.scopes), resource, { options, signing });
    },
  };
}

/** At the authorize endpoint the library asks about servers before it has looked up who signed in. */
async function personAsking(ctx: KoaContextWithOIDC, people: People): Promise<Person | undefined> {
  const found = personIn(ctx);
  if (found !== undefined) return found;
  const signedIn = ctx.oidc.session?.accountId;
  return signedIn === undefined ? undefined : people.find(signedIn);
}

function tokenSettings(options: AuthServerOptions): Configuration {
  return {
    ttl: {
      AccessToken: options.accessTokenSeconds,
      ClientCredentials: options.accessTokenSeconds,
      AuthorizationCode: limits.oauthCodeSeconds,
      Grant: options.refreshTokenSeconds,
      RefreshToken: (ctx) => remainingLife(ctx) ?? options.refreshTokenSeconds,
      Session: limits.oauthSignInSeconds,
      Interaction: limits.oauthInteractionSeconds,
    },
    // `offline_access` is tolerated and decides nothing: who may refresh was said at registration.
    issueRefreshToken: (_ctx, client) => client.grantTypeAllowed("refresh_token"),
    rotateRefreshToken: true,
    expiresWithSession: () => false,
    extraTokenClaims: async (ctx, token) => {
      // Whom a token is for is looked up elsewhere; a service has nobody but itself, and can be on the deny list too.
      if (token.kind === "ClientCredentials" && (await options.isDenied?.(token.clientId ?? "")) === true)
        throw new errors.UnauthorizedClient("the client is not let in");
      const person = token.kind === "AccessToken" ? personIn(ctx) : undefined;
      return person === undefined ? undefined : { groups: [...person.groups] };
    },
  };
}

/** A rotated token ends when the one before it would have. */
function remainingLife(ctx: KoaContextWithOIDC): number | undefined {
  const rotated = ctx.oidc.entities.RotatedRefreshToken;
  return rotated === undefined ? undefined : Math.max(rotated.remainingTTL, 1);
}

function interactionSettings({ people, options }: ProviderParts): Configuration {
  const policy = interactionPolicy.base();
  const accountGone = new interactionPolicy.Check(
    "account_gone",
    "the account that signed in no longer exists",
    (ctx) => ctx.oidc.session?.accountId !== undefined && ctx.oidc.account === undefined,
  );
  policy.get("login")?.checks.add(accountGone);
  return {
    interactions: { policy, url: (_ctx, interaction) => `${paths.interaction}/${interaction.uid}` },
    // With a code or a refresh token somebody asks for tokens, and whoever vouches for the person is asked first.
    findAccount: async (ctx, subject, source) => {
      const since = source === undefined ? ctx.oidc.session?.loginTs : source.iat;
      const who = { tenant: "default", issuer: options.publicUrl, subject };
      const over = await hasEnded(options.records, who, since === undefined ? undefined : since * 1_000);
      const person = over ? undefined : await people[source === undefined ? "find" : "findAnew"](subject);
      if (person !== undefined) return accountOf(person);
      if (source !== undefined) await endGrant(ctx.oidc.provider, source.grantId);
      return undefined;
    },
    // A grant is for one sign-in: consent is never remembered, so no client rides on another's answer,
    // and a replayed token ends this grant alone.
    loadExistingGrant: (ctx) => {
      const grantId = ctx.oidc.result?.consent?.grantId;
      return grantId === undefined ? undefined : ctx.oidc.provider.Grant.find(grantId);
    },
    renderError: (ctx, out) => {
      const page = messagePage(
        "This request cannot be answered",
        "The application that sent you here asked for something that is not possible. It may have to be registered again.",
        [out.error, out.error_description].filter((text) => text !== undefined).join(": "),
      );
      ctx.set({ ...page.headers });
      ctx.body = page.markup;
    },
  };
}

/** Whoever is gone does not find the old sign-in again on coming back. */
async function endGrant(provider: Provider, grantId: string | undefined): Promise<void> {
  if (grantId === undefined) return;
  await provider.RefreshToken.revokeByGrantId(grantId);
  await (await provider.Grant.find(grantId))?.destroy();
}

function clientMetadata(client: RegisteredClient): ClientMetadata {
  const redirectUris = client.redirectUris ?? [];
  return {
    client_id: client.clientId,
    ...(client.name === undefined ? {} : { client_name: client.name }),
    ...clientProof(client),
    grant_types: [...client.grantTypes],
    response_types: client.grantTypes.includes("authorization_code") ? ["code"] : [],
    redirect_uris: [...redirectUris],
    application_type: redirectUris.some(isNativeRedirect) ? "native" : "web",
  };
}

function clientProof({ clientSecret, jwks }: RegisteredClient): Partial<ClientMetadata> {
  if (jwks !== undefined) {
    return { token_endpoint_auth_method: "private_key_jwt", jwks: { keys: jwks.keys.map((key) => ({ ...key })) } };
  }
  if (clientSecret === undefined) return { token_endpoint_auth_method: "none" };
  return { client_secret: clientSecret, token_endpoint_auth_method: "client_secret_basic" };
}

/** Host prefixes bind a cookie to this origin (RFC 6265bis §4.1.3); browsers refuse them without TLS. */
function cookieSettings(options: AuthServerOptions): NonNullable<Configuration["cookies"]> {
  const secure = options.publicUrl.startsWith("https:");
  const common = { httpOnly: true, sameSite: "lax", secure, signed: true } as const;
  return {
    keys: options.secrets.cookieKeys,
    names: {
      session: `${secure ? "__Host-" : ""}sallyport_session`,
      interaction: `${secure ? "__Secure-" : ""}sallyport_interaction`,
      resume: `${secure ? "__Secure-" : ""}sallyport_resume`,
    },
    long: { ...common, path: "/" },
    short: common,
  };
}

function routeSettings(): NonNullable<Configuration["routes"]> {
  return {
    authorization: paths.authorize,
    token: paths.token,
    registration: paths.register,
    jwks: paths.keys,
    revocation: paths.revoke,
  };
}
