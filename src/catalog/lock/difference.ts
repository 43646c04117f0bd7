import type { Json } from "../../model/json.ts";
import { canonicalJson } from "../../protocol/json/canonical.ts";
import { visible } from "./visible.ts";

/** What a change does to the values that a schema accepts, where that can be told; undefined: neither is certain. */
export type Effect = "widened" | "narrowed" | undefined;

/** One thing that differs between two definitions, in words. */
export interface Difference {
  /** RFC 6901 pointer into the definition. */
  readonly at: string;
  readonly what: string;
  readonly effect: Effect;
  /** JSON with hidden characters escaped, cut; undefined: there is nothing on that side. */
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/** Before and after, one of which may be absent. */
export interface Pair {
  readonly before: Json | undefined;
  readonly after: Json | undefined;
}

export function difference(at: string, what: string, { before, after }: Pair, effect?: Effect): Difference {
  return { at, what, effect, before: asShown(before), after: asShown(after) };
}

/** Longest text of a value that is printed of it. */
const shownCharsMax = 400;

function asShown(value: Json | undefined): string | undefined {
  if (value === undefined) return undefined;
  const text = canonicalJson(value);
  return visible(text.length > shownCharsMax ? `${text.slice(0, shownCharsMax)}…` : text);
}

/** Equal as JSON values: the order of keys and the spelling of numbers count for nothing. */
export function isSame({ before, after }: Pair): boolean {
  if (before === undefined || after === undefined) return before === after;
  return canonicalJson(before) === canonicalJson(after);
}

export function verb({ before, after }: Pair): "added" | "removed" | "changed" {
  if (before === undefined) return "added";
  return after === undefined ? "removed" : "changed";
}

export function pointerTo(at: string, key: string): string {
  return `${at}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}
