import { isJsonObject, readOwn } from "../model/json.ts";
import type { Json } from "../model/json.ts";
import { withoutKeys } from "./hop-meta.ts";

/**
 * Why `schema` is no form that a client can show: undefined when it is one. A form is a flat object of primitive
 * fields and choices (2025-11-25, elicitation, "Requested Schema"); whatever nests, refers elsewhere or has no type
 * would be shown by nobody, or by each client in another way. Keywords beside those of the specification stay, for
 * servers derive forms from their own schemas.
 */
export function formFault(schema: Json | undefined, fieldsMax: number): string | undefined {
  if (!isJsonObject(schema) || readOwn(schema, "type") !== "object") return "requestedSchema must be of type object";
  const properties = readOwn(schema, "properties");
  if (!isJsonObject(properties)) return "requestedSchema must have properties";
  const fields = Object.entries(properties);
  if (fields.length > fieldsMax) return `requestedSchema has more than ${fieldsMax} fields`;
  const strange = fields.find(([, field]) => !isField(field));
  if (strange !== undefined) return "requestedSchema has a field that is neither primitive nor a choice";
  const required = readOwn(schema, "required") ?? [];
  const names = Array.isArray(required) && required.every((name) => typeof name === "string");
  if (!names) return "required must be names";
  return Object.keys(schema).some((key) => combining.has(key)) ? "requestedSchema must be flat" : undefined;
}

/**
 * The form as answers are held to it: without `pattern`, which forms do not have (2025-11-25, elicitation,
 * "Requested Schema") though servers derive some with it. The server checks it; here, where each question may bring
 * new ones, to compile a hundred would take minutes.
 */
export function withoutPatterns(schema: Json): Json {
  const properties = readOwn(schema, "properties");
  if (!isJsonObject(schema) || !isJsonObject(properties)) return schema;
  const fields = Object.entries(properties).map(([name, field]) => [name, withoutPattern(field)] as const);
  return { ...schema, properties: Object.fromEntries(fields) };
}

function withoutPattern(field: Json): Json {
  if (!isJsonObject(field)) return field;
  const items = readOwn(field, "items");
  const plain = withoutKeys(field, ["pattern"]);
  return isJsonObject(items) ? { ...plain, items: withoutPattern(items) } : plain;
}

/** Keywords by which a schema is more than it shows. */
const combining: ReadonlySet<string> = new Set([
  ...["$ref", "$dynamicRef", "$defs", "definitions", "allOf", "anyOf", "oneOf", "not", "if", "then", "else"],
  ...["patternProperties", "dependentSchemas", "dependencies", "propertyNames"],
]);

/** The same of a field, where `oneOf` and `anyOf` are lists of options. */
const nesting: ReadonlySet<string> = new Set(["$ref", "$dynamicRef", "properties", "allOf", "not", "if"]);

const primitives: ReadonlySet<Json | undefined> = new Set(["string", "number", "integer", "boolean"]);

function isField(field: Json): boolean {
  if (!isJsonObject(field) || Object.keys(field).some((key) => nesting.has(key))) return false;
  const type = readOwn(field, "type");
  if (type === "array") return isChoice(readOwn(field, "items"));
  return primitives.has(type) && [readOwn(field, "oneOf"), readOwn(field, "anyOf")].every(isOptionsOrAbsent);
}

/** What an array's items are: words, or words with titles. */
function isChoice(items: Json | undefined): boolean {
  const words = readOwn(items, "enum");
  if (Array.isArray(words)) return words.every((word) => typeof word === "string");
  const options = readOwn(items, "anyOf") ?? readOwn(items, "oneOf");
  return options !== undefined && isOptionsOrAbsent(options);
}

function isOptionsOrAbsent(options: Json | undefined): boolean {
  if (options === undefined) return true;
  return Array.isArray(options) && options.every((option) => typeof readOwn(option, "const") === "string");
}
