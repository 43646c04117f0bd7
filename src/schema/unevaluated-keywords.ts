import type { FuncKeywordDefinition, ValidateFunction } from "ajv";
import type { ErrorObject } from "ajv/dist/core.js";
import type { DataValidationCxt, SchemaValidateFunction } from "ajv/dist/types/index.js";
import type { Json, JsonObject } from "../model/json.ts";
import { isJsonObject } from "../model/json.ts";
import type { SchemaCopy } from "./copy-schema.ts";
import { evaluatedBeside, type Judge } from "./evaluated.ts";

/** The validator of a subschema of the copy, found by identity. */
export type ValidatorOf = (subschema: JsonObject) => ValidateFunction;

type Keyword = "unevaluatedProperties" | "unevaluatedItems";
type Errors = readonly Partial<ErrorObject>[];

interface Place {
  readonly value: Json;
  readonly at: DataValidationCxt;
}

/** `unevaluatedProperties` and `unevaluatedItems`, with an account of their own in place of Ajv's. */
export function unevaluatedKeywords(copy: SchemaCopy, validatorOf: ValidatorOf): readonly FuncKeywordDefinition[] {
  const errorsOf = (subschema: Json, { value, at }: Place): Errors => errorsBy(subschema, { value, at }, validatorOf);
  const judge: Judge<DataValidationCxt> = {
    dialect: copy.dialect,
    root: copy.schema,
    patterns: copy.patterns,
    holds: (subschema, value, at) => errorsOf(subschema, { value, at }).length === 0,
    below: (value, key, at) => below({ value, at }, key),
  };
  return (["unevaluatedProperties", "unevaluatedItems"] as const).map((keyword) => define(keyword, judge, errorsOf));
}

function define(
  keyword: Keyword,
  judge: Judge<DataValidationCxt>,
  errorsOf: (subschema: Json, place: Place) => Errors,
): FuncKeywordDefinition {
  const validate: SchemaValidateFunction = (rest: Json, value: Json, parent?: JsonObject, at?: DataValidationCxt) => {
    if (parent === undefined || at === undefined) throw new Error("a keyword without its schema or place");
    const seen = evaluatedBeside(parent, value, at, judge);
    if (seen.all) return true;
    for (const [key, child] of childrenOf(value)) {
      if (seen.keys.has(key)) continue;
      const place = { value: child, at: below({ value, at }, key) };
      const errors = rest === false ? [notAllowed(keyword, key)] : errorsOf(rest, place);
      if (errors.length === 0) continue;
      validate.errors = errors.map(withItsSchema);
      return false;
    }
    return true;
  };
  return { keyword, type: keyword === "unevaluatedItems" ? "array" : "object", validate, errors: true };
}

/** Items are told by how many come before the first that nothing allows. */
function notAllowed(keyword: Keyword, key: string): Partial<ErrorObject> {
  const params = keyword === "unevaluatedItems" ? { len: Number(key) } : { unevaluatedProperty: key };
  return { keyword, params };
}

/** Ajv writes the keyword's own schema over that of every error it is told; messages are made from the error's. */
function withItsSchema(error: Partial<ErrorObject>): Partial<ErrorObject> {
  const { schema }: { schema?: unknown } = error;
  if (schema === undefined) return error;
  return Object.defineProperty({ ...error }, "schema", { get: () => schema, set: () => undefined });
}

function errorsBy(subschema: Json, { value, at }: Place, validatorOf: ValidatorOf): Errors {
  if (!isJsonObject(subschema)) return subschema === true ? [] : [{ keyword: "false schema", params: {} }];
  const validator = validatorOf(subschema);
  if (validator(value, at)) return [];
  const errors = validator.errors ?? [];
  // The errors hold the value; a validator lives long after it.
  validator.errors = null;
  return errors;
}

function below({ value, at }: Place, key: string): DataValidationCxt {
  return {
    instancePath: `${at.instancePath}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`,
    parentData: isJsonObject(value) || Array.isArray(value) ? value : {},
    parentDataProperty: Array.isArray(value) ? Number(key) : key,
    rootData: at.rootData,
    dynamicAnchors: {},
  };
}

function childrenOf(value: Json): readonly (readonly [string, Json])[] {
  if (Array.isArray(value)) return value.map((item, position) => [String(position), item] as const);
  return isJsonObject(value) ? Object.entries(value) : [];
}
