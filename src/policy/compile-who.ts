import type { PolicyFault } from "./language.ts";
import type { Notes } from "./read-fields.ts";
import { readWho, type Who, type WhoNames } from "./who.ts";

export type CompiledWho =
  | { readonly ok: true; readonly who: Who; readonly warnings: readonly PolicyFault[] }
  | { readonly ok: false; readonly faults: readonly PolicyFault[] };

/**
 * Reads a `who` that stands outside of a rule, and only says whom something else is for. `path` stands before the place
 * in what is wrong with it. A doubt that concerns rules alone, that a scope in `who` denies, is none here.
 */
export function compileWho(value: unknown, names: WhoNames, path: string): CompiledWho {
  const notes: Notes = { file: path, faults: [], warnings: [] };
  const who = readWho({ notes, pointer: "" }, value, names);
  if (who === undefined || notes.faults.length > 0) return { ok: false, faults: notes.faults };
  const warnings = notes.warnings.filter((doubt) => !doubt.path.endsWith("#/scopes"));
  return { ok: true, who, warnings };
}
