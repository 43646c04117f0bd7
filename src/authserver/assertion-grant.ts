import { randomUUID } from "node:crypto";
import { errors } from "oidc-provider";
import type Provider from "oidc-provider";
import type { TokenEndpointGrantContext } from "oidc-provider";
import { accountOf } from "./account.ts";
import { createAssertionKeys } from "./assertion-keys.ts";
import { hasEnded } from "./ended-sign-ins.ts";
import { verifyIdentityAssertion } from "./identity-assertion.ts";
import type { AssertionContext, IdentityAssertion } from "./identity-assertion.ts";
import { jwtBearerGrant } from "./options.ts";
import type { AuthServerOptions, ProtectedResource } from "./options.ts";
import type { Person } from "./people.ts";
import { permittedScopes } from "./permitted-scopes.ts";
import { reservedSubjects } from "./reserved-subjects.ts";
import { resourceServerInfo } from "./resource-server.ts";
import { findResource, isScopeless, scopesOffered } from "./resources.ts";
import type { SigningKeys } from "./signing-keys.ts";

interface AssertionParameters {
  readonly assertion?: unknown;
  readonly scope?: unknown;
  readonly resource?: unknown;
}

/**
 * Access tokens for an identity assertion of the company's provider (RFC 7523 §2.1 with ID-JAG): the person signed
 * in there, and the provider decided that this client may act for them here. Nobody consents, and there is no
 * refresh token: the provider is asked for the next assertion. Faults are told apart in the log alone.
 */
export function offerAssertionGrant(provider: Provider, options: AuthServerOptions, signing: SigningKeys): void {
  const issuers = options.assertionIssuers ?? [];
  if (issuers.length === 0) return;
  const context: AssertionContext = {
    issuers: issuers.map((issuer) => ({ issuer, keys: createAssertionKeys(issuer) })),
    audience: options.publicUrl,
    records: options.records,
    now: options.now ?? Date.now,
  };
  provider.registerGrantType<AssertionParameters>(
    jwtBearerGrant,
    async (ctx) => {
      const { clientId } = ctx.oidc.client;
      const { assertion } = ctx.oidc.params;
      const result = await verifyIdentityAssertion(typeof assertion === "string" ? assertion : "", clientId, context);
      const fault = result.ok ? await faultOfPerson(result.assertion, options) : result.fault;
      if (result.ok && fault === undefined) {
        await issue(ctx, { options, signing }, result.assertion);
        return;
      }
      options.log("authserver.assertion-refused", { clientId, fault: fault ?? "" });
      if (fault === "keys-unavailable") throw new errors.TemporarilyUnavailable("its keys cannot be had");
      throw new errors.InvalidGrant("the assertion is not accepted");
    },
    ["assertion", "scope", "resource"],
  );
}

/**
 * Why somebody gets no token although the assertion is good: they would be taken for somebody else, are denied, or had
 * their sign-ins ended since it was made. Rejects with `StoreUnavailable` where nobody can tell.
 */
async function faultOfPerson(
  assertion: IdentityAssertion,
  options: AuthServerOptions,
): Promise<"reserved" | "denied" | "ended" | undefined> {
  const { subject } = personOf(assertion, options);
  if (isOwn(assertion, options) && reservedSubjects(options)(subject)) return "reserved";
  if ((await options.isDenied?.(subject)) === true) return "denied";
  const who = { tenant: "default", issuer: options.publicUrl, subject };
  return (await hasEnded(options.records, who, assertion.issuedAt)) ? "ended" : undefined;
}

async function issue(
  ctx: TokenEndpointGrantContext<AssertionParameters>,
  by: { readonly options: AuthServerOptions; readonly signing: SigningKeys },
  assertion: IdentityAssertion,
): Promise<void> {
  const { options } = by;
  const { provider, client, params } = ctx.oidc;
  const resource = resourceOf(options.resources, assertion, params.resource);
  const person = personOf(assertion, options);
  const allowed = options.clients.find(({ clientId }) => clientId === client.clientId)?.scopes;
  const offered = scopesOffered(resource, allowed, assertion.scope?.split(" "), person.scopes);
  const scope = wanted(offered, params.scope, assertion.scope, resource);
  if (scope === "") throw new errors.InvalidScope("none of the scopes is permitted", "");
  const token = new provider.AccessToken({
    client,
    accountId: person.subject,
    grantId: randomUUID(),
    gty: jwtBearerGrant,
    scope,
    resourceServer: new provider.ResourceServer(resource.uri, resourceServerInfo(offered, resource, by)),
  });
  ctx.oidc.entity("Account", accountOf(person));
  ctx.oidc.entity("AccessToken", token);
  const value = await token.save();
  options.log("authserver.assertion-accepted", { clientId: client.clientId, subject: person.subject });
  ctx.body = { access_token: value, expires_in: token.expiration, scope, token_type: token.tokenType };
}

/** The server that the provider meant; a request that names another one is refused, not overruled. */
function resourceOf(
  resources: readonly ProtectedResource[],
  assertion: IdentityAssertion,
  requested: unknown,
): ProtectedResource {
  const meant = findResource(resources, assertion.resource);
  if (meant === undefined) throw new errors.InvalidTarget();
  if (requested !== undefined && requested !== meant.uri) throw new errors.InvalidTarget();
  return meant;
}

/**
 * People of different issuers are different people, whatever they are called: subject and groups carry the issuer's
 * alias. The one exception is the provider at which people sign in here anyway: its people are the same either way.
 */
function personOf(assertion: IdentityAssertion, options: AuthServerOptions): Person {
  const { issuer, person, groups: listed } = assertion;
  const own = isOwn(assertion, options);
  const qualify = (name: string): string => (own ? name : `${issuer.alias}:${name}`);
  const groups = listed.map(qualify);
  const scopes = permittedScopes({ groups, own: undefined }, options.scopesByGroup);
  return { subject: qualify(person), name: person, groups, scopes };
}

function isOwn({ issuer }: IdentityAssertion, { broker }: AuthServerOptions): boolean {
  return broker?.issuer === issuer.issuer;
}

/** What the request asks for, else what the assertion grants, else the least that the server asks for; of a server without scopes, its one. */
function wanted(
  offered: readonly string[],
  requested: unknown,
  granted: string | undefined,
  resource: ProtectedResource,
): string {
  const names = typeof requested === "string" ? requested.split(" ") : (granted?.split(" ") ?? resource.minimalScopes);
  return offered.filter((scope) => names.includes(scope) || isScopeless(resource)).join(" ");
}
