import { scopeList } from "./scope-list.ts";

/** What of a Bearer challenge (RFC 6750 §3, RFC 9728 §5.1) leads a client on. */
export interface Challenge {
  readonly resourceMetadata: string | undefined;
  readonly scopes: readonly string[] | undefined;
  readonly error: string | undefined;
}

const noChallenge: Challenge = { resourceMetadata: undefined, scopes: undefined, error: undefined };

/** Longest header that is read, and most scopes taken from it. */
const headerCharsMax = 8_192;

/**
 * Reads the Bearer challenge of a `WWW-Authenticate` header that may hold several (RFC 9110 §11.6.1). What is
 * malformed is as if it were not there: a challenge is a hint, and everything it names is judged again.
 */
export function readChallenge(header: string | null | undefined, scopesMax: number): Challenge {
  const text = (header ?? "").slice(0, headerCharsMax);
  const start = /(?:^|,\s*)bearer(?:\s+|$)/i.exec(text);
  if (start === null) return noChallenge;
  const parameters = readParameters(text.slice(start.index + start[0].length));
  return {
    resourceMetadata: parameters.get("resource_metadata"),
    scopes: scopesIn(parameters.get("scope"), scopesMax),
    error: parameters.get("error"),
  };
}

/** Up to the next scheme: a word that no `=` follows. */
function readParameters(text: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const parameter = /\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s",]+))\s*(?:,|$)/y;
  for (let match = parameter.exec(text); match !== null; match = parameter.exec(text)) {
    const [, name = "", quoted, plain = ""] = match;
    const key = name.toLowerCase();
    if (!found.has(key)) found.set(key, quoted === undefined ? plain : quoted.replaceAll(/\\(.)/g, "$1"));
  }
  return found;
}

/** None at all says nothing. */
function scopesIn(text: string | undefined, scopesMax: number): readonly string[] | undefined {
  const scopes = scopeList((text ?? "").split(" "), scopesMax);
  return scopes.length === 0 ? undefined : scopes;
}
