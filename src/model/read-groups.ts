import { readOwn } from "./json.ts";
import type { Json, JsonObject } from "./json.ts";
import { readClaim } from "./read-claim.ts";

export type GroupsRead =
  | { readonly ok: true; readonly groups: readonly string[] }
  | { readonly ok: false; readonly reason: "distributed claim" | "not a list of text" };

/**
 * The groups that a claim lists, as its issuer writes them; none where the claim is absent, or where no claim is
 * configured. A claim of another shape is never read as none: a rule that denies a group must not fail to match because
 * groups were lost. Not checked: how many there are.
 */
export function readGroups(claims: JsonObject, claim: string | undefined): GroupsRead {
  if (claim === undefined) return { ok: true, groups: [] };
  // With very many groups some issuers send a pointer to them instead (OpenID Connect Core §5.6.2).
  if (readOwn(readOwn(claims, "_claim_names"), claim) !== undefined) return { ok: false, reason: "distributed claim" };
  const value = readClaim(claims, claim);
  const groups = value === undefined ? [] : textList(value);
  return groups === undefined ? { ok: false, reason: "not a list of text" } : { ok: true, groups };
}

/** A list of text, or the one text that stands for a list of one; undefined for anything else. */
export function textList(value: Json): readonly string[] | undefined {
  if (typeof value === "string") return [value];
  return Array.isArray(value) && value.every((one) => typeof one === "string") ? value : undefined;
}
