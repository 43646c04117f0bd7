import type { Obligations, Shaping } from "../model/obligations.ts";
import type { Condition } from "./condition.ts";
import type { Effect } from "./language.ts";
import type { What } from "./what.ts";
import type { Who } from "./who.ts";

/** A rule, compiled. */
export interface Rule {
  readonly id: string;
  readonly effect: Effect;
  /** Rank among all rules by id. Rules are tried in this order, so files and lines can be moved freely. */
  readonly rank: number;
  readonly who: Who;
  readonly what: What;
  readonly when: Condition | undefined;
  /** Scopes an allow needs on top; empty when none. */
  readonly stepUp: readonly string[];
  /** What a constrain lays upon a use, and does to an item's shape; both undefined for other effects. */
  readonly duties: Duties | undefined;
  readonly shape: Shape | undefined;
  /** For the caller. */
  readonly message: string | undefined;
}

/** What one rule says of the use of an item. */
export type Duties = Omit<Obligations, "rules">;

/** What one rule says of an item's shape. */
export type Shape = Omit<Shaping, "rules">;

/** A rule that `obligationsOf` takes from. */
export interface DutyRule extends Rule {
  readonly duties: Duties;
}

/** A rule that `shapingOf` takes from. */
export interface ShapeRule extends Rule {
  readonly shape: Shape;
}

export function isDutyRule(rule: Rule): rule is DutyRule {
  return rule.duties !== undefined;
}

export function isShapeRule(rule: Rule): rule is ShapeRule {
  return rule.shape !== undefined;
}
