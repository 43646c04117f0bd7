import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AuditEvent } from "../../src/audit/event.ts";
import { auditUntilNow, openBench } from "./refusal-bench.ts";
import type { RefusalBench } from "./refusal-bench.ts";
import { modernCall } from "./wire-client.ts";

let bench: RefusalBench;

beforeAll(async () => {
  bench = await openBench();
});

afterAll(() => bench.close());

async function call(n: number | string): Promise<readonly AuditEvent[]> {
  const before = (await auditUntilNow(bench.gateway, bench.alice)).length;
  await modernCall(bench.alice, "tools/call", { name: "echo", arguments: { n } });
  return (await auditUntilNow(bench.gateway, bench.alice))
    .slice(before)
    .filter(({ method }) => method === "tools/call");
}

const ended = (events: readonly AuditEvent[]): AuditEvent | undefined => events.find(({ type }) => type === "returned");

describe("keyed digests in the evidence of a call", () => {
  it("are equal for equal arguments and equal results, under one key, and no plain hash of either", async () => {
    const [first, again, other] = [ended(await call(1)), ended(await call(1)), ended(await call(2))];
    expect(first?.argumentsDigest).toMatch(/^[0-9a-f]{64}$/);
    expect(first?.resultDigest).toMatch(/^[0-9a-f]{64}$/);
    expect([again?.argumentsDigest, again?.resultDigest, again?.digestKey]).toEqual([
      first?.argumentsDigest,
      first?.resultDigest,
      first?.digestKey,
    ]);
    expect(other?.argumentsDigest).not.toBe(first?.argumentsDigest);
    expect(first?.argumentsBytes).toBe('{"n":1}'.length);
  });

  it("have none of a result that is not known yet, and none when there is none", async () => {
    const attempted = (await call(3)).find(({ type }) => type === "attempted");
    expect(attempted?.argumentsDigest).toMatch(/^[0-9a-f]{64}$/);
    expect(attempted?.resultDigest).toBeUndefined();
    const [refused] = await call("not an integer");
    expect([refused?.refusal?.code, refused?.resultDigest]).toEqual(["ARGUMENTS_INVALID", undefined]);
  });
});
