/** Which names tools and prompts may be shown under. */
export interface NameRules {
  readonly maxChars: number;
  readonly characters: NameCharacters;
}

/** `protocol`: those that the specification allows (SEP-986); `providers`: those that all large model providers accept. */
export type NameCharacters = "providers" | "protocol";

const whole: Readonly<Record<NameCharacters, RegExp>> = {
  providers: /^[A-Za-z_][A-Za-z0-9_-]*$/,
  protocol: /^[A-Za-z0-9_.-]+$/,
};

const foreign: Readonly<Record<NameCharacters, RegExp>> = {
  providers: /[^A-Za-z0-9_-]/gu,
  protocol: /[^A-Za-z0-9_.-]/gu,
};

/** Whether a name may be shown as it is. */
export function fits(name: string, { maxChars, characters }: NameRules): boolean {
  return name.length <= maxChars && whole[characters].test(name);
}

/** The name with characters that fit, of any length; a name that has only such is changed where its first one may not be first. */
export function fittingText(name: string, characters: NameCharacters): string {
  const plain = name.replaceAll(foreign[characters], "_");
  return plain === "" || whole[characters].test(plain) ? plain : `_${plain}`;
}
