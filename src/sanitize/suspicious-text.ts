import type { TextFinding } from "./clean-text.ts";

interface Sign {
  readonly name: string;
  readonly pattern: RegExp;
}

/**
 * Marks of text that is shaped to be overlooked, for display fields of definitions. Each pattern is
 * linear: classes and counted runs without overlap.
 */
const signs: readonly Sign[] = [
  { name: "combining marks piled on one letter", pattern: /\p{M}{5}/u },
  { name: "private-use characters", pattern: /\p{Co}/u },
  { name: "braille blanks", pattern: /\u2800/ },
  { name: "a long run of blanks", pattern: /[ \t\u00a0\u2000-\u200a\u202f\u205f\u3000]{40}/ },
  { name: "many empty lines", pattern: /\n(?:[ \t]{0,40}\r?\n){8}/ },
];

/**
 * Findings for text that stays as it is but deserves a look: piled-up marks, private use, U+2800 and
 * padding. Says nothing about what the words mean.
 */
export function noteSuspicious(text: string): readonly TextFinding[] {
  return signs
    .filter((sign) => sign.pattern.test(text))
    .map((sign) => ({ kind: "text-suspicious", detail: sign.name, count: 1 }));
}
