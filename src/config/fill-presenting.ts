import { defaults } from "./defaults.ts";
import { mapByName } from "./map-by-name.ts";
import type { RawBudget, RawPatterns, RawPresentation } from "./raw-presenting.ts";
import type { RawRenamed, RawTexts } from "./raw-presenting.ts";
import type { ItemPatterns } from "./types.ts";
import type { BudgetConfig, ItemNotesConfig, ItemTexts, PresentationConfig, RenamedItems } from "./types-presenting.ts";

export function fillPresentation(raw: RawPresentation): PresentationConfig {
  return {
    id: raw.id,
    who: raw.who,
    rank: raw.rank ?? defaults.presentationRank,
    rename: mapByName(raw.rename ?? {}, fillRenamed),
    title: mapByName(raw.title ?? {}, fillTexts),
    describe: mapByName(raw.describe ?? {}, fillTexts),
    hide: mapByName(raw.hide ?? {}, fillPatterns),
    instructions: raw.instructions,
  };
}

export function fillRenamed(raw: RawRenamed): RenamedItems {
  return { tools: mapByName(raw.tools ?? {}, String), prompts: mapByName(raw.prompts ?? {}, String) };
}

export function fillTexts(raw: RawTexts): ItemTexts {
  return {
    tools: mapByName(raw.tools ?? {}, String),
    prompts: mapByName(raw.prompts ?? {}, String),
    resources: mapByName(raw.resources ?? {}, String),
    templates: mapByName(raw.templates ?? {}, String),
  };
}

export function fillPatterns(raw: RawPatterns): ItemPatterns {
  return { tools: raw.tools, prompts: raw.prompts, resources: raw.resources, templates: raw.templates };
}

export function fillBudget({ tokens, as = [] }: RawBudget): BudgetConfig {
  return { tokens, as };
}

export function fillItemNotes(items: readonly ItemNotesConfig[] = []): readonly ItemNotesConfig[] {
  return items;
}
