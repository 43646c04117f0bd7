import { isJsonObject, readOwn } from "../model/json.ts";
import type { Json, JsonObject } from "../model/json.ts";

/** A public key as JSON (RFC 7517): the members that make it, and no other. */
export type PublicJwk = Readonly<Record<string, string>> & { readonly kty: string };

/** Members by key type (RFC 7518 §6, RFC 8037 §2), each with the most characters that a sane key has there. */
const members: ReadonlyMap<string, Readonly<Record<string, number>>> = new Map([
  ["EC", { crv: 16, x: 88, y: 88 }],
  ["OKP", { crv: 16, x: 88 }],
  // 4096 bits; an exponent without a bound would make verifying as dear as signing.
  ["RSA", { n: 684, e: 6 }],
]);

/** What only a private or a symmetric key has. */
const secrets = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

/**
 * The public key that a proof brings along (RFC 9449 §4.2), or undefined for what is none: a private or symmetric key,
 * an unknown type, a member that is missing or longer than any sane key's. Whether it is on its curve and fits its
 * algorithm shows when it is used.
 */
export function readPublicJwk(value: Json | undefined): PublicJwk | undefined {
  if (!isJsonObject(value) || secrets.some((name) => Object.hasOwn(value, name))) return undefined;
  const kty = readOwn(value, "kty");
  const wanted = typeof kty === "string" ? members.get(kty) : undefined;
  if (typeof kty !== "string" || wanted === undefined) return undefined;
  const found = Object.entries(wanted).map(([name, charsMax]) => [name, textIn(value, name, charsMax)] as const);
  return found.every((one): one is [string, string] => one[1] !== undefined)
    ? { ...Object.fromEntries(found), kty }
    : undefined;
}

function textIn(object: JsonObject, name: string, charsMax: number): string | undefined {
  const value = readOwn(object, name);
  return typeof value === "string" && value !== "" && value.length <= charsMax ? value : undefined;
}
