import { describe, expect, it } from "vitest";
import { clientFeatures, type ClientFeature } from "../../src/model/client-feature.ts";
import type { Json, JsonObject } from "../../src/model/json.ts";
import { limits } from "../../src/model/limits.ts";
import { answeredFeatures, formContent, isSomeAnswer, readAnswer } from "../../src/protocol/asked-answer.ts";
import { readAskedKinds, writeAskedKinds } from "../../src/protocol/asked-kinds.ts";
import { capabilitiesFor, declaredFeatures, featureOf, methodOfFeature } from "../../src/protocol/client-features.ts";
import { capabilitiesAt, requiredCapabilities } from "../../src/protocol/required-capabilities.ts";

const message = { role: "assistant", model: "m", content: { type: "text", text: "t" } };
const use = { type: "tool_use", id: "1", name: "n", input: {} };
const root = { uri: "file:///x" };

describe("an answer to what was asked", () => {
  it.each<[ClientFeature, JsonObject, JsonObject]>([
    [
      "elicitation",
      { action: "accept", content: { a: "x", b: 1, c: true, d: ["x"] } },
      { action: "accept", content: { a: "x", b: 1, c: true, d: ["x"] } },
    ],
    ["elicitation", { action: "accept" }, { action: "accept", content: {} }],
    ["elicitation", { action: "decline", content: { a: 1 } }, { action: "decline" }],
    ["elicitation", { action: "cancel" }, { action: "cancel" }],
    ["elicitation_url", { action: "accept", content: { a: 1 } }, { action: "accept" }],
    ["sampling", message, message],
    ["sampling", { ...message, _meta: { "io.sallyport/x": 1 } }, message],
    ["sampling_tools", { ...message, content: [use, use] }, { ...message, content: [use, use] }],
    ["roots", { roots: [] }, { roots: [] }],
    ["roots", { roots: [{ ...root, name: "X", own: 1 }] }, { roots: [{ ...root, name: "X", own: 1 }] }],
  ])("%s: %j", (feature, result, read) => {
    expect(readAnswer({ feature }, result)).toEqual(read);
  });

  it.each<[ClientFeature, JsonObject]>([
    ["elicitation", {}],
    ["elicitation", { action: "ACCEPT", content: {} }],
    ["elicitation", { action: "accept", content: [] }],
    ["elicitation", { action: "accept", content: { a: null } }],
    ["elicitation", { action: "accept", content: { a: {} } }],
    ["elicitation", { action: "accept", content: { a: [1] } }],
    ["elicitation_url", { roots: [] }],
    ["sampling", { ...message, content: use }],
    ["sampling", { ...message, content: [] }],
    ["sampling", { role: "assistant", content: message.content }],
    ["sampling", { ...message, role: "system" }],
    ["sampling_tools", { ...message, content: [{ type: "tool_use", id: "1" }] }],
    ["roots", {}],
    ["roots", { roots: {} }],
    ["roots", { roots: [{ uri: "https://x.example/" }] }],
    ["roots", { roots: [{ uri: "file://" + "x".repeat(limits.uriCharsMax) }] }],
    ["roots", { roots: [{ ...root, name: 1 }] }],
    ["roots", { roots: Array.from({ length: limits.askedRootsMax + 1 }, () => root) }],
  ])("%s: not %j", (feature, result) => {
    expect(readAnswer({ feature }, result)).toBeUndefined();
  });

  it("holds a form's content when the form was accepted, and else none", () => {
    expect(formContent({ action: "accept", content: { a: 1 } })).toEqual({ a: 1 });
    expect(formContent({ action: "decline", content: { a: 1 } })).toBeUndefined();
  });

  it.each<[Json, boolean]>([
    [{ action: "decline" }, true],
    [message, true],
    [{ roots: [root] }, true],
    [12_345, false],
    [null, false],
    [{}, false],
    [{ action: "perhaps" }, false],
  ])("to something unknown may be %j: %s", (value, is) => {
    expect(isSomeAnswer(value)).toBe(is);
  });
});

