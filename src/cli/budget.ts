import type { ToolCost } from "../catalog/context-cost.ts";
import type { LoadedFile } from "./load-file.ts";

/** What a server takes of a model's context, as one principal sees it. */
export interface ServerCost {
  readonly server: string;
  /** How the principal is described; undefined: everything that the server has. */
  readonly as: string | undefined;
  /** The presentation that applies; undefined: none. */
  readonly presentation: string | undefined;
  /** The largest first. */
  readonly tools: readonly ToolCost[];
  readonly instructionTokens: number;
  /** Undefined: nobody set one. */
  readonly budgetTokens: number | undefined;
  /** Upstreams whose definitions are not known, and why: what they would add is not in the sum. */
  readonly unknown: readonly { readonly upstream: string; readonly because: string }[];
}

export interface CostsAsked {
  /** Upstreams that the lock does not have are read now. */
  readonly live: boolean;
  /** Servers without a budget too. */
  readonly all: boolean;
}

/** Measures servers; the lines say what is wrong with the description of a principal. */
export type MeasureCosts = (
  read: LoadedFile,
  asked: CostsAsked,
) => Promise<{ readonly costs: readonly ServerCost[] } | { readonly faults: readonly string[] }>;

function tokensOf({ tools, instructionTokens }: ServerCost): number {
  return tools.reduce((sum, { tokens }) => sum + tokens, instructionTokens);
}

/** More than the budget already, whatever else there may be. */
export function isOver(cost: ServerCost): boolean {
  return cost.budgetTokens !== undefined && tokensOf(cost) > cost.budgetTokens;
}

/** Within the budget as far as it is known, which is not far enough to say so. */
export function isOpen(cost: ServerCost): boolean {
  return !isOver(cost) && cost.unknown.length > 0;
}

/** One line per server and principal, and below it what is most worth looking at. */
export function costLines(costs: readonly ServerCost[], detailed: boolean): readonly string[] {
  return ["Context (tokens, estimated at 4 bytes each)", ...costs.flatMap((cost) => linesOf(cost, detailed))];
}

/** Tools that are named: an operator who has to save tokens begins with these. */
const toolsNamedMax = 5;

function linesOf(cost: ServerCost, detailed: boolean): readonly string[] {
  const { server, as, presentation, tools, instructionTokens, unknown } = cost;
  const who = as === undefined ? "all that it has" : `as ${as}`;
  const shown = presentation === undefined ? "" : `, shown as ${presentation}`;
  const counted = tools.length === 1 ? "1 tool" : `${tools.length} tools`;
  const largest = tools.slice(0, toolsNamedMax).map(({ exposed, tokens }) => `      ${exposed}: ${tokens}`);
  return [
    `  ${server}, ${who}${shown}: ${sumOf(cost)} (${counted}, instructions ${instructionTokens})${verdictOn(cost)}`,
    ...(detailed || isOver(cost) ? largest : []),
    ...unknown.map(({ upstream, because }) => `      ${upstream}: not known, ${because}`),
  ];
}

function sumOf(cost: ServerCost): string {
  return cost.unknown.length === 0 ? String(tokensOf(cost)) : `at least ${tokensOf(cost)}`;
}

function verdictOn(cost: ServerCost): string {
  if (cost.budgetTokens === undefined) return "";
  if (isOver(cost)) return `; over the budget of ${cost.budgetTokens}`;
  return isOpen(cost)
    ? `; whether it is within the budget of ${cost.budgetTokens} cannot be told`
    : `; within the budget of ${cost.budgetTokens}`;
}
