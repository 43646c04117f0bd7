import { compileGlob, globProblem } from "./glob.ts";
import type { Glob } from "./glob.ts";

/** Percent-encoding is undone at most this often; a URI that is encoded deeper has no normal form. */
const decodingRoundsMax = 3;

/**
 * A URI as it was received, and as a lenient upstream may read it: percent-decoded until nothing
 * changes, `\` taken for `/`, scheme and authority in lower case, dot segments removed (RFC 3986
 * §5.2.4, §6.2.2). `normal` is undefined when the URI is not decodable. Only for judging: the raw
 * bytes are what is sent.
 */
export interface UriForms {
  readonly raw: string;
  readonly normal: string | undefined;
}

export function uriForms(raw: string): UriForms {
  return { raw, normal: normalUri(raw) };
}

/** A glob over URIs: the pattern as written for the raw form, and its own normal form for the other. */
export interface UriGlob {
  readonly raw: Glob;
  readonly normal: Glob;
}

export function uriGlobProblem(text: string): string | undefined {
  if (/%2[af]|%5c/i.test(text)) return "an encoded `*`, `/` or `\\` cannot be written in a URI pattern";
  const problem = globProblem(text);
  if (problem !== undefined) return problem;
  const normal = normalUri(text);
  if (normal === undefined) return "the pattern holds percent-encoding that cannot be decoded";
  if (/[/\\]\.{1,2}(?:[/\\]|$)/.test(decoded(text) ?? "")) return "a pattern cannot hold `.` or `..` segments";
  return globProblem(normal);
}

/** Compiles a pattern that `uriGlobProblem` finds nothing wrong with. */
export function compileUriGlob(text: string): UriGlob {
  return { raw: compileGlob(text), normal: compileGlob(normalUri(text) ?? text) };
}

/** An allow must match both forms; a URI without a normal form is matched by no allow. */
export function allowMatchesUri(glob: UriGlob, forms: UriForms): boolean {
  return forms.normal !== undefined && glob.raw.matches(forms.raw) && glob.normal.matches(forms.normal);
}

/** A deny matches either form; a URI without a normal form is matched by every deny, since nobody can tell. */
export function denyMatchesUri(glob: UriGlob, forms: UriForms): boolean {
  return forms.normal === undefined || glob.raw.matches(forms.raw) || glob.normal.matches(forms.normal);
}

function normalUri(raw: string): string | undefined {
  const text = decoded(raw)?.replaceAll("\\", "/");
  if (text === undefined) return undefined;
  const head = /^[A-Za-z][A-Za-z0-9+.-]*:(?:\/\/[^/?#]*)?/.exec(text)?.[0] ?? "";
  return head.toLowerCase() + withoutDotSegments(text.slice(head.length));
}

function decoded(raw: string): string | undefined {
  let text = raw;
  for (let round = 0; round <= decodingRoundsMax; round += 1) {
    if (!text.includes("%")) return text;
    const next = decodedOnce(text);
    if (next === undefined || next === text) return next;
    text = next;
  }
  return undefined;
}

function decodedOnce(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Dot segments are removed behind `?` and `#` too: a lenient reader may take those for path characters. */
function withoutDotSegments(path: string): string {
  if (!path.includes("/.") && !path.startsWith(".")) return path;
  const kept: string[] = [];
  const segments = path.split("/");
  const floor = segments[0] === "" ? 1 : 0;
  segments.forEach((segment, index) => {
    const isLast = index === segments.length - 1;
    if (segment === "..") {
      if (kept.length > floor) kept.pop();
      if (isLast) kept.push("");
    } else if (segment === ".") {
      if (isLast) kept.push("");
    } else kept.push(segment);
  });
  return kept.join("/");
}
