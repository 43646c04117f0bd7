import type { ProtectedResource } from "./options.ts";

/** What a token carries when its server asks for no scope at all: the library issues no token without one. */
const fallbackScope = "mcp";

/**
 * The server that a request's `resource` parameters mean (RFC 8707 §2). None at all means the only
 * server there is: clients that skipped the resource metadata send nothing. One trailing slash is
 * tolerated. Undefined is `invalid_target`.
 */
export function resolveResource(
  resources: readonly ProtectedResource[],
  indicators: readonly string[],
): ProtectedResource | undefined {
  if (indicators.length === 0) return resources.length === 1 ? resources[0] : undefined;
  const meant = new Set(indicators.map((indicator) => findResource(resources, indicator)));
  return meant.size === 1 ? [...meant][0] : undefined;
}

export function findResource(
  resources: readonly ProtectedResource[],
  indicator: string,
): ProtectedResource | undefined {
  return resources.find((resource) => indicator === resource.uri || indicator === `${resource.uri}/`);
}

/**
 * Every scope that tokens for this resource can carry, within each of the confinements: of the client, of the
 * person, of an assertion. An undefined one confines nothing.
 */
export function scopesOffered(
  resource: ProtectedResource,
  ...confinements: readonly (readonly string[] | undefined)[]
): readonly string[] {
  const known = [...new Set([...resource.scopes, ...resource.minimalScopes])];
  const offered = known.filter((scope) => confinements.every((allowed) => allowed?.includes(scope) !== false));
  return [...offered, fallbackScope];
}

/** Whether the server has no scope that anybody could ask for: its tokens carry the one that stands for none. */
export function isScopeless({ scopes, minimalScopes }: ProtectedResource): boolean {
  return scopes.length + minimalScopes.length === 0;
}

/**
 * The scopes a request is taken to ask for. Unknown ones are dropped, since real clients ask for
 * `openid`, `offline_access` and whatever they find; when nothing is left it is the minimal set.
 */
export function scopesAsked(resource: ProtectedResource, requested: string | null): string {
  return firstNonEmpty(known(requested, scopesOffered(resource)), resource.minimalScopes);
}

/** The same for a client that acts for itself: without a usable request it gets all it is confined to. */
export function scopesAskedByService(
  resource: ProtectedResource,
  requested: string | null,
  allowed: readonly string[] | undefined,
): string {
  const offered = scopesOffered(resource, allowed);
  const everything = offered.filter((scope) => scope !== fallbackScope);
  return firstNonEmpty(known(requested, offered), everything);
}

/** Those of the requested scopes that any server knows; what a refresh may name (RFC 6749 §6). */
export function knownScopes(resources: readonly ProtectedResource[], requested: string): string {
  return known(
    requested,
    resources.flatMap((resource) => scopesOffered(resource)),
  ).join(" ");
}

function known(requested: string | null, offered: readonly string[]): readonly string[] {
  const names = new Set((requested ?? "").split(" "));
  return offered.filter((scope, index) => names.has(scope) && offered.indexOf(scope) === index);
}

function firstNonEmpty(wanted: readonly string[], otherwise: readonly string[]): string {
  if (wanted.length > 0) return wanted.join(" ");
  return otherwise.length > 0 ? otherwise.join(" ") : fallbackScope;
}
