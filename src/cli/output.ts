/** Where a command writes. A command returns its exit code and ends nothing itself. */
export interface Output {
  readonly out: (line: string) => void;
  readonly err: (line: string) => void;
}

/** Exit codes: 0 done; 1 it ran and the answer is no; 2 it was called wrongly. */
export type ExitCode = 0 | 1 | 2;

/** Text from elsewhere, with what a terminal would act on or hide (controls, bidi, unassigned) escaped. */
export function shown(text: string): string {
  return text.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`);
}
