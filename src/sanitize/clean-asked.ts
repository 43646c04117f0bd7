import type { Finding } from "../model/finding.ts";
import type { JsonObject } from "../model/json.ts";
import { blockPlace, textPlace } from "./clean-result.ts";
import { cleanObject } from "./clean-value.ts";
import { definitionFields, descriptionPlace, identifierPlace, schemaPlace } from "./definition-fields.ts";
import type { FieldRule, Place } from "./field-rule.ts";
import { contentFields, exactPlace, fieldTable } from "./field-rule.ts";

export interface CleanedAsked {
  /** Display text cleaned, identifiers as they were; the same reference when nothing changed. */
  readonly params: JsonObject;
  readonly findings: readonly Finding[];
  /** True when something in it can neither be shown nor repaired: the request must not reach the client. */
  readonly unsafe: boolean;
}

/** A form's message and labels are read by a person who then acts on them, so they are held to the rules of definitions. */
const elicitationFields = fieldTable("clean", {
  message: descriptionPlace,
  mode: identifierPlace,
  url: identifierPlace,
  elicitationId: identifierPlace,
  requestedSchema: schemaPlace,
});

/** `input` of a tool's use is what the model wrote; its id, its name and the id it is answered under are compared. */
const toolBlockFields = fieldTable(
  "clean",
  { id: identifierPlace, toolUseId: identifierPlace, content: blockPlace },
  blockPlace,
);
const messagePlace: Place = {
  text: "multi",
  inside: fieldTable("clean", { role: identifierPlace, content: { text: "multi", inside: toolBlockFields } }),
};

const samplingFields = fieldTable("clean", {
  messages: messagePlace,
  systemPrompt: textPlace,
  stopSequences: exactPlace,
  tools: { text: "multi", inside: definitionFields.tool },
});

const fieldsByMethod: ReadonlyMap<string, FieldRule> = new Map([
  ["elicitation/create", elicitationFields],
  ["sampling/createMessage", samplingFields],
]);

/**
 * Cleans the parameters of a request that an upstream sends to the client: every string a person or a model reads.
 * What is compared byte by byte (keys of a form, choices, ids, the URL) is never repaired; hidden characters in it
 * make the whole request unsafe, as does a message or a label over its bound.
 *
 * Does not judge what is asked for: no filter tells a password from a password's policy.
 */
export function cleanAsked(method: string, params: JsonObject): CleanedAsked {
  const { value, findings } = cleanObject(params, { fields: fieldsByMethod.get(method) ?? contentFields });
  return { params: value, findings, unsafe: findings.some(({ kind }) => blocking.has(kind)) };
}

const blocking: ReadonlySet<Finding["kind"]> = new Set<Finding["kind"]>(["identifier-unsafe", "definition-oversized"]);
