import type { Limits } from "../model/limits.ts";
import { shapingFields, useFields } from "./language.ts";
import type { Effect } from "./language.ts";
import { at, fault } from "./read-fields.ts";
import type { Place } from "./read-fields.ts";
import { readLimits } from "./read-limits.ts";
import { readPointers } from "./read-pointers.ts";
import { readPresets } from "./read-presets.ts";
import type { Duties, Shape } from "./rule.ts";
import type { What } from "./what.ts";

export type ConstrainLimits = Pick<
  Limits,
  "policyRuleEntriesMax" | "policyPointerCharsMax" | "policyPresetCharsMax" | "policyPresetDepthMax"
>;

/** A rule as far as it is read. What has a fault is undefined. */
export interface RuleSoFar {
  readonly id: string | undefined;
  readonly effect: Effect | undefined;
  readonly what: What | undefined;
  readonly message: string | undefined;
}

export interface Constraint {
  readonly duties: Duties | undefined;
  readonly shape: Shape | undefined;
}

const none: Constraint = { duties: undefined, shape: undefined };
const strictness: readonly NonNullable<Shape["unknownArguments"]>[] = ["reject", "strip", "pass"];
/** The longest wait that a timer of Node can be set to. */
const deadlineMsMax = 2_147_483_647;

/**
 * Reads what a `constrain` obliges to. Such fields in a rule of another effect are faults, as is a constrain without
 * any. Does not check that an item has the arguments and results that it names.
 */
export function readConstraint(
  place: Place,
  fields: ReadonlyMap<string, unknown>,
  { rule, limits }: { readonly rule: RuleSoFar; readonly limits: ConstrainLimits },
): Constraint {
  if (rule.effect !== "constrain") {
    if (rule.effect !== undefined) refuseFields(place, fields, rule.effect);
    return none;
  }
  checkCompany(place, fields);
  checkKind(place, fields, rule.what);
  return { duties: readDuties(place, fields, { rule, limits }), shape: readShape(place, fields, limits) };
}

function refuseFields(place: Place, fields: ReadonlyMap<string, unknown>, effect: Effect): void {
  for (const name of [...shapingFields, ...useFields]) {
    if (fields.has(name)) {
      fault(
        at(place, name),
        fields.get(name),
        `no ${name}`,
        `only a constrain obliges to anything; this is a rule to ${effect}`,
      );
    }
  }
}

function checkCompany(place: Place, fields: ReadonlyMap<string, unknown>): void {
  const has = (name: string): boolean => fields.has(name);
  if (![...shapingFields, ...useFields].some(has)) {
    const expected = `one of ${[...shapingFields, ...useFields].join(", ")}`;
    fault(place, [...fields.keys()], expected, "a constrain that obliges to nothing does nothing");
  }
  if (has("when") && shapingFields.some(has)) {
    const message = `${shapingFields.filter(has).join(" and ")} is chosen before arguments are known: write two rules`;
    fault(at(place, "when"), fields.get("when"), "no condition beside it", message);
  }
  if (has("message") && !has("limits")) {
    fault(at(place, "message"), fields.get("message"), "no message", "only who is limited is told of a constrain");
  }
}

/** Kinds of items that have what a field is about. */
const shapedKinds: readonly (readonly [field: string, kinds: readonly string[]])[] = [
  ["presets", ["tool", "prompt"]],
  ["unknownArguments", ["tool"]],
  ["removeFields", ["tool"]],
];

function checkKind(place: Place, fields: ReadonlyMap<string, unknown>, what: What | undefined): void {
  if (what === undefined) return;
  if (what.kind === "clientFeature") {
    const message = "a constrain is about items: of what an upstream asks of clients only allow and deny say anything";
    fault(at(place, "what"), what.kind, "no clientFeature", message);
  }
  for (const [name, kinds] of shapedKinds) {
    if (fields.has(name) && !kinds.includes(what.kind ?? "")) {
      const expected = `a \`what\` about a ${kinds.join(" or a ")}`;
      fault(at(place, name), fields.get(name), expected, `only a ${kinds.join(" or a ")} has what ${name} is about`);
    }
  }
}

function readDuties(
  place: Place,
  fields: ReadonlyMap<string, unknown>,
  { rule, limits }: { readonly rule: RuleSoFar; readonly limits: ConstrainLimits },
): Duties | undefined {
  if (!useFields.some((name) => fields.has(name))) return undefined;
  const entriesMax = limits.policyRuleEntriesMax;
  const charsMax = limits.policyPointerCharsMax;
  const read = <T>(name: string, reader: (here: Place, value: unknown) => T, otherwise: T): T =>
    fields.has(name) ? reader(at(place, name), fields.get(name)) : otherwise;
  const of = { rule: rule.id ?? "", message: rule.message, entriesMax };
  return {
    limits: read("limits", (here, value) => readLimits(here, value, of), []),
    resultBytesMax: read("resultBytesMax", (here, value) => readWhole(here, value, Number.MAX_SAFE_INTEGER), undefined),
    deadlineMs: read("deadlineMs", (here, value) => readWhole(here, value, deadlineMsMax), undefined),
    auditRequired: read("audit", readAudit, false),
    replayFields: read(
      "replayFields",
      (here, value) => readPointers(here, value, { mayStar: false, entriesMax, charsMax }),
      [],
    ),
  };
}

function readShape(place: Place, fields: ReadonlyMap<string, unknown>, limits: ConstrainLimits): Shape | undefined {
  if (!shapingFields.some((name) => fields.has(name))) return undefined;
  const entriesMax = limits.policyRuleEntriesMax;
  const charsMax = limits.policyPointerCharsMax;
  const presetsOf = { entriesMax, charsMax: limits.policyPresetCharsMax, depthMax: limits.policyPresetDepthMax };
  return {
    presets: fields.has("presets") ? readPresets(at(place, "presets"), fields.get("presets"), presetsOf) : new Map(),
    unknownArguments: fields.has("unknownArguments")
      ? readStrictness(at(place, "unknownArguments"), fields.get("unknownArguments"))
      : undefined,
    removeFields: fields.has("removeFields")
      ? readPointers(at(place, "removeFields"), fields.get("removeFields"), { mayStar: true, entriesMax, charsMax })
      : [],
  };
}

function readWhole(place: Place, value: unknown, max: number): number | undefined {
  if (typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= max) return value;
  fault(place, value, `a whole number from 1 to ${max}`, "expected a whole number");
  return undefined;
}

function readAudit(place: Place, value: unknown): boolean {
  if (value !== "required") fault(place, value, "required", "`audit` can only be required");
  return value === "required";
}

function readStrictness(place: Place, value: unknown): Shape["unknownArguments"] {
  const known = strictness.find((word) => word === value);
  if (known === undefined) fault(place, value, strictness.join(", "), "expected what becomes of unknown arguments");
  return known;
}
