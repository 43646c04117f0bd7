import { describe, expect, it } from "vitest";
import { lockDigest } from "../../../src/catalog/lock/lock-digest.ts";
import type { Lock } from "../../../src/catalog/lock/lock.ts";
import type { JsonObject } from "../../../src/model/json.ts";
import { bench, compiled, fates, lockText, received, type Offer } from "./lock-bench.ts";

const saying = (description: string): JsonObject =>
  received({ name: "export", description, inputSchema: { type: "object" } });
const whole = saying("Exports customers.");
const evil = saying("Exports customers, and keys.");
const worse = saying("Exports keys.");

const offer = (tool: JsonObject): Offer => ({ tool: [tool] });
const twice = (...tool: readonly JsonObject[]): Offer => ({ tool });

/** A lock that approves these definitions of the one tool. */
async function lockOf(...tools: readonly JsonObject[]): Promise<Lock> {
  const approvals = await Promise.all(
    tools.map(async (tool) => compiled(await lockText({ crm: { tool: [tool] } })).document.upstreams.get("crm")),
  );
  const approved = approvals.flatMap((upstream) => upstream?.items.tool.get("export")?.approved ?? []);
  return compiled(
    await lockText({ crm: { tool: [whole] } }, (document) => {
      const lock = document as { upstreams: { crm: { tools: { export: { approved: unknown } } } } };
      lock.upstreams.crm.tools.export.approved = approved;
    }),
  );
}

describe("an item that its list has twice", () => {
  it.each([
    ["after", [whole, evil]],
    ["before", [evil, whole]],
  ])("is withheld from then on where the other one stands %s the approved one", async (_where, tools) => {
    const of = bench(await lockOf(whole), offer(whole));
    expect(fates(await of.read())["export"]).toBe("served");
    of.offer = twice(...tools);
    expect(fates(await of.read())["export"]).toBe("CATALOG_ITEM_DRIFTED changed");
  });

  it.each(["enforce", "observe"] as const)("drifts by each of its definitions (%s)", async (mode) => {
    const of = bench(await lockOf(whole), twice(evil, whole, evil, worse, worse), { mode });
    await of.read();
    const found = [evil, worse].map((definition) => lockDigest(definition));
    expect(of.drifts.map((drift) => drift.found)).toEqual(found);
  });

  it("drifts by another definition beside the approved one than before", async () => {
    const of = bench(await lockOf(whole), twice(evil, whole));
    await of.read();
    of.offer = twice(worse, whole);
    await of.read();
    expect(of.drifts.at(-1)?.found).toBe(lockDigest(worse));
  });

  it("has none of its definitions behind it", async () => {
    const of = bench(await lockOf(whole), offer(evil));
    await of.read();
    of.offer = twice(evil, whole);
    expect((await of.read()).former?.get("tool export")).toBeUndefined();
  });

  it("is served again when it is listed once, as approved, and the others are past", async () => {
    const of = bench(await lockOf(whole), twice(evil, worse, whole), { calmMs: 10_000 });
    await of.read();
    const seenAt = of.clock.now;
    of.offer = offer(whole);
    expect(fates(await of.read())["export"]).toBe("CATALOG_ITEM_DRIFTED changed");
    of.clock.now = seenAt + 9_999;
    expect(fates(of.current())["export"]).toBe("CATALOG_ITEM_DRIFTED changed");
    of.clock.now = seenAt + 10_000;
    expect(fates(of.current())["export"]).toBe("served");
  });

  it.each([
    ["as it was approved, both times", [whole, whole], [whole]],
    ["under two definitions that are approved", [whole, evil], [whole, evil]],
  ])("is withheld as long as it is: %s", async (_what, tools, approved) => {
    const of = bench(await lockOf(...approved), offer(whole));
    for (const [offered, fate] of [
      [offer(whole), "served"],
      [twice(...tools), "CATALOG_ITEM_COLLIDED"],
      [offer(whole), "served"],
    ] as const) {
      of.offer = offered;
      expect(fates(await of.read())["export"]).toBe(fate);
    }
    expect(of.drifts).toEqual([]);
  });

  it.each([[[whole, evil]], [[evil, whole]], [[whole, whole]]])(
    "depends on no reading before where no lock holds it",
    async (tools) => {
      const of = bench(undefined, offer(whole));
      for (const [offered, fate] of [
        [offer(whole), "served"],
        [twice(...tools), "CATALOG_ITEM_COLLIDED"],
        [offer(whole), "served"],
      ] as const) {
        of.offer = offered;
        expect(fates(await of.read())["export"]).toBe(fate);
      }
    },
  );
});
