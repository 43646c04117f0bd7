import { refuse, type Refusal } from "../../model/refusal.ts";
import { showsMore, type Entry, type KeyedSchema } from "../../catalog/table.ts";
import type { Violation } from "../../schema/checker.ts";
import { noteFindings, type Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";

/**
 * Holds the exchange's arguments to a schema, in the mode the operator chose for the upstream; `unfit` makes the refusal
 * of arguments that do not fit. A tool that is shown under a schema that takes more is held to its own in every mode.
 * A schema that cannot be compiled within its budget refuses the call, it is never skipped in silence.
 */
export function checkAgainst(
  x: Exchange,
  g: Gateway,
  what: {
    entry: Entry;
    schema: KeyedSchema | undefined;
    unfit: (violations: readonly Violation[]) => Refusal;
  },
): Refusal | undefined {
  const chosen = g.treatments.get(what.entry.item.upstream)?.argumentSchemas ?? "enforce";
  const mode = showsMore(what.entry) ? "enforce" : chosen;
  if (what.schema === undefined || mode === "off") return undefined;
  const checker = g.checkers.for(what.schema.digest, what.schema.schema);
  if (!checker.usable) return mode === "enforce" ? checker.refusal : undefined;
  const violations = checker.check(x.args ?? {});
  if (violations.length === 0) return undefined;
  if (mode === "enforce") return what.unfit(violations);
  noteViolations(x, violations);
  return undefined;
}

/** The caller's own fault, who can correct it. */
export function argumentsUnfit(violations: readonly Violation[]): Refusal {
  return refuse("ARGUMENTS_INVALID", factsOf(violations), { message: describe(violations) }).refusal;
}

export function noteViolations(x: Exchange, violations: readonly Violation[]): void {
  for (const violation of violations)
    noteFindings(x, [{ kind: "schema-violated", where: violation.pointer, detail: violation.message, count: 1 }]);
}

export function factsOf(violations: readonly Violation[]): { pointers: string[]; keywords: string[] } {
  return { pointers: violations.map(({ pointer }) => pointer), keywords: violations.map(({ keyword }) => keyword) };
}

function describe(violations: readonly Violation[]): string {
  return violations.map(({ pointer, message }) => `${pointer === "" ? "The value" : pointer} ${message}.`).join(" ");
}
