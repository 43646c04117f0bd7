import { isJsonObject, readOwn, readOwnString } from "../model/json.ts";
import type { Json, JsonObject } from "../model/json.ts";

const keysMax = 16;

/** What only a private or a symmetric key has (RFC 7518 §6). */
const privateMembers: readonly string[] = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

/**
 * A set of public keys with which a client proves itself (RFC 7517 §5), or undefined when it is none: no keys,
 * too many, a kind that signs nothing, or private members, which a client must never have shown anybody.
 */
export function publicKeySet(value: Json | undefined): JsonObject | undefined {
  const keys = readOwn(value, "keys");
  if (!isJsonObject(value) || !Array.isArray(keys) || keys.length === 0 || keys.length > keysMax) return undefined;
  return keys.every(isPublicKey) ? { keys } : undefined;
}

function isPublicKey(key: Json): boolean {
  if (!isJsonObject(key)) return false;
  const kty = readOwnString(key, "kty");
  const signs = kty === "RSA" || kty === "EC" || kty === "OKP";
  return signs && !privateMembers.some((member) => Object.hasOwn(key, member));
}
