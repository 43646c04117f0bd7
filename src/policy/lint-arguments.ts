import { isJsonObject, readOwn } from "../model/json.ts";
import type { Json, JsonObject } from "../model/json.ts";
import { limits } from "../model/limits.ts";
import { createArgumentReader } from "./condition-arguments.ts";
import type { ArgumentUses, Literal } from "./condition-arguments.ts";
import { globsOf } from "./lint-catalog.ts";
import type { KnownItem, KnownItems } from "./lint-catalog.ts";
import type { Found, WrittenRule } from "./lint.ts";

/** Conditions that read arguments no tool has, or compare them with what they never are. */
export function argumentFindings(rules: readonly WrittenRule[], known: KnownItems): readonly Found[] {
  const read = createArgumentReader();
  return rules.flatMap(({ rule, source }) => {
    const { when } = source;
    if (when === undefined || rule.what.kind !== "tool") return [];
    const tools = globsOf(rule.what).flatMap((glob) => known.matching(rule.what, glob) ?? []);
    const schemas = tools.slice(0, limits.lintedToolsMax).flatMap(schemaOf);
    if (schemas.length === 0) return [];
    const texts = problemsIn(read(when), schemas, namesOf(tools));
    return texts.map(({ id, text }): Found => ({ id, source, at: "/when", text }));
  });
}

function schemaOf({ inputSchema }: KnownItem): readonly JsonObject[] {
  return inputSchema === undefined ? [] : [inputSchema];
}

function namesOf(tools: readonly KnownItem[]): string {
  const names = [...new Set(tools.map(({ name }) => name))];
  return names.length > 3 ? `${names.slice(0, 3).join(", ")} and ${names.length - 3} more` : names.join(", ");
}

interface Problem {
  readonly id: "unknown-argument" | "wrong-literal";
  readonly text: string;
}

function problemsIn(uses: ArgumentUses, schemas: readonly JsonObject[], names: string): readonly Problem[] {
  const unknown = distinct(uses.paths)
    .filter((path) => schemas.every((schema) => partAt(schema, path) === "none"))
    .map((path): Problem => ({
      id: "unknown-argument",
      text: `no ${path.join(".")} is among the arguments of ${names}`,
    }));
  const compared = uses.compared
    .filter(({ path, literal, isEqual }) => isWrong(schemas, path, (part) => fits(part, literal, isEqual)))
    .map(({ path, literal }): Problem => {
      const text = `${path.join(".")} of ${names} is never ${shown(literal)}: ${describe(schemas, path)}`;
      return { id: "wrong-literal", text };
    });
  const asText = distinct(uses.asText)
    .filter((path) => isWrong(schemas, path, (part) => mayBe(part, ["string"])))
    .map((path): Problem => ({
      id: "wrong-literal",
      text: `${path.join(".")} of ${names} is no text: ${describe(schemas, path)}`,
    }));
  return [...unknown, ...compared, ...asText];
}

function distinct(paths: readonly (readonly string[])[]): readonly (readonly string[])[] {
  return [...new Map(paths.map((path) => [JSON.stringify(path), path])).values()];
}

/** The schema of an argument; `none` where the arguments are listed and it is not among them; undefined: who knows. */
function partAt(schema: JsonObject, path: readonly string[]): JsonObject | "none" | undefined {
  let here: JsonObject = schema;
  for (const key of path) {
    const next = readOwn(readOwn(here, "properties"), key);
    if (next === undefined) return isPlain(here) ? "none" : undefined;
    if (!isJsonObject(next)) return undefined;
    here = next;
  }
  return here;
}

/** Keywords with which a schema may say of a field that `properties` does not name. */
const furtherKeywords: readonly string[] = [
  "$ref",
  "$dynamicRef",
  "allOf",
  "anyOf",
  "oneOf",
  "if",
  "patternProperties",
  "dependentSchemas",
];

function isPlain(schema: JsonObject): boolean {
  const further = readOwn(schema, "additionalProperties");
  return (
    isJsonObject(readOwn(schema, "properties")) &&
    !isJsonObject(further) &&
    furtherKeywords.every((keyword) => readOwn(schema, keyword) === undefined)
  );
}

/** Whether all schemas that say something of the argument say that it does not fit. */
function isWrong(
  schemas: readonly JsonObject[],
  path: readonly string[],
  fitting: (part: JsonObject) => boolean,
): boolean {
  const parts = schemas.map((schema) => partAt(schema, path));
  const told = parts.filter((part) => part !== "none" && part !== undefined);
  return told.length > 0 && !parts.includes(undefined) && !told.some(fitting);
}

function fits(part: JsonObject, literal: Literal, isEqual: boolean): boolean {
  if (!mayBe(part, typesOf(literal))) return false;
  const values = enumOf(part);
  return !isEqual || values === undefined || values.some((value) => isSame(value, literal));
}

function typesOf({ kind }: Literal): readonly string[] {
  if (kind === "text") return ["string"];
  if (kind === "boolean") return ["boolean"];
  return kind === "null" ? ["null"] : ["integer", "number"];
}

/** Whether a value of one of the types may stand there. Of a schema that says it otherwise, anything may. */
function mayBe(part: JsonObject, types: readonly string[]): boolean {
  const type = readOwn(part, "type");
  const said: readonly Json[] = typeof type === "string" ? [type] : Array.isArray(type) ? type : types;
  return said.some((one) => typeof one === "string" && types.includes(one));
}

function enumOf(part: JsonObject): readonly Json[] | undefined {
  const only = readOwn(part, "const");
  const values = readOwn(part, "enum");
  return only === undefined ? (Array.isArray(values) ? values : undefined) : [only];
}

function isSame(value: Json, literal: Literal): boolean {
  return typeof literal.value === "bigint" ? value === Number(literal.value) : value === literal.value;
}

function shown({ value }: Literal): string {
  return typeof value === "bigint" ? String(value) : JSON.stringify(value);
}

function describe(schemas: readonly JsonObject[], path: readonly string[]): string {
  const said = schemas.flatMap((schema) => {
    const part = partAt(schema, path);
    if (part === "none" || part === undefined) return [];
    const values = enumOf(part);
    return [
      values === undefined
        ? `its type is ${JSON.stringify(readOwn(part, "type"))}`
        : `it is one of ${JSON.stringify(values)}`,
    ];
  });
  return [...new Set(said)].slice(0, 2).join(", or ");
}
