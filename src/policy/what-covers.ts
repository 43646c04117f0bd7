import type { Glob } from "./glob.ts";
import type { Rule } from "./rule.ts";
import type { UriGlob } from "./uri.ts";
import type { Names, What } from "./what.ts";

type AboutItems = Pick<Rule, "what" | "effect">;

/** Whether every item that `narrow` means is meant by `wide`, each read as its effect reads names. False where it cannot be shown. */
export function whatCovers(wide: AboutItems, narrow: AboutItems): boolean {
  const [one, other] = [wide.what, narrow.what];
  if (!isWithin(other.servers, one.servers) || !isWithin(other.upstreams, one.upstreams)) return false;
  if (one.kind !== undefined && one.kind !== other.kind) return false;
  return marksCover(one, other) && isWithin(other.digests, one.digests) && namesCover(wide, narrow);
}

/** Undefined: any. */
function isWithin(narrow: readonly string[] | undefined, wide: readonly string[] | undefined): boolean {
  return wide === undefined || narrow?.every((word) => wide.includes(word)) === true;
}

function marksCover({ marks: wide }: What, { marks: narrow }: What): boolean {
  if (wide === undefined) return true;
  return narrow !== undefined && marksText(wide) === marksText(narrow);
}

function marksText({ labels, annotations }: NonNullable<What["marks"]>): string {
  return JSON.stringify([labels, [...annotations].sort()]);
}

function namesCover(wide: AboutItems, narrow: AboutItems): boolean {
  const [one, other] = [wide.what.names, narrow.what.names];
  // An allow by exact name also means an item that no lock holds, which an allow by pattern does not.
  const isFirm = wide.effect === "allow" && isExact(other);
  if (one.by === "nothing") return !isFirm;
  if (one.by === "name" && other.by === "name")
    return other.globs.every((glob) => one.globs.some((by) => globCovers(by, glob, isFirm)));
  if (one.by !== "uri" || other.by !== "uri") return false;
  const joined = wide.effect === narrow.effect ? everyForm : eitherForm;
  return other.globs.every((glob) => one.globs.some((by) => joined(by, glob, isFirm)));
}

function isExact(names: Names): boolean {
  if (names.by === "nothing") return false;
  return names.by === "name"
    ? names.globs.some(({ exact }) => exact !== undefined)
    : names.globs.some(({ raw }) => raw.exact !== undefined);
}

function everyForm(wide: UriGlob, narrow: UriGlob, isFirm: boolean): boolean {
  return (["raw", "normal", "canonical"] as const).every((form) => globCovers(wide[form], narrow[form], isFirm));
}

/** A deny matches either form, and an allow only where both of its own match. */
function eitherForm(wide: UriGlob, narrow: UriGlob, isFirm: boolean): boolean {
  return globCovers(wide.raw, narrow.raw, isFirm) || globCovers(wide.normal, narrow.normal, isFirm);
}

/**
 * A star of `narrow` stands for text without `/`, so a star of `wide` takes it up like any letter, and no letter of
 * `wide` is a star. Only `**` stands for more, which only `**` takes up.
 */
function globCovers(wide: Glob, narrow: Glob, isFirm: boolean): boolean {
  if (wide.exact !== undefined) return narrow.exact === wide.exact;
  if (narrow.exact !== undefined) return !isFirm && wide.matches(narrow.exact);
  return (!isDeep(narrow) || isDeep(wide)) && wide.matches(narrow.text);
}

function isDeep({ text }: Glob): boolean {
  return text === "**" || text.endsWith("/**");
}
