import { describe, expect, it } from "vitest";
import type { Finding } from "../../src/model/finding.ts";
import { limits } from "../../src/model/limits.ts";
import { beginExchange, noteFindings } from "../../src/gateway/exchange.ts";
import type { Arrival } from "../../src/gateway/exchange.ts";

const finding: Finding = { kind: "schema-violated", where: "/a", detail: "b", count: 1 };
const many = (count: number): Finding[] => Array.from({ length: count }, () => finding);

describe("findings of one exchange", () => {
  const max = limits.findingsPerExchangeMax;

  it.each([
    [[max - 1], max - 1],
    [[max], max],
    [[max + 1], max],
    [[max - 1, 2], max],
    [[max, max, max], max],
  ])("that come as %j are %i: whoever talks for long fills no memory", (batches, kept) => {
    const x = beginExchange({} as unknown as Arrival, "ref", 0);
    for (const count of batches) noteFindings(x, many(count));
    expect(x.findings).toHaveLength(kept);
  });
});
