import { describe, expect, it } from "vitest";
import { limits } from "../../src/model/limits.ts";
import type { Json, JsonObject } from "../../src/model/json.ts";
import { readAsked } from "../../src/protocol/asked-request.ts";

const field = { type: "string" };
const schemaOf = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: "object",
  properties,
  ...more,
});
const formOf = (requestedSchema: Json): JsonObject => ({ message: "m", requestedSchema });
const pageOf = (url: Json, more: JsonObject = {}): JsonObject => ({ mode: "url", message: "m", url, ...more });
const text = { type: "text", text: "t" };
const sampleOf = (content: Json, more: JsonObject = {}): JsonObject => ({
  messages: [{ role: "user", content }],
  maxTokens: 1,
  ...more,
});

/** What became of it: the feature, or what is wrong. */
function verdict(method: string, params: JsonObject): string {
  const read = readAsked(method, params);
  return "fault" in read ? `fault: ${read.fault}` : read.feature;
}

describe("which feature of the client a request uses", () => {
  it.each<[string, JsonObject, string]>([
    ["elicitation/create", formOf(schemaOf({})), "elicitation"],
    ["elicitation/create", { mode: "form", ...formOf(schemaOf({})) }, "elicitation"],
    ["elicitation/create", pageOf("https://a.example/"), "elicitation_url"],
    ["sampling/createMessage", sampleOf(text), "sampling"],
    ["sampling/createMessage", sampleOf(text, { tools: [] }), "sampling_tools"],
    ["sampling/createMessage", sampleOf(text, { toolChoice: { mode: "none" } }), "sampling_tools"],
    ["sampling/createMessage", sampleOf({ type: "tool_use", id: "1", name: "n", input: {} }), "sampling_tools"],
    ["sampling/createMessage", sampleOf([{ type: "tool_result", toolUseId: "1", content: [] }]), "sampling_tools"],
    ["roots/list", {}, "roots"],
  ])("%s %j: %s", (method, params, feature) => {
    expect(verdict(method, params)).toBe(feature);
  });

  it.each<[string, JsonObject]>([
    ["elicitation/create", { mode: "voice", message: "m" }],
    ["elicitation/create", { mode: null, message: "m", requestedSchema: schemaOf({}) }],
    ["tools/call", {}],
    ["ping", {}],
    ["constructor", {}],
  ])("%s %j: none", (method, params) => {
    expect(verdict(method, params)).toMatch(/^fault: /);
  });
});

describe("a page that a person may be sent to", () => {
  it.each([
    "https://crm.example/consent?x=1&y=%C3%A9#here",
    "HTTPS://CRM.EXAMPLE/",
    "https://xn--80ak6aa92e.example/",
    "https://crm.example:8443/~a/(b);c=[1]",
    "http://127.0.0.1:3000/x",
    "http://localhost/x",
    "http://[::1]:8080/",
    `https://a.example/${"x".repeat(limits.uriCharsMax - "https://a.example/".length)}`,
  ])("%s passes as it is written", (url) => {
    const read = readAsked("elicitation/create", pageOf(url));
    expect("params" in read && read.params["url"]).toBe(url);
  });

  it.each<[string, Json]>([
    ["http elsewhere", "http://crm.example/"],
    ["a look-alike of loopback", "http://localhost.evil.example/"],
    ["another such", "http://127.0.0.1.evil.example/"],
    ["a script", "javascript:alert(1)"],
    ["a script behind slashes", "javascript://a.example/%0Aalert(1)"],
    ["data", "data:text/html,x"],
    ["a file", "file:///etc/passwd"],
    ["a custom scheme", "vscode://extension/x"],
    ["a user name", "https://bank.example@evil.example/"],
    ["an empty user name", "https://@evil.example/"],
    ["a password", "https://a:b@evil.example/"],
    ["a backslash", "https://bank.example\\@evil.example/"],
    ["a tab within", "https://ba\tnk.example/"],
    ["a line break", "https://bank.example/\n"],
    ["a space before", " https://bank.example/"],
    ["letters of another script", "https://b\u0430nk.example/"],
    ["hidden characters", "https://bank\u200b.example/"],
    ["one slash", "https:/bank.example/"],
    ["no host", "https://"],
    ["a relative path", "/consent"],
    ["nothing", ""],
    ["no text", 7],
    ["too much", `https://a.example/${"x".repeat(limits.uriCharsMax)}`],
  ])("%s does not", (_law, url) => {
    expect(verdict("elicitation/create", pageOf(url))).toMatch(/^fault: url /);
  });

  it.each<[Json, boolean]>([
    ["e-1", true],
    ["x".repeat(limits.askedIdCharsMax), true],
    ["x".repeat(limits.askedIdCharsMax + 1), false],
    ["", false],
    [7, false],
  ])("has an elicitation id that is a text, or none", (elicitationId, sound) => {
    expect(verdict("elicitation/create", pageOf("https://a.example/", { elicitationId })) === "elicitation_url").toBe(
      sound,
    );
  });
});

