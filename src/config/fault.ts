/** One thing that is wrong with a configuration, or (as a warning) that its operator should know. */
export interface ConfigFault {
  /** Where, as `upstreams.crm.url` or `auth.issuers[0].alias`; empty for the file as a whole. */
  readonly path: string;
  /** What stands there, with secrets masked and cut to a line. */
  readonly found: string;
  /** What should stand there. */
  readonly expected: string;
  /** The rule's name: a function of `rules.ts` or a check of the file's form. */
  readonly rule: string;
  /** Line in the file, counted from 1, where it is known. */
  readonly line?: number;
}

/** A fault before its place is spelled out and its line looked up. */
export interface PlacedFault {
  readonly place: Place;
  readonly found: string;
  readonly expected: string;
  readonly rule: string;
}

/** A place in the configuration: keys and list indices from the root. */
export type Place = readonly (string | number)[];

/** `["auth", "issuers", 0, "alias"]` as `auth.issuers[0].alias`. */
function pathOf(place: Place): string {
  let path = "";
  for (const part of place) {
    if (typeof part === "number") path += `[${part}]`;
    else if (!/^[\w-]+$/u.test(part)) path += `[${printable(keyShown(part))}]`;
    else path += path === "" ? part : `.${part}`;
  }
  return path;
}

export function placed(fault: PlacedFault, lineOf: (place: Place) => number | undefined): ConfigFault {
  const { place, found, expected, rule } = fault;
  const line = lineOf(place);
  const spelled = { path: pathOf(place), found, expected, rule };
  return line === undefined ? spelled : { ...spelled, line };
}

/** A key up to the first character few keys have: a forgotten line break or space can draw a secret into one. */
export function keyShown(key: string): string {
  const plain = /^[\w$.-]{0,64}/u.exec(key)?.[0] ?? "";
  return plain === key ? key : `${plain}…`;
}

/** JSON text of a value, cut to 80 characters, with what a URL's userinfo and query may hold masked. */
export function printable(value: unknown): string {
  const text = withoutUrlSecrets(value === undefined ? "nothing" : JSON.stringify(value));
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}

/** A text with what URLs in it may hold of secrets masked: userinfo and query. */
export function withoutUrlSecrets(text: string): string {
  return text.replaceAll(/\/\/[^/?#"]*@/gu, "//•••@").replaceAll(/\?[^#"]*/gu, "?•••");
}
