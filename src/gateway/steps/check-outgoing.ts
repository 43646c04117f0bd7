import type { Entry } from "../../catalog/table.ts";
import { refuse, type Refusal } from "../../model/refusal.ts";
import { methodOf, type Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { checkPrompt } from "./check-arguments.ts";
import { checkAgainst, factsOf } from "./schema-check.ts";

/**
 * Holds arguments and presets together to the upstream's own schema, or a prompt's own arguments. Without presets that
 * is what was checked already. What does not fit is PRESET_UNFIT: policy and upstream disagree, and the caller can do
 * nothing about it. An unfinished prompt (completion) has no arguments that could fit.
 */
export function checkOutgoing(x: Exchange, g: Gateway): Refusal | undefined {
  const entry = x.target?.entry;
  const { shaped } = entry ?? {};
  if (entry === undefined || shaped === undefined || shaped.presets.size === 0) return undefined;
  if (methodOf(x) === "completion/complete") return undefined;
  if (entry.item.kind === "prompt")
    return checkPrompt(entry.item.definition, x.args ?? {}) === undefined ? undefined : unfit(entry, {});
  return checkAgainst(x, g, {
    entry,
    schema: shaped.own,
    unfit: (violations) => unfit(entry, factsOf(violations)),
  });
}

function unfit({ shaped }: Entry, facts: Readonly<Record<string, string[]>>): Refusal {
  const presets = [...(shaped?.presets.keys() ?? [])];
  return refuse("PRESET_UNFIT", { reason: "arguments", presets, rules: [...(shaped?.rules ?? [])], ...facts }).refusal;
}
