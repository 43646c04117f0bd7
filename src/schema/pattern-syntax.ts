import { ProgramSize } from "./program-size.ts";

/**
 * Rewrites an ECMAScript pattern for the linear engine. RE2 has its own reading of `\s`, `.`, `\z`,
 * `\Q`, `(?i)` and of surrogate pairs, and re2js's own translation drops the backslash of `\k<name>`;
 * each of these would make a pattern match something other than its author wrote, without an error.
 * So every atom is read as ECMA-262 reads it with the `u` flag, and written as code points.
 */

const spaces =
  "\\t\\n\\x{b}\\f\\r \\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}";
const notSpaces =
  "\\x00-\\x{8}\\x{e}-\\x{1f}!-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}" +
  "\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10ffff}";
const controlEscapes: Readonly<Record<string, number>> = { t: 9, n: 10, v: 11, f: 12, r: 13, "0": 0 };

/** A pattern as RE2 reads it, and how large it becomes there. */
export interface LinearSyntax {
  readonly text: string;
  /** At least as many as the compiled program will have; a Unicode property counts as several. */
  readonly instructions: number;
}

/**
 * The same language in RE2 syntax, or undefined for what RE2 cannot express: look-around,
 * back-references, and more repetition than it takes. `source` must be valid with the `u` flag; that is
 * the caller's to check. Groups do not capture, since only whether a pattern matches is asked.
 */
export function linearSyntax(source: string): LinearSyntax | undefined {
  const reader = new PatternReader(source);
  return reader.read();
}

/** One code point, or text of a class (`\d`, `\p{L}`) that stands for many. */
type Atom = { readonly codePoint: number } | { readonly set: string };

/** A property has up to 700 ranges, which the engine copies for each instruction that tests it. */
const instructionsPerProperty = 10;

class PatternReader {
  readonly #source: string;
  readonly #size = new ProgramSize();
  #index = 0;
  #supported = true;
  /** Properties read since the last atom was counted. */
  #properties = 0;

  constructor(source: string) {
    this.#source = source;
  }

  read(): LinearSyntax | undefined {
    let text = "";
    while (this.#supported && this.#index < this.#source.length) text += this.#term();
    const isExpressible = this.#supported && this.#size.isWithinRepetitions;
    return isExpressible ? { text, instructions: this.#size.instructions } : undefined;
  }

  #term(): string {
    const character = this.#take();
    if (character === "(") return this.#group();
    if (character === ")") return this.#groupEnd();
    if (character === "|") return this.#alternative();
    if ("*+?{".includes(character)) return this.#quantifier(character);
    const atom = this.#atom(character);
    this.#size.atom(1 + this.#properties * instructionsPerProperty);
    this.#properties = 0;
    return atom;
  }

  #atom(character: string): string {
    switch (character) {
      case "\\":
        return this.#escapeOutsideClass();
      case "[":
        return this.#class();
      case ".":
        return "[^\\n\\r\\x{2028}\\x{2029}]";
      case "^":
        return "\\A";
      case "$":
        return "\\z";
      default:
        return written({ codePoint: character.codePointAt(0) ?? 0 });
    }
  }

