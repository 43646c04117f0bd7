/**
 * A pattern over names and URIs. `*` stands for any run of characters without `/`; `**` is allowed as
 * the whole last segment only and stands for one or more segments. Everything else is literal and case
 * matters. Matching looks at every star once and never goes back, so no name makes it slow.
 */
export interface Glob {
  readonly text: string;
  /** The only name it matches, when it holds no star. */
  readonly exact: string | undefined;
  /** What every matching name begins with. */
  readonly prefix: string;
  matches(name: string): boolean;
}

/** Why a pattern is no glob, or undefined. */
export function globProblem(text: string): string | undefined {
  const segments = text.split("/");
  const misplaced = segments.some((segment, index) => {
    return segment.includes("**") && !(segment === "**" && index === segments.length - 1);
  });
  return misplaced ? "`**` is only allowed as the whole last segment, as in `reports/**`" : undefined;
}

/** Compiles a pattern that `globProblem` finds nothing wrong with. */
export function compileGlob(text: string): Glob {
  const star = text.indexOf("*");
  if (star < 0) return { text, exact: text, prefix: text, matches: (name) => name === text };
  const segments = text.split("/");
  const open = segments.at(-1) === "**";
  if (open) segments.pop();
  const pieces = segments.map((segment) => segment.split("*"));
  return { text, exact: undefined, prefix: text.slice(0, star), matches: (name) => matchSegments(pieces, open, name) };
}

function matchSegments(pieces: readonly (readonly string[])[], open: boolean, name: string): boolean {
  const parts = name.split("/");
  if (open ? parts.length <= pieces.length : parts.length !== pieces.length) return false;
  return pieces.every((literals, index) => matchSegment(literals, parts[index] ?? ""));
}

/** `literals` are the texts between the stars. The leftmost place for each is always as good as any later one. */
function matchSegment(literals: readonly string[], part: string): boolean {
  const first = literals[0] ?? "";
  if (literals.length === 1) return part === first;
  const last = literals.at(-1) ?? "";
  const end = part.length - last.length;
  if (end < first.length || !part.startsWith(first) || !part.endsWith(last)) return false;
  let from = first.length;
  for (let index = 1; index < literals.length - 1; index += 1) {
    const literal = literals[index] ?? "";
    const found = part.indexOf(literal, from);
    if (found < 0 || found + literal.length > end) return false;
    from = found + literal.length;
  }
  return true;
}
