import type { ValidateFunction } from "ajv";
import type { DataValidationCxt } from "ajv/dist/types/index.js";
import type { Finding } from "../model/finding.ts";
import type { Json, JsonObject } from "../model/json.ts";
import { isJsonObject } from "../model/json.ts";
import { limits } from "../model/limits.ts";
import type { Fact, Refusal, RefusalCode } from "../model/refusal.ts";
import type { SchemaCost } from "./budget.ts";
import { costOf } from "./budget.ts";
import { compileSchema } from "./compile-schema.ts";
import type { SchemaCopy } from "./copy-schema.ts";
import { copySchema } from "./copy-schema.ts";
import type { Dialect } from "./dialect.ts";
import { dialectsOf } from "./dialect.ts";
import type { NumericView, Weight } from "./numeric-view.ts";
import { numericView, weigh } from "./numeric-view.ts";
import type { Violation } from "./violation.ts";
import { violation, violationsOf } from "./violation.ts";

export type { Violation } from "./violation.ts";

/** A schema that can judge values, or the reason why it cannot. */
export type Checker =
  | {
      readonly usable: true;
      /**
       * How `value` breaks the schema; empty when it does not. Nothing is coerced and no default filled
       * in. `format` is not asserted, nor are the patterns named in `findings`. A value that would take
       * more than `schemaStepsMax` evaluations or `schemaPatternStepsMax` of its patterns, or is deeper than
       * `jsonDepthMax`, breaks it too.
       */
      readonly check: (value: Json) => readonly Violation[];
      /** What of the schema is not enforced (`schema-pattern-unenforced`), with pointers into it. */
      readonly findings: readonly Finding[];
    }
  | {
      readonly usable: false;
      /** `SCHEMA_DIALECT_UNSUPPORTED` or `SCHEMA_UNUSABLE`. */
      readonly refusal: Refusal;
    };

export interface Checkers {
  /** The checker of the schema that `digest` identifies; made on first use, then remembered. */
  for(digest: string, schema: Json): Checker;
}

/**
 * Checkers by digest, at most `validatorsMax` of them: the one unused for longest is forgotten. Equal
 * digests must mean equal schemas; that is the caller's to hold.
 */
export function createCheckers(options: { validatorsMax: number }): Checkers {
  const remembered = new Map<string, Checker>();
  return {
    for: (digest, schema) => {
      const checker = remembered.get(digest) ?? createChecker(schema);
      remembered.delete(digest);
      remembered.set(digest, checker);
      const [oldest] = remembered.keys();
      if (remembered.size > options.validatorsMax && oldest !== undefined) remembered.delete(oldest);
      return checker;
    },
  };
}

function createChecker(schema: Json): Checker {
  const dialects = dialectsOf(schema);
  if (dialects === undefined) return unusable("SCHEMA_DIALECT_UNSUPPORTED", {});
  const [first, ...others] = dialects.map((dialect) => () => checkerIn(dialect, schema));
  const checker = first?.() ?? unusable("SCHEMA_DIALECT_UNSUPPORTED", {});
  if (checker.usable || checker.refusal.facts["reason"] !== "keyword-malformed") return checker;
  return others.map((create) => create()).find((other) => other.usable) ?? checker;
}

function checkerIn(dialect: Dialect, schema: Json): Checker {
  const copied = copySchema(schema, dialect);
  if ("fault" in copied) return unusable("SCHEMA_UNUSABLE", copied.fault);
  const costed = costOf(copied.copy.schema);
  if ("fault" in costed) return unusable("SCHEMA_UNUSABLE", costed.fault);
  return compiledChecker(copied.copy, costed.cost);
}

/** Compiles for doubles at once, for exact numbers when one is met; with exact numbers in the schema at once for those. */
function compiledChecker(copy: SchemaCopy, cost: SchemaCost): Checker {
  const exact = exactValidator(copy);
  const plain = copy.isExact ? exact() : compileSchema(copy, undefined);
  if ("cause" in plain) return unusable("SCHEMA_UNUSABLE", { reason: "not-compiled" }, plain.cause);
  const judge = "check" in plain ? plain.check : (value: Json) => verdict(plain.validate, value);
  return {
    usable: true,
    findings: copy.unenforced.map(patternFinding),
    check: (value) => {
      const weight = weigh(value, limits.jsonDepthMax);
      if (weight === undefined || stepsOf(weight, cost) > limits.schemaStepsMax) return tooLarge;
      copy.patternBudget.stepsLeft = limits.schemaPatternStepsMax;
      return withinBounds(() => (weight.isExact ? checkExactly(exact(), value) : judge(value)));
    },
  };
}

const tooLarge: readonly Violation[] = [violation("", "", "is too large or too deep to be checked against its schema")];

function stepsOf(weight: Weight, cost: SchemaCost): number {
  return weight.countsByDepth.reduce((steps, count, depth) => steps + count * cost.at(depth), 0);
}

/** Should the code that Ajv makes of a schema break on a value, then nobody has judged the value. */
const unjudged: readonly Violation[] = [violation("", "", "cannot be checked against its schema")];

/**
 * Deep values under long chains of references can exhaust the stack before they exhaust the budget, and long
 * texts the budget of patterns.
 */
function withinBounds(check: () => readonly Violation[]): readonly Violation[] {
  try {
    return check();
  } catch (error) {
    if (error instanceof RangeError) return tooLarge;
    if (error instanceof TypeError) return unjudged;
    throw error;
  }
}

function verdict(validate: ValidateFunction, value: Json, at?: DataValidationCxt): readonly Violation[] {
  if (validate(value, at)) return [];
  const violations = violationsOf(validate.errors ?? []);
  // The errors hold the value; a validator lives long after it.
  validate.errors = null;
  return violations;
}

interface ExactCheck {
  readonly check: (value: Json) => readonly Violation[];
}

/**
 * A validator for values with exact numbers, compiled when first asked for. The value stands in an object
 * of its own, so that a number at the root has a container to be looked up by.
 */
function exactValidator(copy: SchemaCopy): () => ExactCheck | { readonly cause: unknown } {
  let view: NumericView | undefined;
  let made: ExactCheck | { readonly cause: unknown } | undefined;
  const make = (): ExactCheck | { readonly cause: unknown } => {
    const compiled = compileSchema(copy, {
      originalOf: (shown, container, key) => (view === undefined ? shown : view.originalOf(shown, container, key)),
    });
    if ("cause" in compiled) return compiled;
    const check = (value: Json): readonly Violation[] => {
      view = numericView({ value });
      const holder: JsonObject = isJsonObject(view.view) ? view.view : { value };
      const shown = holder["value"] ?? null;
      const at = {
        instancePath: "",
        parentData: holder,
        parentDataProperty: "value",
        rootData: holder,
        dynamicAnchors: {},
      };
      const violations = verdict(compiled.validate, shown, at);
      view = undefined;
      return violations;
    };
    return { check };
  };
  return () => (made ??= make());
}

/** The exact keywords compile wherever the plain ones do; if not, that is this room's fault. */
function checkExactly(exact: ExactCheck | { readonly cause: unknown }, value: Json): readonly Violation[] {
  if ("cause" in exact) throw new Error("a schema compiled for doubles but not exactly", { cause: exact.cause });
  return exact.check(value);
}

function patternFinding(where: string): Finding {
  return { kind: "schema-pattern-unenforced", where, detail: "not a pattern of the linear engine", count: 1 };
}

function unusable(code: RefusalCode, facts: Readonly<Record<string, Fact>>, cause?: unknown): Checker {
  return { usable: false, refusal: { code, facts, ...(cause === undefined ? {} : { cause }) } };
}
