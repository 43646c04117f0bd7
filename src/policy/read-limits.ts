import type { LimitObligation, LimitScope } from "../model/obligations.ts";
import { at, fault, readMapping } from "./read-fields.ts";
import type { Place } from "./read-fields.ts";

/** Whose limits are read, and how many there may be. */
export interface LimitsOf {
  readonly rule: string;
  readonly message: string | undefined;
  readonly entriesMax: number;
}

/** The order in which `per` is kept, whatever the order it is written in. */
const scopes: readonly LimitScope[] = ["principal", "client", "item", "server"];
const kinds: readonly string[] = ["rate", "quota", "concurrency"];
/** Milliseconds of the windows that a rate can name. */
const windowMs: Readonly<Record<string, number>> = { s: 1_000, min: 60_000, h: 3_600_000 };
/** The largest count; larger ones limit nothing. */
const countMax = 999_999_999;

/** Reads `limits`: one limit or a list of them. */
export function readLimits(place: Place, value: unknown, of: LimitsOf): readonly LimitObligation[] {
  if (!Array.isArray(value)) return readLimit(place, value, { ...of, position: 0 });
  if (value.length === 0 || value.length > of.entriesMax) {
    fault(place, value, `1 to ${of.entriesMax} limits`, "a list of limits holds at least one, and not too many");
  }
  return value
    .slice(0, of.entriesMax)
    .flatMap((entry: unknown, position) => readLimit(at(place, position), entry, { ...of, position }));
}

interface LimitAt extends LimitsOf {
  readonly position: number;
}

function readLimit(place: Place, value: unknown, of: LimitAt): readonly LimitObligation[] {
  const fields = readMapping(place, value, [...kinds, "burst", "per"]);
  if (fields === undefined) return [];
  const named = kinds.filter((kind) => fields.has(kind));
  const per = readPer(at(place, "per"), fields.get("per"));
  if (named.length !== 1) {
    fault(place, value, "one of rate, quota and concurrency", "a limit is exactly one of rate, quota and concurrency");
    return [];
  }
  if (fields.has("burst") && !fields.has("rate")) {
    fault(at(place, "burst"), fields.get("burst"), "no burst", "only a rate has a burst");
  }
  const text = of.message === undefined ? {} : { message: of.message };
  const common = { rule: of.rule, at: of.position, per, ...text };
  if (fields.has("rate")) return readRate(place, fields, common);
  if (fields.has("quota")) {
    const quota = readCount(at(place, "quota"), fields.get("quota"), quotaForm);
    return quota === undefined ? [] : [{ ...common, kind: "quota", count: quota.count }];
  }
  const count = readWhole(at(place, "concurrency"), fields.get("concurrency"));
  return count === undefined ? [] : [{ ...common, kind: "concurrency", count }];
}

type Common = Pick<LimitObligation, "rule" | "at" | "per" | "message">;

/** A bucket that nobody sizes holds what one window refills. */
function readRate(place: Place, fields: ReadonlyMap<string, unknown>, common: Common): readonly LimitObligation[] {
  const rate = readCount(at(place, "rate"), fields.get("rate"), rateForm);
  const burst = fields.has("burst") ? readWhole(at(place, "burst"), fields.get("burst")) : rate?.count;
  const perMs = windowMs[rate?.unit ?? ""];
  if (rate === undefined || burst === undefined || perMs === undefined) return [];
  return [{ ...common, kind: "rate", count: rate.count, perMs, burst }];
}

interface CountForm {
  readonly pattern: RegExp;
  readonly expected: string;
}

const rateForm: CountForm = {
  pattern: /^([1-9]\d{0,8})\/(s|min|h)$/,
  expected: "a rate such as 10/min, by s, min or h",
};
const quotaForm: CountForm = { pattern: /^([1-9]\d{0,8})\/(day)$/, expected: "a quota such as 1000/day" };

function readCount(place: Place, value: unknown, form: CountForm): { count: number; unit: string } | undefined {
  const [, count, unit] = (typeof value === "string" ? form.pattern.exec(value) : undefined) ?? [];
  if (count !== undefined && unit !== undefined) return { count: Number(count), unit };
  fault(place, value, form.expected, `expected ${form.expected}; to allow nothing, write a deny`);
  return undefined;
}

function readWhole(place: Place, value: unknown): number | undefined {
  if (typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= countMax) return value;
  fault(
    place,
    value,
    `a whole number from 1 to ${countMax}`,
    "expected a whole number; to allow nothing, write a deny",
  );
  return undefined;
}

function readPer(place: Place, value: unknown): readonly LimitScope[] {
  const words: readonly unknown[] = Array.isArray(value) ? value : [value];
  const expected = `one or several of ${scopes.join(", ")}, each once`;
  const isSound = words.every((word) => scopes.some((scope) => scope === word));
  if (!isSound || words.length === 0 || new Set(words).size < words.length) {
    fault(place, value, expected, "`per` says whose uses are counted together");
  }
  return scopes.filter((scope) => words.includes(scope));
}
