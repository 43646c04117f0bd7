import { describe, expect, it } from "vitest";
import { formOf } from "../../src/gateway/asking/judge-asked.ts";
import type { Gateway } from "../../src/gateway/gateway.ts";
import { createCheckers } from "../../src/schema/checker.ts";

const g = { asking: { forms: createCheckers({ validatorsMax: 10 }) } } as unknown as Gateway;

describe("a form", () => {
  it("is compiled without its patterns, and holds an answer to the rest", () => {
    const word = { type: "string", pattern: "^never$", maxLength: 3 };
    const requestedSchema = { type: "object", properties: { word } };
    const form = formOf(g, {
      method: "elicitation/create",
      feature: "elicitation",
      params: { message: "m", requestedSchema },
    });
    if (form?.usable !== true) throw new Error("the form cannot be checked");
    expect(form.check({ word: "yes" })).toEqual([]);
    expect(form.check({ word: "longer" })).toHaveLength(1);
  });
});
