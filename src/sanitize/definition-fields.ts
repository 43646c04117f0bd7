import type { ItemKind } from "../model/item.ts";
import { limits } from "../model/limits.ts";
import type { FieldRule, Place } from "./field-rule.ts";
import { contentFields, contentPlace, exactPlace, fieldTable } from "./field-rule.ts";

/** Which members of a definition are shown to people and models, and which are compared byte by byte. */

export const identifierPlace: Place = { text: "identifier", inside: contentFields };
const titlePlace: Place = { text: "single", inside: contentFields, watched: true };
export const descriptionPlace: Place = {
  text: "multi",
  inside: contentFields,
  watched: true,
  bound: { noted: limits.descriptionCharsNoted, max: limits.descriptionCharsMax },
};
const parameterDescriptionPlace: Place = {
  text: "multi",
  inside: contentFields,
  watched: true,
  bound: { noted: limits.parameterDescriptionCharsNoted, max: limits.parameterDescriptionCharsMax },
};

/** `place` is a function so that schemas can contain schemas. */
const schemaFields: FieldRule = { keys: "identifier", place: (key) => schemaMembers.get(key) ?? contentPlace };
export const schemaPlace: Place = { text: "multi", inside: schemaFields };
/** Members named by their author: property names, definitions. */
const schemaMapPlace: Place = { text: "multi", inside: { keys: "identifier", place: () => schemaPlace } };

const subschemas = [
  ...["items", "prefixItems", "additionalItems", "unevaluatedItems", "contains", "additionalProperties"],
  ...["unevaluatedProperties", "propertyNames", "allOf", "anyOf", "oneOf", "not", "if", "then", "else"],
  "contentSchema",
];
const subschemaMaps = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
/** Keywords whose strings a validator compares, resolves or executes. */
const comparedKeywords = [
  ...["enum", "const", "default", "required", "dependentRequired", "dependencies", "pattern", "format", "type"],
  ...["$ref", "$id", "id", "$schema", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$vocabulary"],
  ...["contentMediaType", "contentEncoding", "x-mcp-header"],
];

const schemaMembers: ReadonlyMap<string, Place> = new Map([
  ...subschemas.map((keyword): [string, Place] => [keyword, schemaPlace]),
  ...subschemaMaps.map((keyword): [string, Place] => [keyword, schemaMapPlace]),
  ...comparedKeywords.map((keyword): [string, Place] => [keyword, exactPlace]),
  ["title", titlePlace],
  ["description", parameterDescriptionPlace],
  ["$comment", parameterDescriptionPlace],
]);

const argumentFields = fieldTable("identifier", {
  name: identifierPlace,
  title: titlePlace,
  description: parameterDescriptionPlace,
});

const annotationFields = fieldTable("clean", { title: titlePlace });

const iconFields = fieldTable("clean", {
  src: { text: "single", inside: contentFields },
  mimeType: { text: "single", inside: contentFields },
});

const common: Readonly<Record<string, Place>> = {
  name: identifierPlace,
  title: titlePlace,
  description: descriptionPlace,
  annotations: { text: "multi", inside: annotationFields },
  icons: { text: "multi", inside: iconFields },
};

const resourceMembers = { ...common, uri: identifierPlace, uriTemplate: identifierPlace, mimeType: identifierPlace };

/** Other members, `_meta` among them, are free content. */
export const definitionFields: Readonly<Record<ItemKind, FieldRule>> = {
  tool: fieldTable("identifier", { ...common, inputSchema: schemaPlace, outputSchema: schemaPlace }),
  prompt: fieldTable("identifier", { ...common, arguments: { text: "multi", inside: argumentFields } }),
  resource: fieldTable("identifier", resourceMembers),
  template: fieldTable("identifier", resourceMembers),
};
