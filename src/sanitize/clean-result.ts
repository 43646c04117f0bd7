import type { JsonObject } from "../model/json.ts";
import { limits } from "../model/limits.ts";
import type { RpcError } from "../model/rpc.ts";
import type { Finding } from "../model/finding.ts";
import { cleanText } from "./clean-text.ts";
import type { Cleaned } from "./clean-value.ts";
import { cleanObject, cleanValue } from "./clean-value.ts";
import type { FieldRule, Place } from "./field-rule.ts";
import { contentFields, contentPlace, fieldTable, untouchedPlace } from "./field-rule.ts";

const linePlace: Place = { text: "single", inside: contentFields };
export const textPlace: Place = {
  text: "multi",
  inside: contentFields,
  bound: { noted: limits.textCharsMax, max: Number.POSITIVE_INFINITY },
};
const instructionsPlace: Place = {
  text: "multi",
  inside: contentFields,
  watched: true,
  bound: { noted: limits.descriptionCharsNoted, max: Number.POSITIVE_INFINITY },
};

/** `resource` holds what an embedded resource would be by itself, so a block contains a block. */
const blockFields: FieldRule = { keys: "clean", place: (key) => blockMembers.get(key) ?? contentPlace };
export const blockPlace: Place = { text: "multi", inside: blockFields };
const blockMembers: ReadonlyMap<string, Place> = new Map([
  ["uri", linePlace],
  ["mimeType", linePlace],
  ["name", linePlace],
  ["title", linePlace],
  ["text", textPlace],
  ["resource", blockPlace],
]);

const messageFields = fieldTable("clean", { content: blockPlace });
const implementationPlace: Place = {
  text: "multi",
  inside: fieldTable("clean", { name: linePlace, version: linePlace, title: linePlace, websiteUrl: linePlace }),
};
const greetingFields = fieldTable("clean", { instructions: instructionsPlace, serverInfo: implementationPlace });

/** Items are left to `cleanDefinition`, which may not repair what this would. A cursor is the peer's own. */
const listFields = fieldTable("clean", {
  tools: untouchedPlace,
  prompts: untouchedPlace,
  resources: untouchedPlace,
  resourceTemplates: untouchedPlace,
  nextCursor: untouchedPlace,
});

const fieldsByMethod: ReadonlyMap<string, FieldRule> = new Map([
  ["initialize", greetingFields],
  ["server/discover", greetingFields],
  ["tools/list", listFields],
  ["prompts/list", listFields],
  ["resources/list", listFields],
  ["resources/templates/list", listFields],
  ["tools/call", fieldTable("clean", { content: blockPlace })],
  ["resources/read", fieldTable("clean", { contents: blockPlace })],
  ["prompts/get", fieldTable("clean", { messages: { text: "multi", inside: messageFields } })],
]);

/**
 * Cleans an upstream's result before it is checked and delivered: every string and key of `content`,
 * `structuredContent`, `_meta`, `instructions` and whatever else is there. A URI in a result is cleaned
 * like a title: a stripped URI that no longer resolves fails safely, one with hidden characters in it
 * would be followed by somebody who saw another. `data` and `blob` pass as the ASCII they have to be.
 *
 * Items of lists are not touched (`cleanDefinition` judges them), nor is `nextCursor`. A method that is
 * not known is cleaned as free content.
 */
export function cleanResult(method: string, result: JsonObject): Cleaned<JsonObject> {
  return cleanObject(result, { fields: fieldsByMethod.get(method) ?? contentFields });
}

export interface CleanedError {
  readonly error: RpcError;
  readonly findings: readonly Finding[];
}

/**
 * Cleans an upstream's error: the message becomes one line of at most `errorMessageCharsMax`
 * characters, `data` is cleaned as free content. The code stays.
 */
export function cleanError(error: RpcError): CleanedError {
  const message = cleanText(error.message, "single");
  const found: Finding[] = message.findings.map((finding) => ({ ...finding, where: "/message" }));
  if (message.text.length > limits.errorMessageCharsMax) {
    found.push({ kind: "text-oversized", where: "/message", detail: `${message.text.length} characters`, count: 1 });
  }
  const cut = cutWellFormed(message.text, limits.errorMessageCharsMax);
  if (error.data === undefined) return { error: { code: error.code, message: cut }, findings: found };
  const data = cleanValue(error.data, { fields: contentFields });
  return {
    error: { code: error.code, message: cut, data: data.value },
    findings: [...found, ...data.findings.map(belowData)].slice(0, limits.findingsPerExchangeMax),
  };
}

function belowData(finding: Finding): Finding {
  return { ...finding, where: `/data${finding.where}` };
}

/** Cuts without leaving half of a surrogate pair. */
function cutWellFormed(text: string, unitsMax: number): string {
  if (text.length <= unitsMax) return text;
  const last = text.charCodeAt(unitsMax - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? unitsMax - 1 : unitsMax);
}
