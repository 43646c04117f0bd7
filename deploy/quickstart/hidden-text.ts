/**
 * The same letters as tag characters (U+E0000 block): no screen shows them, and a model reads them. Printable
 * ASCII only.
 */
export function hide(text: string): string {
  return Array.from(text, (char) => String.fromCodePoint(0xe0000 + (char.codePointAt(0) ?? 0))).join("");
}
