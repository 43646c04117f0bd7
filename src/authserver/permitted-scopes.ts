/** Group to the scopes that its members may have; {@link everybody} stands for all people. */
export type ScopesByGroup = ReadonlyMap<string, readonly string[]>;

/** The key of {@link ScopesByGroup} that is no group: no claim lists it. */
const everybody = "*";

/**
 * The scopes that tokens for a person may carry: their own, those of their groups and those of everybody, together.
 * Undefined, which confines nothing, when nothing was said: neither about this person nor about any group. Where
 * scopes by group are configured at all, somebody without any of the groups is confined to everybody's.
 */
export function permittedScopes(
  person: { readonly groups: readonly string[]; readonly own: readonly string[] | undefined },
  byGroup: ScopesByGroup | undefined,
): readonly string[] | undefined {
  if (person.own === undefined && byGroup === undefined) return undefined;
  const ofGroups = person.groups.filter((group) => group !== everybody).flatMap((group) => byGroup?.get(group) ?? []);
  return [...new Set([...(person.own ?? []), ...ofGroups, ...(byGroup?.get(everybody) ?? [])])];
}