describe("a form that a client can show", () => {
  const many = (count: number): JsonObject =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`f${at}`, field]));

  it.each<[string, Json]>([
    ["no field", schemaOf({})],
    [
      "every primitive type",
      schemaOf({ a: field, b: { type: "number", minimum: 1 }, c: { type: "integer" }, d: { type: "boolean" } }),
    ],
    ["a choice of words", schemaOf({ a: { type: "string", enum: ["x"], enumNames: ["X"] } })],
    ["a choice with titles", schemaOf({ a: { type: "string", oneOf: [{ const: "x", title: "X" }] } })],
    ["several of a choice", schemaOf({ a: { type: "array", items: { type: "string", enum: ["x"] } } })],
    ["several with titles", schemaOf({ a: { type: "array", items: { anyOf: [{ const: "x", title: "X" }] } } })],
    [
      "what schema generators add",
      schemaOf({ a: field }, { $schema: "x", additionalProperties: false, required: ["a"] }),
    ],
    ["as many fields as there may be", schemaOf(many(limits.askedFormFieldsMax))],
  ])("%s", (_law, schema) => {
    expect(verdict("elicitation/create", formOf(schema))).toBe("elicitation");
  });

  it.each<[string, Json]>([
    ["no object", []],
    ["another type", { type: "string" }],
    ["no properties", { type: "object" }],
    ["a nested object", schemaOf({ a: { type: "object", properties: {} } })],
    ["a list of objects", schemaOf({ a: { type: "array", items: { type: "object" } } })],
    ["a list of anything", schemaOf({ a: { type: "array" } })],
    ["a field without a type", schemaOf({ a: {} })],
    ["a field that may be of two types", schemaOf({ a: { type: ["string", "null"] } })],
    ["a reference", schemaOf({ a: { type: "string", $ref: "#/$defs/x" } })],
    ["a reference as a whole", schemaOf({}, { $ref: "https://evil.example/" })],
    ["conditions", schemaOf({ a: field }, { if: {}, then: {} })],
    ["alternatives", schemaOf({ a: field }, { oneOf: [] })],
    ["options that are schemas", schemaOf({ a: { type: "string", anyOf: [{ pattern: "x" }] } })],
    ["required that is no list", schemaOf({ a: field }, { required: "a" })],
    ["one field more than there may be", schemaOf(many(limits.askedFormFieldsMax + 1))],
  ])("not %s", (_law, schema) => {
    expect(verdict("elicitation/create", formOf(schema))).toMatch(/^fault: /);
  });

  it("has a message", () => {
    expect(verdict("elicitation/create", { requestedSchema: schemaOf({}) })).toBe("fault: message must be a string");
  });
});

describe("a sampling request", () => {
  it.each<[string, JsonObject]>([
    ["with several blocks", sampleOf([text, { type: "image", data: "", mimeType: "image/png" }])],
    ["with a block of a type that nobody knows", sampleOf({ type: "hologram", x: 1 })],
    [
      "with all it may have",
      sampleOf(text, { systemPrompt: "s", temperature: 0.5, stopSequences: ["x"], modelPreferences: {}, metadata: {} }),
    ],
    [
      "with as many messages as there may be",
      {
        messages: Array.from({ length: limits.askedMessagesMax }, () => ({ role: "user", content: text })),
        maxTokens: 1,
      },
    ],
  ])("%s", (_law, params) => {
    expect(verdict("sampling/createMessage", params)).toBe("sampling");
  });

  it.each<[string, JsonObject]>([
    ["without messages", { maxTokens: 1 }],
    ["without a bound on tokens", { messages: [] }],
    ["with half a token", { messages: [], maxTokens: 0.5 }],
    ["with a role that is none", { messages: [{ role: "system", content: text }], maxTokens: 1 }],
    ["without content", { messages: [{ role: "user" }], maxTokens: 1 }],
    ["with no block in its content", sampleOf([])],
    ["with a block without a type", sampleOf({ text: "t" })],
    ["with a text that is none", sampleOf({ type: "text", text: 1 })],
    ["with an image without its type", sampleOf({ type: "image", data: "" })],
    [
      "with results of tools among other content",
      sampleOf([{ type: "tool_result", toolUseId: "1", content: [] }, text]),
    ],
    ["with a prompt that is no text", sampleOf(text, { systemPrompt: {} })],
    ["with a tool that has no schema", sampleOf(text, { tools: [{ name: "x" }] })],
    ["with a choice that is none", sampleOf(text, { toolChoice: "auto" })],
    [
      "with one message too many",
      {
        messages: Array.from({ length: limits.askedMessagesMax + 1 }, () => ({ role: "user", content: text })),
        maxTokens: 1,
      },
    ],
    [
      "with one tool too many",
      sampleOf(text, {
        tools: Array.from({ length: limits.askedToolsMax + 1 }, () => ({ name: "x", inputSchema: {} })),
      }),
    ],
  ])("not one %s", (_law, params) => {
    expect(verdict("sampling/createMessage", params)).toMatch(/^fault: /);
  });
});

describe("what is passed on", () => {
  it("keeps what nobody here knows, and loses task, context, progress token and the hop's own", () => {
    const params = {
      ...sampleOf(text),
      strange: 1,
      task: { ttl: 1 },
      includeContext: "allServers",
      _meta: { progressToken: 1, own: 2, "io.sallyport/x": 3 },
    };
    const read = readAsked("sampling/createMessage", params);
    expect("params" in read && read.params).toEqual({ ...sampleOf(text), strange: 1, _meta: { own: 2 } });
  });

  it("is nothing of a request for roots", () => {
    expect(readAsked("roots/list", { _meta: { own: 1 }, x: 1 })).toEqual({
      method: "roots/list",
      feature: "roots",
      params: {},
    });
  });
});