  /** The `?` of a lazy quantifier counts as one of its own, which is one copy too many. */
  #quantifier(character: string): string {
    if (character !== "{") {
      this.#size.repeat(character === "+" ? 1 : 0, character === "?" ? 1 : Infinity);
      return character;
    }
    const end = this.#source.indexOf("}", this.#index) + 1;
    const bounds = this.#source.slice(this.#index, end);
    this.#index = end;
    const [min = "0", max = min] = bounds.slice(0, -1).split(",");
    this.#size.repeat(Number(min), max === "" ? Infinity : Number(max));
    return `{${bounds}`;
  }

  #alternative(): string {
    this.#size.alternative();
    return "|";
  }

  #groupEnd(): string {
    this.#size.closeGroup();
    return ")";
  }

  /** Plain and named groups become non-capturing; look-around is not supported. */
  #group(): string {
    const [opener = ""] = /^(?:\?:|\?<[^=!>][^>]*>|\?)?/.exec(this.#source.slice(this.#index, this.#index + 200)) ?? [];
    if (opener === "?") this.#supported = false;
    this.#index += opener.length;
    this.#size.openGroup();
    return "(?:";
  }

  #escapeOutsideClass(): string {
    const next = this.#source.charAt(this.#index);
    if (next === "b" || next === "B") {
      this.#index++;
      return `\\${next}`;
    }
    if (next === "k" || /[1-9]/.test(next)) this.#supported = false;
    const atom = this.#escape();
    return "set" in atom ? `[${atom.set}]` : written(atom);
  }

  #class(): string {
    const negated = this.#source.charAt(this.#index) === "^";
    if (negated) this.#index++;
    let members = "";
    while (this.#supported && this.#source.charAt(this.#index) !== "]") members += this.#classMember();
    this.#index++;
    if (members !== "") return `[${negated ? "^" : ""}${members}]`;
    return negated ? "[\\x00-\\x{10ffff}]" : "[^\\x00-\\x{10ffff}]";
  }

  #classMember(): string {
    const first = this.#classAtom();
    const isRange = this.#source.charAt(this.#index) === "-" && this.#source.charAt(this.#index + 1) !== "]";
    if (!isRange || "set" in first) return written(first);
    this.#index++;
    return `${written(first)}-${written(this.#classAtom())}`;
  }

  #classAtom(): Atom {
    const character = this.#take();
    if (character === "") this.#supported = false;
    if (character !== "\\") return { codePoint: character.codePointAt(0) ?? 0 };
    if (this.#source.charAt(this.#index) !== "b") return this.#escape();
    this.#index++;
    return { codePoint: 8 };
  }

  /** What follows a backslash, without assertions and back-references. */
  #escape(): Atom {
    const character = this.#take();
    if (character === "s") return { set: spaces };
    if (character === "S") return { set: notSpaces };
    if ("dDwW".includes(character)) return { set: `\\${character}` };
    if (character === "p" || character === "P") return { set: this.#property(character) };
    if (character === "u") return { codePoint: this.#unicodeEscape() };
    if (character === "x") return { codePoint: this.#hex(2) };
    if (character === "c") return { codePoint: this.#take().charCodeAt(0) % 32 };
    const control = Object.hasOwn(controlEscapes, character) ? controlEscapes[character] : undefined;
    return { codePoint: control ?? character.codePointAt(0) ?? 0 };
  }

  /** `\p{L}`, `\p{Script=Greek}`, `\p{gc=Lu}`; RE2 names scripts and categories without a prefix. */
  #property(letter: string): string {
    const end = this.#source.indexOf("}", this.#index) + 1;
    const name = this.#source.slice(this.#index + 1, end - 1);
    this.#index = end;
    this.#properties++;
    return `\\${letter}{${name.replace(/^(?:Script|sc|General_Category|gc)=/, "")}}`;
  }

  #unicodeEscape(): number {
    if (this.#source.charAt(this.#index) === "{") {
      const end = this.#source.indexOf("}", this.#index);
      const codePoint = Number.parseInt(this.#source.slice(this.#index + 1, end), 16);
      this.#index = end + 1;
      return codePoint;
    }
    const high = this.#hex(4);
    const pair = /^\\u([dD][c-fC-F][0-9a-fA-F]{2})/.exec(this.#source.slice(this.#index, this.#index + 6));
    if (high < 0xd800 || high > 0xdbff || pair?.[1] === undefined) return high;
    this.#index += 6;
    return 0x10000 + ((high - 0xd800) << 10) + (Number.parseInt(pair[1], 16) - 0xdc00);
  }

  #hex(digits: number): number {
    const value = Number.parseInt(this.#source.slice(this.#index, this.#index + digits), 16);
    this.#index += digits;
    return value;
  }

  #take(): string {
    const codePoint = this.#source.codePointAt(this.#index);
    if (codePoint === undefined) return "";
    const character = String.fromCodePoint(codePoint);
    this.#index += character.length;
    return character;
  }
}

function written(atom: Atom): string {
  return "set" in atom ? atom.set : `\\x{${atom.codePoint.toString(16)}}`;
}
