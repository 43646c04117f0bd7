/** One way in which a server may read a JSON object: which of its members it takes for `key`. */
export interface Reader {
  readonly name: string;
  /** The value of `key` in an object of these members. Undefined when this reader finds none. */
  pick(members: readonly (readonly [key: string, value: Read])[], key: string): Read | undefined;
}

/** A value of which nothing is lost: members keep order and repetition, numbers their digits. */
export type Read =
  | { readonly kind: "object"; readonly members: readonly (readonly [key: string, value: Read])[] }
  | { readonly kind: "array"; readonly elements: readonly Read[] }
  | { readonly kind: "number"; readonly digits: string }
  | { readonly kind: "other"; readonly value: string | boolean | null };

const last: Reader["pick"] = (members, key) => members.findLast(([own]) => own === key)?.[1];
const first: Reader["pick"] = (members, key) => members.find(([own]) => own === key)?.[1];

/** Readers that are met in the field and tell keys apart by their every byte. */
export const exactReaders: readonly Reader[] = [
  { name: "the last of equal keys", pick: last },
  { name: "the first of equal keys", pick: first },
];

/** Readers that take another key for the one they look for. Go's `encoding/json` folds case, and its last member wins. */
export const laxReaders: readonly Reader[] = [
  { name: "keys end at NUL", pick: (members, key) => members.findLast(([own]) => own.split("\0")[0] === key)?.[1] },
  { name: "the last in any case", pick: (members, key) => members.findLast(([own]) => sameWord(own, key))?.[1] },
  { name: "the first in any case", pick: (members, key) => members.find(([own]) => sameWord(own, key))?.[1] },
];

function sameWord(left: string, right: string): boolean {
  // As Go folds: U+017F and U+212A are an s and a k to it.
  const fold = (word: string): string => word.replaceAll("\u017f", "s").replaceAll("\u212a", "k").toLowerCase();
  return fold(left) === fold(right);
}

/** Reads JSON without losing anything, in a grammar of its own that shares no code with the gateway's. Throws on bad JSON. */
export function readAll(text: string): Read {
  JSON.parse(text);
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[{}[\]:,]|[^\s{}[\]:,"]+/g) ?? [];
  let at = 0;
  const next = (): string => tokens[at++] ?? "";
  const skip = (token: string): boolean => {
    if (tokens[at] !== token) return false;
    at += 1;
    return true;
  };
  const value = (): Read => {
    const token = next();
    if (token === "{") {
      const members: (readonly [string, Read])[] = [];
      while (!skip("}")) {
        const key = JSON.parse(next()) as string;
        skip(":");
        members.push([key, value()]);
        skip(",");
      }
      return { kind: "object", members };
    }
    if (token === "[") {
      const elements: Read[] = [];
      while (!skip("]")) {
        elements.push(value());
        skip(",");
      }
      return { kind: "array", elements };
    }
    if (/^[-\d]/.test(token)) return { kind: "number", digits: token };
    return { kind: "other", value: JSON.parse(token) as string | boolean | null };
  };
  return value();
}

/** What a reader finds by following keys from the outside in. */
export function find(read: Read | undefined, path: readonly string[], reader: Reader): Read | undefined {
  let here = read;
  for (const key of path) here = here?.kind === "object" ? reader.pick(here.members, key) : undefined;
  return here;
}

/** The string that stands there, up to a NUL as a reader in C takes it; undefined when something else does. */
export function stringAt(read: Read | undefined, path: readonly string[], reader: Reader): string | undefined {
  const found = find(read, path, reader);
  return found?.kind === "other" && typeof found.value === "string" ? found.value : undefined;
}

/** Comparable form: members by key, numbers by their decimal value as far as BigInt arithmetic tells it. */
export function canonical(read: Read | undefined): string {
  switch (read?.kind) {
    case undefined:
      return "absent";
    case "number":
      return decimal(read.digits);
    case "other":
      return JSON.stringify(read.value);
    case "array":
      return `[${read.elements.map(canonical).join(",")}]`;
    case "object": {
      const members = read.members.map(([key, value]) => `${JSON.stringify(key)}:${canonical(value)}`);
      return `{${members.sort().join(",")}}`;
    }
  }
}

/** `digits × 10^exponent` without trailing zeros: 1.0, 1 and 10e-1 are one number, 2^53 + 1 and 2^53 are two. */
function decimal(source: string): string {
  const [, sign = "", whole = "0", fraction = "", exponent = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(source) ?? [];
  const digits = (whole + fraction).replace(/^0+/, "");
  const kept = digits.replace(/0+$/, "");
  if (kept === "") return "0";
  return `${sign}${kept}e${Number(exponent) - fraction.length + (digits.length - kept.length)}`;
}
