import { describe, expect, it } from "vitest";
import { answerRefusal, type Answer, type RefusalContext } from "../../src/gateway/wire-answer.ts";
import { refuse, type RefusalCode } from "../../src/model/refusal.ts";

const inSession: RefusalContext = {
  ref: "0123456789",
  era: "legacy",
  id: 7,
  method: "tools/list",
  asked: undefined,
  outcome: "refused",
  resource: { metadataUrl: "https://gateway.test/.well-known/oauth-protected-resource/s/mcp", minimalScopes: [] },
};

function answer(code: RefusalCode, context: Partial<RefusalContext> = {}): Answer<string> {
  return answerRefusal(refuse(code).refusal, { ...inSession, ...context });
}

describe("what strangers see of a refusal", () => {
  it("another principal's session is answered with the bytes of one that does not exist", () => {
    expect(answer("SESSION_NOT_YOURS")).toEqual(answer("SESSION_UNKNOWN"));
    expect(answer("SESSION_NOT_YOURS").body).not.toContain("YOURS");
  });

  it.each(["tools/call", "prompts/get", "resources/read"])(
    "a hidden item of %s is answered like an unknown one",
    (method) => {
      const asked = { method, asked: "secret" };
      expect(answer("ITEM_HIDDEN", asked)).toEqual(answer("ITEM_UNKNOWN", asked));
      expect(answer("ITEM_HIDDEN", asked).body).not.toContain("HIDDEN");
    },
  );

  it.each([
    ["prompts/get", { error: { code: -32602 } }],
    ["tools/call", { result: { isError: true } }],
  ])("arguments of %s that do not fit are answered in that method's own form", (method, form) => {
    expect(JSON.parse(answer("ARGUMENTS_INVALID", { method }).body ?? "")).toMatchObject(form);
  });
});
