import { principalKey } from "../model/principal.ts";
import type { Principal } from "../model/principal.ts";

const identity = {
  tenant: "default",
  // No URL, so no configured issuer can be mistaken for it.
  issuer: "anonymous",
  kind: "service",
  subject: "anonymous",
  clientId: "",
} as const;

/**
 * Everybody, where configuration switches authentication off (loopback only). It belongs to no group,
 * holds no scope, and counts as a service: a rule for people never matches somebody unknown. All callers
 * share it, and so share sessions and limits.
 */
export const anonymousPrincipal: Principal = Object.freeze({
  ...identity,
  issuerAlias: "anonymous",
  groups: Object.freeze([]),
  scopes: Object.freeze([]),
  claims: Object.freeze({}),
  expiresAt: Number.MAX_SAFE_INTEGER,
  key: principalKey(identity),
});
