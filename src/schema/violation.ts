import type { ErrorObject } from "ajv/dist/core.js";
import type { Json } from "../model/json.ts";
import { ExactNumber } from "../model/json.ts";

/** One way in which a value breaks its schema. */
export interface Violation {
  /** JSON pointer into the value; its parts are names of properties. At most 200 characters. */
  readonly pointer: string;
  readonly keyword: string;
  /** Made from the keyword and its value in the schema, at most 200 characters, to be shown to a model. */
  readonly message: string;
}

/** Violations reported of one value. */
const violationsMax = 5;
const charsMax = 200;
/** Characters of a property name that a message repeats. */
const nameCharsMax = 64;

/**
 * The validator's errors, outermost first and at most five. Messages say what the schema demands; of
 * what was received they name only properties that should not be there.
 */
export function violationsOf(errors: readonly ErrorObject[]): readonly Violation[] {
  return errors
    .filter((error) => error.keyword !== "if")
    .reverse()
    .slice(0, violationsMax)
    .map((error) => violation(error.instancePath, error.keyword, messageOf(error)));
}

export function violation(pointer: string, keyword: string, message: string): Violation {
  return { pointer: cut(pointer), keyword, message: cut(message) };
}

type Describe = (demanded: string, error: ErrorObject) => string;

const messages: Readonly<Record<string, Describe>> = {
  type: (demanded) => `must be ${demanded.replaceAll('"', "").replaceAll(/[[\]]/g, "").replaceAll(",", " or ")}`,
  required: (_, error) => `must have the property ${nameIn(error, "missingProperty")}`,
  dependentRequired: dependent,
  dependencies: dependent,
  additionalProperties: (_, error) => `must not have the property ${nameIn(error, "additionalProperty")}`,
  unevaluatedProperties: (_, error) => `must not have the property ${nameIn(error, "unevaluatedProperty")}`,
  propertyNames: (_, error) => `must not have the property ${nameIn(error, "propertyName")}`,
  additionalItems: (_, error) => `must not have more than ${countIn(error)} items`,
  unevaluatedItems: (_, error) => `must not have more than ${countIn(error)} items`,
  items: (_, error) => `must not have more than ${countIn(error)} items`,
  enum: (demanded) => `must be one of ${demanded.slice(1, -1).replaceAll(",", ", ")}`,
  const: (demanded) => `must be ${demanded}`,
  minimum: (demanded) => `must be at least ${demanded}`,
  maximum: (demanded) => `must be at most ${demanded}`,
  exclusiveMinimum: (demanded) => `must be more than ${demanded}`,
  exclusiveMaximum: (demanded) => `must be less than ${demanded}`,
  multipleOf: (demanded) => `must be a multiple of ${demanded}`,
  minLength: (demanded) => `must have at least ${demanded} characters`,
  maxLength: (demanded) => `must have at most ${demanded} characters`,
  pattern: (demanded) => `must match the pattern ${demanded}`,
  minItems: (demanded) => `must have at least ${demanded} items`,
  maxItems: (demanded) => `must have at most ${demanded} items`,
  uniqueItems: () => "must not have the same item twice",
  contains: () => "must have the items that the schema's contains asks for",
  minProperties: (demanded) => `must have at least ${demanded} properties`,
  maxProperties: (demanded) => `must have at most ${demanded} properties`,
  anyOf: () => "must match one of the forms that the schema allows",
  oneOf: () => "must match exactly one of the forms that the schema allows",
  not: () => "must not have the form that the schema rules out",
  "false schema": () => "is not allowed here",
};

function messageOf(error: ErrorObject): string {
  const describe = Object.hasOwn(messages, error.keyword) ? messages[error.keyword] : undefined;
  return describe?.(demandedBy(error), error) ?? `must satisfy ${error.keyword}`;
}

function dependent(_: string, error: ErrorObject): string {
  return `must have the property ${nameIn(error, "missingProperty")} beside ${nameIn(error, "property")}`;
}

/** The keyword's value in the schema as JSON text, numbers with the digits they were written in. */
function demandedBy(error: ErrorObject): string {
  const demanded: unknown = error.schema;
  if (demanded instanceof ExactNumber) return demanded.source;
  const text = JSON.stringify(demanded, (_, value: Json) => (value instanceof ExactNumber ? value.source : value));
  return typeof text === "string" ? text : error.keyword;
}

function nameIn(error: ErrorObject, parameter: string): string {
  const params: Readonly<Record<string, unknown>> = error.params;
  const name = params[parameter];
  return JSON.stringify(typeof name === "string" ? name.slice(0, nameCharsMax).replace(/[\ud800-\udbff]$/, "") : "");
}

function countIn(error: ErrorObject): string {
  const params: Readonly<Record<string, unknown>> = error.params;
  return String(Number(params["limit"] ?? params["len"] ?? 0));
}

/** A pointer or message may be cut inside a surrogate pair; the half that is left goes too. */
function cut(text: string): string {
  return text.length <= charsMax ? text : `${text.slice(0, charsMax - 3).replace(/[\ud800-\udbff]$/, "")}...`;
}
