import { isJsonObject, readOwn, type Json, type JsonObject } from "../../src/model/json.ts";

/**
 * Judges by JSON Schema 2020-12 word for word, a keyword at a time and without any compiling: what the checker is held
 * against. Knows what the generator of its test makes: strings and small numbers, references to `#/$defs/name`.
 */
export function isValidPlainly(root: JsonObject, value: Json): boolean {
  return judge(root, value, root).valid;
}

/** What was evaluated, as the annotations of properties and items (§10.3, §11) say it. Nothing where it does not hold. */
interface Judgement {
  readonly valid: boolean;
  readonly seen: ReadonlySet<string>;
}

const refuted: Judgement = { valid: false, seen: new Set() };

function judge(schema: Json, value: Json, root: JsonObject): Judgement {
  if (!isJsonObject(schema)) return { valid: schema === true, seen: new Set() };
  const seen = new Set<string>();
  let valid = assertionsHold(schema, value);
  const parts = [inPlace(schema, value, root), ofChildren(schema, value, root)];
  for (const part of parts) {
    valid &&= part.valid;
    for (const name of part.seen) seen.add(name);
  }
  for (const keyword of ["unevaluatedProperties", "unevaluatedItems"]) {
    const rest = readOwn(schema, keyword);
    if (rest === undefined || Array.isArray(value) !== (keyword === "unevaluatedItems")) continue;
    for (const [name, child] of childrenOf(value)) {
      if (seen.has(name)) continue;
      valid &&= judge(rest, child, root).valid;
      seen.add(name);
    }
  }
  return valid ? { valid, seen } : refuted;
}

function assertionsHold(schema: JsonObject, value: Json): boolean {
  const [type, wanted, names] = [readOwn(schema, "type"), readOwn(schema, "const"), readOwn(schema, "required")];
  if (type !== undefined && type !== typeOf(value)) return false;
  if (wanted !== undefined && JSON.stringify(wanted) !== JSON.stringify(value)) return false;
  if (readOwn(schema, "uniqueItems") === true && Array.isArray(value)) {
    if (new Set(value.map((one) => JSON.stringify(one))).size < value.length) return false;
  }
  if (!Array.isArray(names) || !isJsonObject(value)) return true;
  return names.every((name) => typeof name === "string" && Object.hasOwn(value, name));
}

function typeOf(value: Json): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

function inPlace(schema: JsonObject, value: Json, root: JsonObject): Judgement {
  const of = (keyword: string): readonly Judgement[] => listAt(schema, keyword).map((one) => judge(one, value, root));
  const [all, any, one] = [of("allOf"), of("anyOf"), of("oneOf")];
  const [ruledOut, reference] = [readOwn(schema, "not"), readOwn(schema, "$ref")];
  const met = [...all, ...any, ...one];
  let valid = all.every((each) => each.valid);
  if (any.length > 0) valid &&= any.some((each) => each.valid);
  if (one.length > 0) valid &&= one.filter((each) => each.valid).length === 1;
  if (ruledOut !== undefined) valid &&= !judge(ruledOut, value, root).valid;
  const must = [...conditional(schema, value, root), ...dependents(schema, value, root)];
  if (typeof reference === "string") {
    const definition = readOwn(readOwn(root, "$defs"), reference.slice("#/$defs/".length));
    must.push(judge(definition ?? false, value, root));
  }
  valid &&= must.every((each) => each.valid);
  return { valid, seen: new Set([...met, ...must].flatMap(({ seen }) => [...seen])) };
}

function conditional(schema: JsonObject, value: Json, root: JsonObject): Judgement[] {
  const condition = readOwn(schema, "if");
  if (condition === undefined) return [];
  const met = judge(condition, value, root);
  const then = judge(readOwn(schema, met.valid ? "then" : "else") ?? true, value, root);
  return [{ valid: then.valid, seen: new Set([...met.seen, ...then.seen]) }];
}

function dependents(schema: JsonObject, value: Json, root: JsonObject): Judgement[] {
  if (!isJsonObject(value)) return [];
  return mapAt(schema, "dependentSchemas")
    .filter(([name]) => Object.hasOwn(value, name))
    .map(([, dependent]) => judge(dependent, value, root));
}

function ofChildren(schema: JsonObject, value: Json, root: JsonObject): Judgement {
  if (Array.isArray(value)) return ofItems(schema, value, root);
  if (!isJsonObject(value)) return { valid: true, seen: new Set() };
  const seen = new Set<string>();
  let valid = true;
  const [named, patterns] = [new Map(mapAt(schema, "properties")), mapAt(schema, "patternProperties")];
  for (const [name, child] of childrenOf(value)) {
    const fitting = patterns.filter(([pattern]) => new RegExp(pattern, "u").test(name)).map(([, one]) => one);
    const wanted = [...(named.has(name) ? [named.get(name) ?? true] : []), ...fitting];
    const rest = readOwn(schema, "additionalProperties");
    if (wanted.length === 0 && rest !== undefined) wanted.push(rest);
    for (const one of wanted) valid &&= judge(one, child, root).valid;
    if (wanted.length > 0) seen.add(name);
  }
  return { valid, seen };
}

function ofItems(schema: JsonObject, items: readonly Json[], root: JsonObject): Judgement {
  const seen = new Set<string>();
  let valid = true;
  const [first, rest, contained] = [
    listAt(schema, "prefixItems"),
    readOwn(schema, "items"),
    readOwn(schema, "contains"),
  ];
  let found = 0;
  for (const [at, item] of items.entries()) {
    const wanted = first[at] ?? rest;
    if (wanted !== undefined) valid &&= judge(wanted, item, root).valid;
    const isContained = contained !== undefined && judge(contained, item, root).valid;
    if (isContained) found += 1;
    if (wanted !== undefined || isContained) seen.add(String(at));
  }
  const least = readOwn(schema, "minContains");
  if (contained !== undefined) valid &&= found >= (typeof least === "number" ? least : 1);
  return { valid, seen };
}

function childrenOf(value: Json): readonly [string, Json][] {
  if (Array.isArray(value)) return value.map((item, at) => [String(at), item]);
  return isJsonObject(value) ? Object.entries(value) : [];
}

function listAt(schema: JsonObject, keyword: string): readonly Json[] {
  const value = readOwn(schema, keyword);
  return Array.isArray(value) ? value : [];
}

function mapAt(schema: JsonObject, keyword: string): readonly [string, Json][] {
  const value = readOwn(schema, keyword);
  return isJsonObject(value) ? Object.entries(value) : [];
}
