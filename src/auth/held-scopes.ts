export interface ScopeRules {
  /** By scope: what whoever holds it holds as well. */
  readonly implications: Readonly<Record<string, readonly string[]>>;
  /** Every scope that servers support or policies name: what a hierarchy can stand for. */
  readonly known: readonly string[];
}

/** All that a token's scopes are worth, the token's own first. */
export type HeldScopes = (scopes: readonly string[]) => readonly string[];

/**
 * Adds to a token's scopes what they cover: `crm:*` every known scope that begins with `crm:`, and what
 * configuration says that a scope implies, over any number of steps. It is done once, where a principal is made, so
 * that rules, conditions and step-up see the same. A `*` anywhere else means nothing.
 */
export function createHeldScopes({ implications, known }: ScopeRules): HeldScopes {
  const implied = new Map(Object.entries(implications));
  const all = [...new Set([...known, ...implied.keys(), ...[...implied.values()].flat()])];

  function coveredBy(scope: string): readonly string[] {
    const within = scope.endsWith(":*") && scope.length > 2 ? scope.slice(0, -1) : undefined;
    const below = within === undefined ? [] : all.filter((one) => one.startsWith(within));
    return [...(implied.get(scope) ?? []), ...below];
  }

  return (scopes) => {
    const held = new Set(scopes);
    // A set hands out what is added while it is walked, and each scope once: circles end.
    for (const scope of held) for (const one of coveredBy(scope)) held.add(one);
    return held.size === scopes.length ? scopes : [...held];
  };
}
