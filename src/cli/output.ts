/** Where a command writes. A command returns its exit code and ends nothing itself. */
export interface Output {
  readonly out: (line: string) => void;
  readonly err: (line: string) => void;
}

/** Exit codes: 0 done; 1 it ran and the answer is no; 2 it was called wrongly. */
export type ExitCode = 0 | 1 | 2;

/** What a terminal would act on or hide: controls, bidi, unassigned. */
const unseen = /[\p{C}\p{Zl}\p{Zp}]/gu;

/** Text from elsewhere, with what a terminal would act on or hide escaped. */
export function shown(text: string): string {
  return text.replaceAll(unseen, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`);
}

/** JSON (RFC 8259) in lines, which reads back as `value`, with what `shown` escapes written as `\uXXXX`. */
export function jsonOut(value: unknown): string {
  // Only line feeds stand outside of strings; those within are escaped already.
  return JSON.stringify(value, null, 2).replaceAll(unseen, (char) => (char === "\n" ? char : escaped(char)));
}

function escaped(char: string): string {
  const units = Array.from({ length: char.length }, (_, at) => char.charCodeAt(at));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
}
