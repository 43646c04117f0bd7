import { describe, expect, it } from "vitest";
import type { LockMode } from "../../src/catalog/lock/keeper.ts";
import type { Exchange } from "../../src/gateway/exchange.ts";
import type { Gateway } from "../../src/gateway/gateway.ts";
import { checkDefinition } from "../../src/gateway/steps/check-definition.ts";
import { columns, journey } from "../../src/gateway/journey.ts";
import { recordIntent } from "../../src/gateway/steps/record-intent.ts";
import { forward } from "../../src/gateway/steps/forward.ts";

const item = { upstream: "crm", kind: "tool", name: "get", definition: {}, digest: "ab" } as const;

function judged(mode: LockMode, reason: "changed" | undefined, more: object = {}) {
  const x = { target: { entry: { item, connects: false, ...more } }, findings: [] } as unknown as Exchange;
  const g = { verdictOn: () => ({ mode, reason }) } as unknown as Gateway;
  return { refusal: checkDefinition(x, g), findings: x.findings };
}

describe("an item as a call is about to use it", () => {
  it("that another lock does not approve any more is refused, although it was seen", () => {
    expect(judged("enforce", "changed").refusal).toEqual({
      code: "CATALOG_ITEM_DRIFTED",
      facts: { upstream: "crm", kind: "tool", reason: "changed", found: "sha256:ab" },
    });
  });

  it("is used with a finding where the lock is observed, and without one where it is approved", () => {
    const { refusal, findings } = judged("observe", "changed");
    expect([refusal, findings]).toMatchObject([undefined, [{ kind: "definition-drifted", detail: "changed" }]]);
    expect(judged("enforce", undefined)).toEqual({ refusal: undefined, findings: [] });
  });

  it("of the gateway's own is no upstream's", () => {
    expect(judged("enforce", "changed", { connects: true }).refusal).toBeUndefined();
  });

  it("is looked at in every exchange that asks an upstream for an item, before that is recorded and sent", () => {
    const at = (step: unknown): number => journey.findIndex((row) => row.step === step);
    expect(at(checkDefinition)).toBeGreaterThan(-1);
    expect(at(checkDefinition)).toBeLessThan(at(recordIntent));
    const asking = columns.filter((column) => journey[at(forward)]?.columns.has(column) === true);
    expect(asking.filter((column) => journey[at(checkDefinition)]?.columns.has(column) === true)).toEqual(asking);
  });
});
