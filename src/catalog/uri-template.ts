import { limits } from "../model/limits.ts";

/**
 * Does a URI belong to a template (RFC 6570, levels 1 to 4)? Matching is by sets of states, so its
 * time is bounded by URI length times expressions, of which a template may have `uriTemplateExpressionsMax`
 * (undefined for one that has more); a URI that lacks one of its literals costs next to nothing. It is more generous than expansion: percent
 * encoding, prefixes (`:3`) and explode (`*`) are not checked, and the upstream has the last word.
 */
export type UriMatcher = (uri: string) => boolean;

type Part = { readonly literal: string } | { readonly optional: boolean; readonly crossesSlash: boolean };

const expression = /\{([+#./;?&]?)([^{}]*)\}/g;

export function compileUriTemplate(template: string): UriMatcher | undefined {
  const parts = partsOf(template);
  const literals = parts.flatMap((part) => ("literal" in part ? [part.literal] : []));
  if (parts.length - literals.length > limits.uriTemplateExpressionsMax) return undefined;
  const states = toStates(parts);
  return (uri) => holdsInOrder(uri, literals) && accepts(states, uri);
}

function holdsInOrder(uri: string, literals: readonly string[]): boolean {
  let from = 0;
  for (const literal of literals) {
    const found = uri.indexOf(literal, from);
    if (found < 0) return false;
    from = found + literal.length;
  }
  return true;
}

function partsOf(template: string): Part[] {
  const parts: Part[] = [];
  let from = 0;
  for (const match of template.matchAll(expression)) {
    if (match.index > from) parts.push({ literal: template.slice(from, match.index) });
    const operator = match[1] ?? "";
    parts.push({ optional: operator !== "", crossesSlash: operator === "+" || operator === "#" || operator === "/" });
    from = match.index + match[0].length;
  }
  if (from < template.length) parts.push({ literal: template.slice(from) });
  return parts;
}

/** One state per literal character and per expression. An expression loops on itself. */
type State = { readonly char: string } | { readonly optional: boolean; readonly crossesSlash: boolean };

function toStates(parts: readonly Part[]): State[] {
  return parts.flatMap((part): State[] =>
    "literal" in part ? Array.from(part.literal, (char) => ({ char })) : [part],
  );
}

/** `live` holds positions before a state; being *inside* an expression is kept as a second set. */
function accepts(states: readonly State[], uri: string): boolean {
  let before = closure(states, new Set([0]));
  let inside = new Set<number>();
  for (const char of uri) {
    const nextBefore = new Set<number>();
    const nextInside = new Set<number>();
    for (const at of [...before, ...inside]) {
      const state = states[at];
      if (state === undefined) continue;
      if ("char" in state) {
        if (before.has(at) && state.char === char) nextBefore.add(at + 1);
      } else if (char !== "/" || state.crossesSlash) {
        nextInside.add(at);
        nextBefore.add(at + 1);
      }
    }
    before = closure(states, nextBefore);
    inside = nextInside;
    if (before.size === 0 && inside.size === 0) return false;
  }
  return before.has(states.length);
}

function closure(states: readonly State[], set: Set<number>): Set<number> {
  for (const at of set) {
    const state = states[at];
    if (state !== undefined && "optional" in state && state.optional) set.add(at + 1);
  }
  return set;
}
