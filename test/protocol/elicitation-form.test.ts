import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/model/json.ts";
import { withoutPatterns } from "../../src/protocol/elicitation-form.ts";

const formOf = (field: JsonObject): JsonObject => ({ type: "object", properties: { field }, required: ["field"] });

describe("what an answer is held to", () => {
  it.each<[string, JsonObject, JsonObject]>([
    ["a field", { type: "string", pattern: "^a{0,900}$", maxLength: 3 }, { type: "string", maxLength: 3 }],
    [
      "a choice of several",
      { type: "array", items: { enum: ["a"], pattern: "^a$" } },
      { type: "array", items: { enum: ["a"] } },
    ],
    ["a field without one", { type: "integer", minimum: 1 }, { type: "integer", minimum: 1 }],
  ])("has no pattern of %s: a hundred questions would compile a hundred", (_, asked, held) => {
    expect(withoutPatterns(formOf(asked))).toEqual(formOf(held));
  });

  it("is not a field that is called pattern", () => {
    const form = { type: "object", properties: { pattern: { type: "string" } } };
    expect(withoutPatterns(form)).toEqual(form);
  });
});
