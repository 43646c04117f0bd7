import { describe, expect, it } from "vitest";
import { judgeAsked } from "../../../src/gateway/asking/judge-asked.ts";
import type { Exchange } from "../../../src/gateway/exchange.ts";
import type { Gateway } from "../../../src/gateway/gateway.ts";
import { limits } from "../../../src/model/limits.ts";
import { createCheckers } from "../../../src/schema/checker.ts";
import { load, principal, rule } from "../../policy/given.ts";

const form = {
  upstream: "crm",
  method: "elicitation/create",
  params: { message: "m", requestedSchema: { type: "object", properties: { name: { type: "string" } } } },
};

const x = {
  arrival: { server: { name: "support" } },
  principal: principal(),
  classified: { era: "legacy", message: {} },
  session: { revision: "2025-11-25", clientCapabilities: { elicitation: {} } },
} as unknown as Exchange;

/** What comes of a form under one rule about forms, and how many forms were compiled for it. */
function judged(effect: "allow" | "deny"): { verdict: string; compiled: number } {
  const forms = createCheckers({ validatorsMax: 10 });
  let compiled = 0;
  const policy = load([rule("forms", { effect, what: { upstream: "crm", clientFeature: "elicitation" } })]);
  const g = {
    inForce: () => ({ policy }),
    now: () => 0,
    limits,
    asking: {
      forms: {
        for: (...of: Parameters<typeof forms.for>) => {
          compiled += 1;
          return forms.for(...of);
        },
      },
    },
  } as unknown as Gateway;
  return { verdict: judgeAsked(x, g, form).verdict, compiled };
}

describe("a form that an upstream asks for", () => {
  it("costs no compilation where policy denies it", () => {
    expect(judged("deny")).toEqual({ verdict: "denied", compiled: 0 });
  });

  it("is compiled where policy allows it", () => {
    expect(judged("allow")).toEqual({ verdict: "pass", compiled: 1 });
  });
});
