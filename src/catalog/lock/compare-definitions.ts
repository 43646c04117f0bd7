import { isJsonObject, readOwn, readOwnString, type Json, type JsonObject } from "../../model/json.ts";
import { compareSchemas } from "./compare-schema.ts";
import { difference, isSame, pointerTo, verb, type Difference, type Pair } from "./difference.ts";
import type { LockedKind } from "./document.ts";

/** What differs between two definitions of one item, member by member: nothing is left out, at whatever depth it is. */
export function compareDefinitions(kind: LockedKind, before: JsonObject, after: JsonObject): readonly Difference[] {
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return keys.flatMap((key) => {
    const pair = { before: readOwn(before, key), after: readOwn(after, key) };
    if (isSame(pair)) return [];
    const at = pointerTo("", key);
    if (kind === "tool" && schemaMembers.has(key)) return compareSchemas(at, pair);
    if (kind === "prompt" && key === "arguments") return compareArguments(at, pair);
    return compareValues(at, key === "annotations" ? "annotation" : key, pair);
  });
}

const schemaMembers: ReadonlySet<string> = new Set(["inputSchema", "outputSchema"]);

/** Maps member by member; everything else as a whole. Recursion is bounded by the depth that the parser allows. */
function compareValues(at: string, noun: string, pair: Pair): readonly Difference[] {
  const { before, after } = pair;
  if (isSame(pair)) return [];
  if (!isJsonObject(before) || !isJsonObject(after)) return [difference(at, `${noun} ${verb(pair)}`, pair)];
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return keys.flatMap((key) =>
    compareValues(pointerTo(at, key), noun, { before: readOwn(before, key), after: readOwn(after, key) }),
  );
}

/** By name, as a prompt has its arguments in a list. */
function compareArguments(at: string, pair: Pair): readonly Difference[] {
  const [before, after] = [byName(pair.before), byName(pair.after)];
  if (before === undefined || after === undefined) return [difference(at, `arguments ${verb(pair)}`, pair)];
  const told = [...new Set([...before.keys(), ...after.keys()])].flatMap((name) => {
    const own = { before: before.get(name), after: after.get(name) };
    if (own.before !== undefined && own.after !== undefined) return compareValues(pointerTo(at, name), "argument", own);
    return [
      difference(pointerTo(at, name), `argument ${verb(own)}`, own, own.before === undefined ? undefined : "narrowed"),
    ];
  });
  return told.length > 0 ? told : [difference(at, "order of arguments changed", pair)];
}

/** Undefined for a list whose items have no names of their own. */
function byName(value: Json | undefined): ReadonlyMap<string, JsonObject> | undefined {
  if (!Array.isArray(value)) return undefined;
  const named = new Map<string, JsonObject>();
  for (const argument of value) {
    const name = readOwnString(argument, "name");
    if (name === undefined || !isJsonObject(argument) || named.has(name)) return undefined;
    named.set(name, argument);
  }
  return named;
}
