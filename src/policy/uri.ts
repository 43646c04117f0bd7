import { compileGlob, globProblem } from "./glob.ts";
import type { Glob } from "./glob.ts";
import { canonicalUri } from "./canonical-uri.ts";

/** Percent-encoding is undone at most this often; a URI that is encoded deeper has no normal form. */
const decodingRoundsMax = 3;

/**
 * A URI as it was received, and as a lenient upstream may read it: percent-decoded until nothing
 * changes, `\` taken for `/`, scheme and authority in lower case, dot segments and empty segments
 * removed (RFC 3986 §5.2.4, §6.2.2), `file://localhost` as `file://` (RFC 8089 §2), without white space
 * around it. `normal` is undefined when the URI is not decodable or holds control characters, which
 * readers strip (WHATWG URL) or stop at. `readings` begins with it; the others are without query and
 * fragment, which a reader of files ignores, without the slash at the end, and under the one spelling of
 * scheme and authority that `canonicalUri` gives. Only for judging: the raw bytes are what is sent.
 */
export interface UriForms {
  readonly raw: string;
  readonly normal: string | undefined;
  readonly readings: readonly string[];
}

export function uriForms(raw: string): UriForms {
  const normal = normalUri(raw);
  return { raw, normal, readings: normal === undefined ? [] : readingsOf(raw, normal) };
}

function readingsOf(raw: string, normal: string): readonly string[] {
  const whole = [normal, canonicalUri(normal)];
  if (!/[?#]|\/$/.test(normal)) return [...new Set(whole)];
  const cut = normalUri(withoutQuery(raw)) ?? normal;
  const all = [...whole, ...[withoutQuery(normal), cut].flatMap((one) => [one, canonicalUri(one)])];
  return [...new Set([...all, ...all.map(withoutLastSlash)])];
}

function withoutQuery(uri: string): string {
  return uri.split(/[?#]/, 1)[0] ?? "";
}

function withoutLastSlash(uri: string): string {
  return /[^/]\/$/.test(uri) ? uri.slice(0, -1) : uri;
}

/**
 * The normal form of a URI with `.` or `..` among its segments, encoded ones too; undefined for any other.
 * Whoever resolves them reads that one, which need not belong to the template that the URI matches.
 */
export function resolvedUri(raw: string): string | undefined {
  const text = decoded(raw) ?? raw;
  return /(?:^|[/\\])\.{1,2}(?:[/\\?#]|$)/.test(text) ? (normalUri(raw) ?? "") : undefined;
}

/** A glob over URIs: the pattern as written for the raw form, its own normal form, and, for a deny, that one's `canonicalUri`. */
export interface UriGlob {
  readonly raw: Glob;
  readonly normal: Glob;
  readonly canonical: Glob;
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
  const normal = normalUri(text) ?? text;
  const canonical = canonicalUri(normal);
  const isGlob = globProblem(canonical) === undefined;
  return { raw: compileGlob(text), normal: compileGlob(normal), canonical: compileGlob(isGlob ? canonical : normal) };
}

/** An allow must match both forms; a URI without a normal form is matched by no allow. */
export function allowMatchesUri(glob: UriGlob, forms: UriForms): boolean {
  return forms.normal !== undefined && glob.raw.matches(forms.raw) && glob.normal.matches(forms.normal);
}

/** A deny matches any reading; a URI without a normal form is matched by every deny, since nobody can tell. */
export function denyMatchesUri(glob: UriGlob, forms: UriForms): boolean {
  if (forms.normal === undefined || glob.raw.matches(forms.raw)) return true;
  return forms.readings.some((reading) => glob.normal.matches(reading) || glob.canonical.matches(reading));
}

function normalUri(raw: string): string | undefined {
  const text = decoded(raw)?.replaceAll("\\", "/").trim();
  if (text === undefined || /\p{Cc}/u.test(raw) || /\p{Cc}/u.test(text)) return undefined;
  const head = /^[A-Za-z][A-Za-z0-9+.-]*:(?:\/\/[^/?#]*)?/.exec(text)?.[0] ?? "";
  const lower = head.toLowerCase();
  return (lower === "file://localhost" ? "file://" : lower) + withoutEmptySegments(text.slice(head.length));
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

/** Segments are removed behind `?` and `#` too: a lenient reader may take those for path characters. */
function withoutEmptySegments(path: string): string {
  if (!path.includes("/.") && !path.includes("//") && !path.startsWith(".")) return path;
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
    } else if (segment !== "" || index === 0 || isLast) kept.push(segment);
  });
  return kept.join("/");
}
