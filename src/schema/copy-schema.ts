import type { Json, JsonObject } from "../model/json.ts";
import { ExactNumber, isJsonObject, readOwn } from "../model/json.ts";
import { limits } from "../model/limits.ts";
import type { Fact } from "../model/refusal.ts";
import type { Dialect } from "./dialect.ts";
import { dialectNamed } from "./dialect.ts";
import type { KeywordShape } from "./keywords.ts";
import { keywordShapes } from "./keywords.ts";
import { isShaped } from "./keyword-value.ts";
import type { LinearPattern, PatternBudget } from "./pattern.ts";
import { linearPattern } from "./pattern.ts";
import type { References } from "./reference.ts";
import { references } from "./reference.ts";

/** A schema as the validator sees it. */
export interface SchemaCopy {
  readonly dialect: Dialect;
  /** Allow-listed keywords only; references are `#` or `#/$defs/n`, all definitions stand in `$defs` of the root. */
  readonly schema: JsonObject;
  readonly patterns: ReadonlyMap<string, LinearPattern>;
  /** What the patterns share; without steps until whoever checks a value gives it some. */
  readonly patternBudget: PatternBudget;
  /** Where patterns stand that are not enforced. */
  readonly unenforced: readonly string[];
  /** True when some bound, `enum` or `const` holds a number that no double holds. */
  readonly isExact: boolean;
}

/** Facts of a `SCHEMA_UNUSABLE` refusal: `reason` from a closed set, `where` a pointer into the schema. */
export type SchemaFault = Readonly<Record<string, Fact>>;

export type CopyResult = { readonly copy: SchemaCopy } | { readonly fault: SchemaFault };

const whereCharsMax = 200;
const schemaShapes: ReadonlySet<KeywordShape> = new Set<KeywordShape>(["schema", "schemas", "schema-or-schemas"]);
const mapShapes: ReadonlySet<KeywordShape> = new Set<KeywordShape>(["schema-map", "dependency-map", "pattern-map"]);

/**
 * Clones the part of `root` that can be reached and judged, within `limits.schema*`. What is refused:
 * a keyword of the wrong type, a non-local or dangling reference, a foreign `$id`, another `$schema`
 * inside, more depth, subschemas, values, dependent names or patterns than allowed, or larger patterns. Unknown keywords are left out.
 */
export function copySchema(root: Json, dialect: Dialect): CopyResult {
  const copier = new SchemaCopier(root, dialect);
  return copier.copy();
}

