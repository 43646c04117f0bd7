import type { ErrorObject } from "ajv/dist/2020.js";
import { keyShown, printable, type Place, type PlacedFault } from "./fault.ts";
import { laterKeys } from "./later.ts";
import { nearestName } from "../model/nearest-name.ts";
import { namePattern, referencePattern } from "./schema-common.ts";
import type { SchemaNode } from "./schema-node.ts";
import { secretMask } from "./secret.ts";

/** One schema error in our own words. Empty for errors that only repeat another one. */
export function structureFault(error: ErrorObject, place: Place): PlacedFault[] {
  // Errors about a key's spelling come twice; `propertyNames` is the one that is kept.
  if (error.propertyName !== undefined) return [];
  switch (error.keyword) {
    case "additionalProperties":
      return [unknownKey(error, place)];
    case "required":
      return [missingKey(error, place)];
    case "propertyNames":
      return [unsuitableKey(error, place)];
    case "discriminator":
      return [unknownBranch(error, place)];
    case "type":
      return [{ place, found: kindOf(error.data), expected: kindWanted(error), rule: "type" }];
    default:
      return [unsuitableValue(error, place)];
  }
}

function schemaOf(error: ErrorObject): SchemaNode {
  return error.parentSchema ?? {};
}

function textParam(error: ErrorObject, name: string): string {
  const value: unknown = error.params[name];
  return typeof value === "string" ? value : "";
}

function unknownKey(error: ErrorObject, place: Place): PlacedFault {
  const key = textParam(error, "additionalProperty");
  const at = { place: [...place, key], found: `unknown key ${printable(keyShown(key))}` };
  const later = laterKeys.get(key);
  if (later !== undefined) return { ...at, expected: `nothing: ${later} is not in this version`, rule: "laterVersion" };
  const known = Object.keys(schemaOf(error).properties ?? {});
  const nearest = nearestName(key, known);
  const expected = nearest === undefined ? `one of ${known.join(", ")}` : `did you mean ${nearest}?`;
  return { ...at, expected, rule: "unknownKey" };
}

function missingKey(error: ErrorObject, place: Place): PlacedFault {
  const key = textParam(error, "missingProperty");
  const schema = schemaOf(error).properties?.[key];
  const expected = schema?.const === undefined ? (schema?.description ?? "a value") : printable(schema.const);
  return { place: [...place, key], found: "nothing", expected, rule: "required" };
}

function unsuitableKey(error: ErrorObject, place: Place): PlacedFault {
  const key = textParam(error, "propertyName");
  const pattern = schemaOf(error).propertyNames?.pattern ?? "";
  const found = `key ${printable(keyShown(key))}`;
  return { place: [...place, key], found, expected: `a key like ${wording(pattern)}`, rule: "keyForm" };
}

/** A `oneOf` whose tag is missing or names no branch. The tag is no secret; what stands beside it may be. */
function unknownBranch(error: ErrorObject, place: Place): PlacedFault {
  const tag = textParam(error, "tag");
  const value: unknown = error.params["tagValue"];
  const at = { place: [...place, tag], found: printable(value) };
  const known = (schemaOf(error).oneOf ?? []).map((branch) => branch.properties?.[tag]?.const);
  return { ...at, expected: `one of ${known.join(", ")}`, rule: "allowedValue" };
}

function unsuitableValue(error: ErrorObject, place: Place): PlacedFault {
  const schema = schemaOf(error);
  if (schema.writeOnly === true) {
    return { place, found: secretMask, expected: wording(referencePattern), rule: "secretsAreReferences" };
  }
  return { place, found: foundOf(error), expected: expectedOf(error, schema), rule: ruleOf(error.keyword) };
}

/** Only a scalar is printed: what an object holds may be a secret in the wrong place. */
function foundOf(error: ErrorObject): string {
  return typeof error.data === "object" ? kindOf(error.data) : printable(error.data);
}

function ruleOf(keyword: string): string {
  if (keyword === "enum" || keyword === "const") return "allowedValue";
  if (keyword === "pattern") return "form";
  return keyword === "uniqueItems" ? "unique" : "range";
}

function expectedOf(error: ErrorObject, schema: SchemaNode): string {
  switch (error.keyword) {
    case "enum":
      return `one of ${(schema.enum ?? []).join(", ")}`;
    case "const":
      return printable(schema.const);
    case "pattern":
      return `text like ${wording(schema.pattern ?? "")}`;
    case "uniqueItems":
      return "each item once";
    default:
      return rangeOf(error.keyword, error.params["limit"]);
  }
}

/** `minimum`, `maximum`, and the bounds on lengths and counts. */
function rangeOf(keyword: string, limit: unknown): string {
  const bound = keyword.startsWith("min") ? "at least" : "at most";
  const unit = { Length: " characters", Items: " items", Properties: " keys" }[keyword.slice(3)] ?? "";
  return `${bound} ${printable(limit)}${unit}`;
}

function wording(pattern: string): string {
  if (pattern === namePattern) return "my-name: lower-case letters, digits and hyphens, at most 63";
  if (pattern === referencePattern) return "${env:NAME} or ${file:PATH}, never the secret itself";
  return pattern;
}

function kindWanted(error: ErrorObject): string {
  if (schemaOf(error).writeOnly === true) return wording(referencePattern);
  const { type = [] } = schemaOf(error);
  return (typeof type === "string" ? [type] : type).map((wanted) => kinds.get(wanted) ?? wanted).join(" or ");
}

const kinds: ReadonlyMap<string, string> = new Map([
  ["object", "a map"],
  ["array", "a list"],
  ["string", "text"],
  ["integer", "a whole number"],
  ["boolean", "true or false"],
]);

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return "nothing";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "a map";
  if (typeof value === "string") return "text";
  return typeof value === "number" ? "a number" : "true or false";
}
