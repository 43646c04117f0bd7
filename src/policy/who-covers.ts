import { isMapping } from "./read-fields.ts";

/** What a field of `who` asks for: any of the values, or all of them. */
interface Wanted {
  readonly all: boolean;
  readonly values: readonly unknown[];
}

/** By field, `claims.region` for a claim. Empty: anyone. */
export type WhoConditions = ReadonlyMap<string, Wanted>;

/** Reads the `who` of a rule that compiled. */
export function conditionsOnWho(who: Readonly<Record<string, unknown>>): WhoConditions {
  const conditions = new Map<string, Wanted>();
  for (const [field, entry] of Object.entries(who)) {
    if (field === "anyone") continue;
    if (field === "claims" && isMapping(entry)) {
      for (const [claim, value] of Object.entries(entry)) conditions.set(`claims.${claim}`, wantedIn(value));
    } else conditions.set(field, wantedIn(entry));
  }
  return conditions;
}

function wantedIn(entry: unknown): Wanted {
  if (!isMapping(entry)) return { all: false, values: listOf(entry) };
  return "all" in entry ? { all: true, values: listOf(entry["all"]) } : { all: false, values: listOf(entry["any"]) };
}

function listOf(entry: unknown): readonly unknown[] {
  return Array.isArray(entry) ? entry : [entry];
}

/** Whether everybody whom `narrow` means is meant by `wide`. False where it cannot be shown. */
export function whoCovers(wide: WhoConditions, narrow: WhoConditions): boolean {
  for (const [field, wanted] of wide) {
    const given = narrow.get(field);
    if (given === undefined || !implies(given, wanted)) return false;
  }
  return true;
}

function implies(given: Wanted, wanted: Wanted): boolean {
  const isWanted = (value: unknown): boolean => wanted.values.includes(value);
  if (!wanted.all) return given.all ? given.values.some(isWanted) : given.values.every(isWanted);
  // Of several values any of which will do, none is sure to be there.
  if (!given.all && given.values.length > 1) return false;
  return wanted.values.every((value) => given.values.includes(value));
}