describe("the capabilities of a client", () => {
  it.each<[JsonObject, readonly ClientFeature[]]>([
    [{}, []],
    [{ elicitation: {} }, ["elicitation"]],
    [{ elicitation: { form: {} } }, ["elicitation"]],
    [{ elicitation: { url: {} } }, ["elicitation_url"]],
    [{ elicitation: { form: {}, url: {} } }, ["elicitation", "elicitation_url"]],
    [{ elicitation: true, sampling: null, roots: "x" }, []],
    [{ sampling: {} }, ["sampling"]],
    [{ sampling: { tools: {} } }, ["sampling", "sampling_tools"]],
    [{ sampling: { tools: true } }, ["sampling"]],
    [{ roots: {} }, ["roots"]],
  ])("%j are the features %j", (capabilities, features) => {
    expect([...declaredFeatures(capabilities)]).toEqual(features);
  });

  const whole: JsonObject = {
    elicitation: { form: { x: 1 }, url: {}, other: {} },
    sampling: { tools: {}, context: {} },
    roots: { listChanged: true },
    tasks: {},
    experimental: {},
  };
  it.each<[readonly ClientFeature[], JsonObject]>([
    [["elicitation"], { elicitation: { form: { x: 1 } } }],
    [["elicitation_url"], { elicitation: { url: {} } }],
    [["sampling"], { sampling: {} }],
    [["sampling", "sampling_tools"], { sampling: { tools: {} } }],
    [["roots"], { roots: { listChanged: true } }],
    [[], {}],
  ])("are declared for %j as %j", (features, declared) => {
    expect(capabilitiesFor(whole, new Set(features))).toEqual(declared);
  });

  it("that know no modes are declared without", () => {
    expect(capabilitiesFor({ elicitation: {} }, new Set(["elicitation"]))).toEqual({ elicitation: {} });
  });
});

describe("capabilities that an upstream misses", () => {
  it.each<[JsonObject]>([
    [{ sampling: {} }],
    [{ elicitation: { url: {} }, sampling: { tools: {} } }],
    [{ extensions: { "io.example/x": {} } }],
  ])("%j are told by their names, and nothing but these", (required) => {
    expect(capabilitiesAt(requiredCapabilities({ requiredCapabilities: required, more: "x" }))).toEqual(required);
  });

  it("lose what stands in them, what is too deep, and names that are none", () => {
    const required = { sampling: { note: "ring 555" }, a: { b: { c: { d: {} } } }, "bad name\u202e": {} };
    expect(capabilitiesAt(requiredCapabilities({ requiredCapabilities: required }))).toEqual({
      sampling: { note: {} },
      a: { b: { c: {} } },
    });
    expect(requiredCapabilities(undefined)).toEqual([]);
    const many = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`c${at}`, {}]));
    expect(requiredCapabilities({ requiredCapabilities: many })).toHaveLength(20);
  });
});

describe("the features that an answer has by its shape", () => {
  it.each<[string, JsonObject, readonly (readonly ClientFeature[])[]]>([
    ["a form that was filled in", { action: "accept", content: { a: 1 } }, [["elicitation"]]],
    ["content that no form asks for", { action: "accept", content: { a: null } }, []],
    ["an acceptance alone", { action: "accept" }, [["elicitation_url", "elicitation"]]],
    ["a refusal", { action: "decline", content: { a: null } }, [["elicitation", "elicitation_url"]]],
    ["a text", message, [["sampling", "sampling_tools"]]],
    ["a use of a tool", { ...message, content: use }, [["sampling_tools"]]],
    ["folders", { roots: [root] }, [["roots"]]],
    [
      "one that reads as several",
      { action: "cancel", ...message, roots: [root] },
      [["elicitation", "elicitation_url"], ["sampling", "sampling_tools"], ["roots"]],
    ],
    ["none", { hello: 1 }, []],
  ])("%s", (_law, value, features) => {
    expect(answeredFeatures(value)).toEqual(features);
    expect(isSomeAnswer(value)).toBe(features.length > 0);
  });
});

describe("what was asked", () => {
  it("is read as it was written, whatever its keys", () => {
    const asked = new Map<string, ClientFeature>([
      ...clientFeatures.map((name): [string, ClientFeature] => [name, name]),
    ]);
    asked.set("__proto__", "roots").set("", "sampling");
    expect(readAskedKinds(writeAskedKinds(asked))).toEqual(asked);
  });

  it.each<[Json | undefined]>([[undefined], [{}], [[1]], [[["a"]]], [[["a", "tools"]]], [[[1, "roots"]]]])(
    "is not %j",
    (value) => {
      expect(readAskedKinds(value)).toBeUndefined();
    },
  );

  it.each(clientFeatures.map((feature) => [feature]))("with %s has a method that uses it", (feature) => {
    const params: Partial<Record<ClientFeature, JsonObject>> = {
      elicitation_url: { mode: "url" },
      sampling_tools: { tools: [] },
    };
    expect(featureOf(methodOfFeature(feature), params[feature] ?? {})).toBe(feature);
  });
});
