import type { NameRules } from "../model/shown-name.ts";

export interface RawPresentation {
  id: string;
  who: Record<string, unknown>;
  rank?: number;
  rename?: Record<string, RawRenamed>;
  title?: Record<string, RawTexts>;
  describe?: Record<string, RawTexts>;
  hide?: Record<string, RawPatterns>;
  instructions?: string;
}

export interface RawRenamed {
  tools?: Record<string, string>;
  prompts?: Record<string, string>;
}

export interface RawTexts {
  tools?: Record<string, string>;
  prompts?: Record<string, string>;
  resources?: Record<string, string>;
  templates?: Record<string, string>;
}

export interface RawPatterns {
  tools?: string[];
  prompts?: string[];
  resources?: string[];
  templates?: string[];
}

export type RawNames = Partial<NameRules>;

export interface RawBudget {
  tokens: number;
  as?: Record<string, unknown>[];
}
