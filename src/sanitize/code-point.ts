/** The code point that ends just before `index`, or undefined at the start. A lone surrogate is returned as it is. */
export function codePointBefore(text: string, index: number): number | undefined {
  if (index <= 0) return undefined;
  const low = text.charCodeAt(index - 1);
  if (low < 0xdc00 || low > 0xdfff || index < 2) return low;
  const high = text.charCodeAt(index - 2);
  return high >= 0xd800 && high <= 0xdbff ? text.codePointAt(index - 2) : low;
}

/** How many UTF-16 code units a code point takes. */
export function unitsOf(codePoint: number): 1 | 2 {
  return codePoint > 0xffff ? 2 : 1;
}
