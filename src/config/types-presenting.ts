import type { ByName, ItemPatterns } from "./types.ts";

/** How some principals see a server. Keys of the maps are upstreams; within them, the upstreams' own names. */
export interface PresentationConfig {
  readonly id: string;
  /** As written; policy reads it, as it reads that of a rule. */
  readonly who: Readonly<Record<string, unknown>>;
  /** The lowest that matches applies. */
  readonly rank: number;
  readonly rename: ByName<RenamedItems>;
  readonly title: ByName<ItemTexts>;
  readonly describe: ByName<ItemTexts>;
  readonly hide: ByName<ItemPatterns>;
  /** Undefined: the server's own. */
  readonly instructions: string | undefined;
}

/** Original name to the whole exposed name: no prefix is added. */
export interface RenamedItems {
  readonly tools: ByName<string>;
  readonly prompts: ByName<string>;
}

/** Original name to the text that is shown. */
export interface ItemTexts {
  readonly tools: ByName<string>;
  readonly prompts: ByName<string>;
  readonly resources: ByName<string>;
  readonly templates: ByName<string>;
}

export interface BudgetConfig {
  readonly tokens: number;
  /** Descriptions of principals as written, which policy reads. Empty: everything that the server has is measured. */
  readonly as: readonly Readonly<Record<string, unknown>>[];
}

/** What the operator says of some items of an upstream. Exactly one list of globs, over original names, is there. */
export interface ItemNotesConfig {
  readonly tool?: readonly string[];
  readonly prompt?: readonly string[];
  readonly resource?: readonly string[];
  readonly template?: readonly string[];
  readonly labels?: readonly string[];
  /** Of tools alone. */
  readonly annotations?: ToolAnnotations;
  readonly title?: string;
}

export interface ToolAnnotations {
  readonly readOnly?: boolean;
  readonly destructive?: boolean;
  readonly idempotent?: boolean;
  readonly openWorld?: boolean;
}
