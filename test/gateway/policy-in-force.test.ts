import { describe, expect, it } from "vitest";
import { beginExchange, type Arrival } from "../../src/gateway/exchange.ts";
import type { Gateway } from "../../src/gateway/gateway.ts";
import { policyOf } from "../../src/gateway/policy-in-force.ts";
import type { Policy } from "../../src/policy/compile.ts";
import type { Classified } from "../../src/protocol/classify.ts";
import { load, rule } from "../policy/given.ts";

const before = load([rule("before", {})]);
const after = load([rule("after", {})]);

/** What an exchange is judged by before and after another policy is put in force. */
function judgedBy(column: string): readonly Policy[] {
  const x = beginExchange({} as unknown as Arrival, "REF", 0);
  x.classified = { column } as unknown as Classified;
  let policy = before;
  const g = { inForce: () => ({ policy, digests: {} }) } as unknown as Gateway;
  const first = policyOf(x, g);
  policy = after;
  return [first, policyOf(x, g)];
}

describe("a policy that is put in force while an exchange is under way", () => {
  it.each(["call", "task", "initialize", "notification", "delete", "discover"])(
    "is for the next exchange, where it is a %s",
    (column) => {
      expect(judgedBy(column)).toEqual([before, before]);
    },
  );

  it.each(["stream", "listen"])("is for the next message, where it is a %s", (column) => {
    expect(judgedBy(column)).toEqual([before, after]);
  });
});
