import type { JsonObject } from "../../model/json.ts";
import { refuse, type Refusal } from "../../model/refusal.ts";
import { ok, type Result } from "../../model/result.ts";
import type { Entry } from "../../catalog/table.ts";
import type { KnownArguments } from "../../catalog/shaped-entry.ts";
import { noteFindings, type Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";

/**
 * What becomes of arguments that the shown schema does not name, where policy says: they are refused by name, or taken
 * away before anything else looks at the arguments, with a finding for each. Whatever the operator has schemas checked
 * for otherwise.
 */
export function settleUnknown(x: Exchange, g: Gateway, { shaped }: Entry): Refusal | undefined {
  const args = x.args ?? {};
  if (shaped?.known === undefined) return undefined;
  const unknown = unknownIn(args, g, shaped.known);
  if (!unknown.ok) return unknown.refusal;
  if (unknown.value.length === 0) return undefined;
  if (shaped.unknownArguments === "reject") return refused(unknown.value, shaped.rules);
  const names = new Set(unknown.value);
  x.args = Object.fromEntries(Object.entries(args).filter(([name]) => !names.has(name)));
  for (const name of unknown.value)
    noteFindings(x, [{ kind: "argument-removed", where: pointerTo(name), detail: "unknown argument", count: 1 }]);
  return undefined;
}

function refused(unknown: readonly string[], rules: readonly string[]): Refusal {
  const names = unknown.slice(0, namesToldMax).map((name) => name.slice(0, nameCharsTold));
  const message = `There is no argument ${names.join(", ")} here.`;
  return refuse("ARGUMENTS_INVALID", { unknown: names, rules: [...rules] }, { message }).refusal;
}

const namesToldMax = 20;
const nameCharsTold = 100;

function unknownIn(args: JsonObject, g: Gateway, { names, patterns }: KnownArguments): Result<readonly string[]> {
  const others = Object.keys(args).filter((name) => !names.has(name));
  if (patterns === undefined || others.length === 0) return ok(others);
  const checker = g.checkers.for(patterns.digest, patterns.schema);
  if (!checker.usable) return { ok: false, refusal: checker.refusal };
  return ok(others.filter((name) => checker.check({ [name]: null }).length > 0));
}

function pointerTo(name: string): string {
  return `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`.slice(0, nameCharsTold);
}
