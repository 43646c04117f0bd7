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
  /** For the caller. */
  readonly message: string | undefined;
}
