import type { Questions, Values } from "./fixture-item.ts";

/** The smallest pictures and sounds there are: a red pixel as PNG, and a WAV of no samples. */
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
const silence = Buffer.from(
  "524946462400000057415645666d74201000000001000100401f0000401f00000100080064617461" + "00000000",
  "hex",
).toString("base64");

export const text = (value: string): Values => ({ type: "text", text: value });
export const image: Values = { type: "image", data: pixel, mimeType: "image/png" };
export const audio: Values = { type: "audio", data: silence, mimeType: "audio/wav" };
export const picture: string = pixel;

export const embedded = (uri: string, mimeType: string, value: string): Values => ({
  type: "resource",
  resource: { uri, mimeType, text: value },
});

/** A tool's answer of one text. */
export const says = (value: string): Values => ({ content: [text(value)] });

export const askPerson = (message: string, properties: Values, required: readonly string[]): Values => ({
  method: "elicitation/create",
  params: { message, requestedSchema: { type: "object", properties, required } },
});

export const askModel = (prompt: string): Values => ({
  method: "sampling/createMessage",
  params: { messages: [{ role: "user", content: text(prompt) }], maxTokens: 100 },
});

export const askRoots: Values = { method: "roots/list", params: {} };

/** The questions whose key has no answer yet. */
export function open(
  questions: Readonly<Record<string, Values>>,
  answers: Readonly<Record<string, Values>>,
): Questions {
  const missing = Object.entries(questions).filter(([key]) => answers[key] === undefined);
  return Object.fromEntries(missing.map(([key, question]) => [key, asQuestion(question)]));
}

function asQuestion(question: Values): Questions[string] {
  return { method: String(question["method"]), params: question["params"] as Values };
}

export const noArguments: Values = { type: "object", properties: {} };

/** Every default that a form may have, one per primitive type. */
export const formWithDefaults: Values = {
  name: { type: "string", description: "Who it is", default: "John Doe" },
  age: { type: "integer", description: "Years", default: 30 },
  score: { type: "number", description: "Points", default: 95.5 },
  status: { type: "string", description: "State", enum: ["active", "inactive", "pending"], default: "active" },
  verified: { type: "boolean", description: "Whether it was checked", default: true },
};

const titled = (titles: readonly string[]): readonly Values[] =>
  titles.map((title, index) => ({ const: `value${index + 1}`, title }));

/** The five ways of writing a choice: one or many, with and without titles, and the deprecated `enumNames`. */
export const formWithChoices: Values = {
  untitledSingle: { type: "string", enum: ["option1", "option2", "option3"] },
  titledSingle: { type: "string", oneOf: titled(["First Option", "Second Option", "Third Option"]) },
  legacyEnum: {
    type: "string",
    enum: ["opt1", "opt2", "opt3"],
    enumNames: ["Option One", "Option Two", "Option Three"],
  },
  untitledMulti: { type: "array", items: { type: "string", enum: ["option1", "option2", "option3"] } },
  titledMulti: { type: "array", items: { anyOf: titled(["First Choice", "Second Choice", "Third Choice"]) } },
};

/** A schema that uses what JSON Schema 2020-12 has beyond `properties` and `required`. */
export const schemaOfEverything: Values = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  $defs: {
    address: {
      $anchor: "addressDef",
      type: "object",
      properties: { street: { type: "string" }, city: { type: "string" } },
    },
  },
  properties: {
    name: { type: "string" },
    address: { $ref: "#/$defs/address" },
    contactMethod: { type: "string", enum: ["phone", "email"] },
    phone: { type: "string" },
    email: { type: "string" },
  },
  allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
  if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
  then: { required: ["phone"] },
  else: { required: ["email"] },
  additionalProperties: false,
};