class SchemaCopier {
  readonly #root: Json;
  readonly #dialect: Dialect;
  readonly #shapes: ReadonlyMap<string, KeywordShape>;
  readonly #references: References;
  readonly #patterns = new Map<string, LinearPattern>();
  readonly #patternBudget: PatternBudget = {
    stepsLeft: 0,
    instructionsLeft: limits.schemaPatternsInstructionsMax,
  };
  readonly #unenforced: string[] = [];
  /** Targets of references in the order they were met, which is their number in `$defs`. */
  readonly #targets: Json[] = [];
  readonly #numbers = new Map<Json, number>();
  #fault: SchemaFault | undefined;
  #subschemas = 0;
  #patternCount = 0;
  #dependents = 0;
  #isExact = false;

  constructor(root: Json, dialect: Dialect) {
    this.#root = root;
    this.#dialect = dialect;
    this.#shapes = keywordShapes[dialect];
    this.#references = references(root);
  }

  copy(): CopyResult {
    const copied = this.#copyOne(this.#root, "", 0);
    const definitions: Record<string, Json> = {};
    for (let number = 0; number < this.#targets.length && this.#fault === undefined; number++) {
      definitions[String(number)] = this.#copyOne(this.#targets[number] ?? true, `(definition ${number})`, 0);
    }
    if (this.#fault !== undefined) return { fault: this.#fault };
    const root = isJsonObject(copied) ? copied : copied === true ? {} : { not: {} };
    const schema = this.#targets.length === 0 ? root : { ...root, $defs: definitions };
    return {
      copy: {
        dialect: this.#dialect,
        schema,
        patterns: this.#patterns,
        patternBudget: this.#patternBudget,
        unenforced: this.#unenforced,
        isExact: this.#isExact,
      },
    };
  }

  #refuse(reason: string, where: string, facts: SchemaFault = {}): Json {
    this.#fault ??= { reason, where: where.slice(0, whereCharsMax), ...facts };
    return false;
  }

  #copyOne(schema: Json, where: string, depth: number): Json {
    if (this.#fault !== undefined) return false;
    if (depth > limits.schemaDepthMax) return this.#refuse("too-deep", where, { limit: limits.schemaDepthMax });
    if (++this.#subschemas > limits.schemaSubschemasMax) {
      return this.#refuse("too-many-subschemas", where, { limit: limits.schemaSubschemasMax });
    }
    if (typeof schema === "boolean") return schema;
    if (!isJsonObject(schema)) return this.#refuse("not-a-schema", where);
    if (!this.#isOwnResource(schema)) return this.#refuse("foreign-resource", where);
    const reference = this.#copyReference(schema, where);
    // Before 2019-09 a reference stands alone: "All other properties in a $ref object MUST be ignored".
    if (reference !== undefined && this.#dialect.startsWith("draft")) return { $ref: reference };
    const members = this.#copyKeywords(schema, where, depth);
    return reference === undefined ? members : { ...members, $ref: reference };
  }

  /** No base URI of its own and no dialect of its own. */
  #isOwnResource(schema: JsonObject): boolean {
    const id = readOwn(schema, "$id");
    if (id !== undefined && !(typeof id === "string" && id.startsWith("#"))) return false;
    const declared = readOwn(schema, "$schema");
    return (
      declared === undefined ||
      schema === this.#root ||
      (typeof declared === "string" && dialectNamed(declared) === this.#dialect)
    );
  }

  #copyReference(schema: JsonObject, where: string): string | undefined {
    const since2019 = !this.#dialect.startsWith("draft");
    const keywords = since2019 ? ["$ref", "$dynamicRef", "$recursiveRef"] : ["$ref"];
    const found = keywords.filter((keyword) => Object.hasOwn(schema, keyword));
    const [keyword] = found;
    if (keyword === undefined) return undefined;
    const reference = schema[keyword];
    if (found.length > 1 || typeof reference !== "string") {
      this.#refuse("keyword-malformed", where, { keyword });
      return undefined;
    }
    const resolved = this.#references.resolve(reference);
    if (typeof resolved === "object") return this.#number(resolved.target);
    this.#refuse(resolved, where);
    return undefined;
  }

  #number(target: Json): string {
    if (target === this.#root) return "#";
    const known = this.#numbers.get(target);
    if (known !== undefined) return `#/$defs/${known}`;
    this.#numbers.set(target, this.#targets.length);
    this.#targets.push(target);
    return `#/$defs/${this.#targets.length - 1}`;
  }

  #copyKeywords(schema: JsonObject, where: string, depth: number): JsonObject {
    const members: [string, Json][] = [];
    const partial = new Set<string>();
    for (const [keyword, value] of Object.entries(schema)) {
      const shape = this.#shapes.get(keyword);
      if (shape === undefined) continue;
      const at = `${where}/${keyword}`;
      if (!isShaped(value, shape)) this.#refuse("keyword-malformed", at, { keyword });
      if (this.#fault !== undefined) return {};
      const before = this.#unenforced.length;
      const copied = this.#copyValue(value, shape, at, depth);
      if (this.#unenforced.length > before) partial.add(keyword);
      if (copied !== undefined) members.push([keyword, copied]);
    }
    return consistent(partial.size === 0 ? members : loosened(members, partial));
  }

  #copyValue(value: Json, shape: KeywordShape, where: string, depth: number): Json | undefined {
    if (shape === "pattern") return typeof value === "string" && this.#enforces(value, where) ? value : undefined;
    if (mapShapes.has(shape)) return this.#copyMap(value, shape, where, depth);
    if (shape === "names-map") return this.#countDependents(value, where);
    if (!schemaShapes.has(shape)) return this.#copyPlain(value, where);
    return Array.isArray(value)
      ? value.map((element, index) => this.#copyOne(element, `${where}/${index}`, depth + 1))
      : this.#copyOne(value, where, depth + 1);
  }

  #copyMap(value: Json, shape: KeywordShape, where: string, depth: number): Json {
    const members: [string, Json][] = [];
    this.#countDependents(value, where);
    for (const [name, member] of Object.entries(isJsonObject(value) ? value : {})) {
      if (this.#fault !== undefined) break;
      const at = `${where}/${name}`;
      if (shape === "pattern-map" && !this.#enforces(name, at)) continue;
      members.push([name, Array.isArray(member) ? member : this.#copyOne(member, at, depth + 1)]);
    }
    return Object.fromEntries(members);
  }

  /**
   * Names that one property demands of its neighbours become a line of code each: Ajv takes 7 s over 20,000
   * of them, and then has no stack left. An empty list counts as one.
   */
  #countDependents(value: Json, where: string): Json {
    for (const names of Object.values(isJsonObject(value) ? value : {})) {
      if (Array.isArray(names)) this.#dependents += Math.max(1, names.length);
    }
    if (this.#dependents <= limits.schemaEnumMax) return value;
    return this.#refuse("too-many-values", where, { limit: limits.schemaEnumMax });
  }

  #enforces(source: string, where: string): boolean {
    if (++this.#patternCount > limits.schemaPatternsMax) {
      this.#refuse("too-many-patterns", where, { limit: limits.schemaPatternsMax });
      return false;
    }
    const pattern = this.#patterns.get(source) ?? linearPattern(source, this.#patternBudget);
    if (pattern === "too-large") this.#refuse("pattern-too-large", where);
    else if (pattern === "unenforceable") this.#unenforced.push(where.slice(0, whereCharsMax));
    else this.#patterns.set(source, pattern);
    return typeof pattern === "object";
  }

  #copyPlain(value: Json, where: string): Json {
    if (Array.isArray(value) && value.length > limits.schemaEnumMax) {
      return this.#refuse("too-many-values", where, { limit: limits.schemaEnumMax });
    }
    this.#isExact ||= holdsExact(value);
    return value;
  }
}

function holdsExact(value: Json): boolean {
  if (value instanceof ExactNumber) return true;
  if (Array.isArray(value)) return value.some(holdsExact);
  return isJsonObject(value) && Object.values(value).some(holdsExact);
}

/** Keywords whose subschemas are applied to the same value, so that they decide what counts as evaluated. */
const inPlace = ["allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "patternProperties"];

/**
 * A subschema that lost a pattern accepts more than its author meant. Under `not` and `if` more would
 * become less, under `oneOf` two branches could match that do not, and what a lost name pattern would
 * have covered must not count as additional: these let go as well. `partial` holds the keywords with a
 * loss somewhere below; a loss behind a reference is not followed.
 */
function loosened(members: readonly [string, Json][], partial: ReadonlySet<string>): [string, Json][] {
  const dropped = new Set(["not", "if"].filter((keyword) => partial.has(keyword)));
  if (partial.has("patternProperties")) dropped.add("additionalProperties");
  if (inPlace.some((keyword) => partial.has(keyword))) dropped.add("unevaluatedProperties").add("unevaluatedItems");
  const hasAnyOf = members.some(([keyword]) => keyword === "anyOf");
  if (partial.has("oneOf") && hasAnyOf) dropped.add("oneOf");
  return members
    .filter(([keyword]) => !dropped.has(keyword))
    .map(([keyword, value]) => [keyword === "oneOf" && partial.has("oneOf") ? "anyOf" : keyword, value]);
}

/** Without the keywords that say nothing when their neighbour is missing. */
function consistent(members: readonly [string, Json][]): JsonObject {
  const present = new Set(members.map(([keyword]) => keyword));
  const dropped = new Set<string>();
  if (!present.has("if")) dropped.add("then").add("else");
  if (!present.has("contains")) dropped.add("minContains").add("maxContains");
  return apartFromTuples(members.filter(([keyword]) => !dropped.has(keyword)));
}

/** Keywords about all items, which Ajv 8 passes over on a list that ends before the tuple's first schema. */
const aboutAllItems: ReadonlySet<string> = new Set(["contains", "minContains", "maxContains", "uniqueItems"]);

/** With what is asked of all items in a schema of its own where a tuple stands beside it. */
function apartFromTuples(members: readonly [string, Json][]): JsonObject {
  const hasTuple = members.some(([key, value]) => key === "prefixItems" || (key === "items" && Array.isArray(value)));
  const apart = members.filter(([keyword]) => hasTuple && aboutAllItems.has(keyword));
  if (apart.length === 0) return Object.fromEntries(members);
  const rest = Object.fromEntries(members.filter(([keyword]) => !aboutAllItems.has(keyword)));
  const conjuncts = readOwn(rest, "allOf");
  return { ...rest, allOf: [...(Array.isArray(conjuncts) ? conjuncts : []), Object.fromEntries(apart)] };
}
