import type { Json, JsonObject } from "../model/json.ts";
import { principalKey } from "../model/principal.ts";
import type { Principal } from "../model/principal.ts";
import { readClaim } from "../model/read-claim.ts";
import { readGroups, textList } from "../model/read-groups.ts";
import { ok } from "../model/result.ts";
import type { Result } from "../model/result.ts";
import { spelledSubject } from "../model/spelled-subject.ts";
import { invalid } from "./check-claims.ts";
import { profileOf } from "./profiles.ts";
import type { TrustedIssuer } from "./trusted-issuer.ts";

/**
 * The principal that verified claims describe, by the issuer's rules.
 *
 * A claim that is there in a shape that cannot be read is refused (AUTH_CLAIM_INVALID), never read as
 * empty: a rule that denies a group must not fail to match because groups were lost. `claims` must come
 * from a token whose signature, time and audience hold; nothing of that is checked here.
 */
export function principalOf(
  claims: JsonObject,
  trusted: TrustedIssuer,
  facts: { readonly expiresAt: number; readonly identityCharsMax: number; readonly resource: string },
): Result<Principal> {
  const identity = readIdentity(claims, trusted, facts.identityCharsMax);
  if (!identity.ok) return identity;
  const groups = groupsOf(claims, trusted);
  if (!groups.ok) return groups;
  const scopes = readScopes(claims, trusted, facts.resource);
  if (!scopes.ok) return scopes;
  const who = { ...identity.value, issuer: trusted.issuer, kind: kindOf(claims, trusted, identity.value) };
  return ok({
    tenant: who.tenant,
    issuer: who.issuer,
    issuerAlias: trusted.alias,
    kind: who.kind,
    subject: who.subject,
    clientId: who.clientId,
    groups: groups.value,
    scopes: scopes.value,
    claims: mappedClaims(claims, trusted),
    expiresAt: facts.expiresAt,
    key: principalKey(who),
  });
}

/**
 * The claims that an OpenID provider must say of a person for `principalOf` to name the same one, in the same groups, as
 * it does by access tokens. Where the profile has a choice of claims, a person's ID token has `sub`.
 */
export function personClaims(trusted: TrustedIssuer): {
  readonly subject: string;
  readonly groups: string | undefined;
} {
  const { subjectClaims, groupsClaim } = profileOf(trusted);
  const [first = "sub", ...others] = subjectClaims;
  return {
    subject: trusted.subjectClaim ?? (others.length === 0 ? first : "sub"),
    groups: trusted.groupsClaim ?? groupsClaim,
  };
}

interface Identity {
  readonly tenant: string;
  readonly subject: string;
  readonly clientId: string;
}

function readIdentity(claims: JsonObject, trusted: TrustedIssuer, charsMax: number): Result<Identity> {
  const { subjectClaims, clientClaims } = profileOf(trusted);
  const subjects = trusted.subjectClaim === undefined ? subjectClaims : [trusted.subjectClaim];
  const subjectClaim = firstThere(claims, subjects) ?? subjects[0] ?? "sub";
  const subject = readText(claims, subjectClaim, charsMax);
  if (!subject.ok) return subject;
  const clientClaim = firstThere(claims, clientClaims);
  const clientId = clientClaim === undefined ? ok("") : readText(claims, clientClaim, charsMax);
  if (!clientId.ok) return clientId;
  const tenant =
    trusted.tenantClaim === undefined
      ? ok(trusted.tenant ?? "default")
      : readText(claims, trusted.tenantClaim, charsMax);
  if (!tenant.ok) return tenant;
  const spelled = spelledSubject(subjectClaim, subject.value);
  return ok({ tenant: tenant.value, subject: spelled, clientId: clientId.value });
}

function firstThere(claims: JsonObject, names: readonly string[]): string | undefined {
  return names.find((name) => readClaim(claims, name) !== undefined);
}

function readText(claims: JsonObject, name: string, charsMax: number): Result<string> {
  const value = readClaim(claims, name);
  if (value === undefined) return invalid(name, "missing");
  if (typeof value !== "string" || value === "") return invalid(name, "not text");
  return value.length > charsMax ? invalid(name, "too long") : ok(value);
}

function kindOf(claims: JsonObject, trusted: TrustedIssuer, who: Identity): Principal["kind"] {
  // RFC 9068 §2.2: where no resource owner takes part, `sub` is the client itself.
  if (who.subject === who.clientId || profileOf(trusted).isService(claims)) return "service";
  const rule = trusted.serviceWhen;
  const value = rule === undefined ? undefined : readClaim(claims, rule.claim);
  return typeof value === "string" && rule?.values.includes(value) === true ? "service" : "human";
}

function groupsOf(claims: JsonObject, trusted: TrustedIssuer): Result<readonly string[]> {
  const { groupsClaim, groupsLeftOutClaim } = profileOf(trusted);
  const name = trusted.groupsClaim ?? groupsClaim;
  if (name === undefined) return ok([]);
  if (name === groupsClaim && groupsLeftOutClaim !== undefined && Object.hasOwn(claims, groupsLeftOutClaim))
    return invalid(name, "left out");
  const read = readGroups(claims, name);
  return read.ok ? ok(read.groups.map((group) => `${trusted.alias}:${group}`)) : invalid(name, read.reason);
}

function readScopes(claims: JsonObject, trusted: TrustedIssuer, resource: string): Result<readonly string[]> {
  const names = trusted.scopeClaim === undefined ? ["scope", "scp"] : [trusted.scopeClaim];
  const name = names.find((one) => readClaim(claims, one) !== undefined);
  const value = name === undefined ? undefined : readClaim(claims, name);
  if (name === undefined || value === undefined) return ok([]);
  // RFC 6749 §3.3: a list separated by spaces. The array is what RFC 9068 issuers made of it in the field.
  const scopes = typeof value === "string" ? value.split(" ").filter((scope) => scope !== "") : textList(value);
  if (scopes === undefined) return invalid(name, "not a list of text");
  const prefixes = trusted.scopePrefix ?? {};
  return ok(withoutPrefix(scopes, Object.hasOwn(prefixes, resource) ? prefixes[resource] : undefined));
}

/** Policies name a scope as the server does; a scope of another server keeps its prefix and fits no rule of this one. */
function withoutPrefix(scopes: readonly string[], prefix: string | undefined): readonly string[] {
  if (prefix === undefined || prefix === "") return scopes;
  return scopes
    .map((scope) => (scope.startsWith(prefix) ? scope.slice(prefix.length) : scope))
    .filter((one) => one !== "");
}

/** Claims that a token lacks are absent, so that policy's `has()` tells them apart. */
function mappedClaims(claims: JsonObject, trusted: TrustedIssuer): JsonObject {
  const mapped = Object.entries(trusted.claims ?? {}).flatMap(([name, claim]): [string, Json][] => {
    const value = readClaim(claims, claim);
    return value === undefined ? [] : [[name, value]];
  });
  return Object.fromEntries(mapped);
}
