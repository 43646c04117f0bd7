import { isJsonObject, readOwn } from "../model/json.ts";
import type { JsonObject } from "../model/json.ts";
import { ok } from "../model/result.ts";
import type { Refused, Result } from "../model/result.ts";
import { refuse } from "../model/refusal.ts";
import { invalid } from "./check-claims.ts";
import type { TrustedIssuer } from "./trusted-issuer.ts";

/** What whoever presents a token must show besides; a token that is bound to two things needs both. */
export interface Binding {
  /** Thumbprint of the key that proofs are made with: `jkt` (RFC 9449 §6.1). */
  readonly key: string | undefined;
  /** Thumbprint of the client certificate: `x5t#S256` (RFC 8705 §3.1). */
  readonly certificate: string | undefined;
}

/** What verification established of how a token may be used. */
export interface HeldToken {
  /** Undefined: whoever has the token may use it. */
  readonly binding: Binding | undefined;
  /** The issuer's tokens are refused unless they are bound to a key. */
  readonly needsProof: boolean;
}

/** SHA-256 in base64url. */
const thumbprint = /^[A-Za-z0-9_-]{43}$/;

/**
 * What the confirmation claim `cnf` (RFC 7800 §3.1) of a token, or of an introspection answer (RFC 9449 §6.2,
 * RFC 8705 §3.2), binds it to.
 *
 * A member that is not understood refuses the token (AUTH_TOKEN_TYPE_REFUSED), although RFC 7800 lets it be passed
 * over: taken as less than it is bound to, the token would lose what its issuer gave it. The same where the issuer's
 * `dpop` is `off`, and where a token says that it is of the DPoP kind and names no key. A thumbprint that is none is
 * AUTH_CLAIM_INVALID.
 */
export function heldToken(claims: JsonObject, { dpop = "accept" }: TrustedIssuer): Result<HeldToken> {
  const needsProof = dpop === "require";
  const cnf = readOwn(claims, "cnf");
  if (cnf === undefined && !saysDpop(claims)) return ok({ binding: undefined, needsProof });
  if (cnf !== undefined && !isJsonObject(cnf)) return invalid("cnf", "not an object");
  const binding = readBinding(cnf ?? {});
  if (!binding.ok) return binding;
  const hasKey = binding.value.key !== undefined;
  if (hasKey ? dpop === "off" : saysDpop(claims)) return refuseKind();
  return ok({ binding: binding.value, needsProof });
}

function readBinding(cnf: JsonObject): Result<Binding> {
  const names = Object.keys(cnf);
  const [key, certificate] = [readOwn(cnf, "jkt"), readOwn(cnf, "x5t#S256")];
  if (names.length === 0 || names.some((name) => name !== "jkt" && name !== "x5t#S256")) return refuseKind();
  if (!isThumbprint(key) || !isThumbprint(certificate)) return invalid("cnf", "not a SHA-256 thumbprint");
  return ok({ key, certificate });
}

function refuseKind(): Refused {
  return refuse("AUTH_TOKEN_TYPE_REFUSED", { because: "cnf" });
}

/** Keycloak's claim `typ`, and `token_type` of an introspection answer (RFC 9449 §6.2). */
function saysDpop(claims: JsonObject): boolean {
  return ["typ", "token_type"].some((name) => {
    const value = readOwn(claims, name);
    return typeof value === "string" && value.toLowerCase() === "dpop";
  });
}

function isThumbprint(value: unknown): value is string | undefined {
  return value === undefined || (typeof value === "string" && thumbprint.test(value));
}
