/** Longest scope that is asked for or kept. */
const scopeCharsMax = 256;

/** `scope-token`s (RFC 6749 §3.3), each once, at most so many; anything else would change what the list says. */
export function scopeList(scopes: readonly string[], scopesMax: number): readonly string[] {
  const sound = scopes.filter((scope) => scope.length <= scopeCharsMax && /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope));
  return [...new Set(sound)].slice(0, scopesMax);
}
