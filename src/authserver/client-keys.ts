import { isJsonObject, readOwn, readOwnString } from "../model/json.ts";
import type { Json, JsonObject } from "../model/json.ts";

const keysMax = 16;

/** What only a private or a symmetric key has (RFC 7518 §6). */
const privateMembers: readonly string[] = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

/**
 * The keys of a set with which a client can prove itself, or undefined when there are none, too many, or one has private
 * members, which a client must never have shown anybody. Keys of other kinds are left out (RFC 7517 §5).
 */
export function publicKeySet(value: Json | undefined): JsonObject | undefined {
  const keys = readOwn(value, "keys");
  if (!isJsonObject(value) || !Array.isArray(keys) || keys.length === 0 || keys.length > keysMax) return undefined;
  if (keys.some((key) => !isJsonObject(key) || privateMembers.some((member) => Object.hasOwn(key, member))))
    return undefined;
  const signing = keys.filter((key) => signingKinds.includes(readOwnString(key, "kty")));
  return signing.length === 0 ? undefined : { keys: signing };
}

const signingKinds: readonly (string | undefined)[] = ["RSA", "EC", "OKP"];
