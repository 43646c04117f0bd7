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
  /** JSON with hidden characters escaped; undefined: there is nothing on that side. */
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/** Before and after, one of which may be absent. */
export interface Pair {
  readonly before: Json | undefined;
  readonly after: Json | undefined;
}

/**
 * Whatever differs is shown whole, since it is what an approver approves. What is left out is the same on both sides, and
 * how much it is stands there.
 */
export function difference(at: string, what: string, pair: Pair, effect?: Effect): Difference {
  const [before, after] = [textOf(pair.before), textOf(pair.after)];
  if (before === undefined || after === undefined)
    return { at, what, effect, before: escaped(before), after: escaped(after) };
  const start = sharedStart(before, after);
  const end = sharedEnd(before.slice(start), after.slice(start));
  const cut = (text: string): string => around(text, start, text.length - end);
  return { at, what, effect, before: cut(before), after: cut(after) };
}

/** Characters that are the same on both sides and shown before and after what differs. */
const contextChars = 100;

function textOf(value: Json | undefined): string | undefined {
  return value === undefined ? undefined : canonicalJson(value);
}

function escaped(text: string | undefined): string | undefined {
  return text === undefined ? undefined : visible(text);
}

function around(text: string, from: number, to: number): string {
  const [first, last] = [from - contextChars, to + contextChars];
  const start = first <= 0 ? 0 : wholeAt(text, first);
  const end = last >= text.length ? text.length : wholeAt(text, last);
  return sameChars(start) + visible(text.slice(start, end)) + sameChars(text.length - end);
}

function sameChars(count: number): string {
  return count === 0 ? "" : `[… ${count} characters as on the other side …]`;
}

function sharedStart(one: string, other: string): number {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at += 1;
  return at;
}

function sharedEnd(one: string, other: string): number {
  let count = 0;
  const most = Math.min(one.length, other.length);
  while (count < most && one[one.length - 1 - count] === other[other.length - 1 - count]) count += 1;
  return count;
}

/** Where to cut so that no character is cut in two: half of one shows as something that hides. */
function wholeAt(text: string, at: number): number {
  return (text.codePointAt(at - 1) ?? 0) > 0xffff ? at - 1 : at;
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
