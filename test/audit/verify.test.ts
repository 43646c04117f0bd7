import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findByRef } from "../../src/audit/find.ts";
import { chainHead, verifyChain } from "../../src/audit/verify.ts";
import type { ChainFault } from "../../src/audit/verify.ts";
import { chainOf } from "./sinks-under-test.ts";

async function faultsOf(lines: readonly string[]): Promise<Pick<ChainFault, "kind" | "line" | "seq">[]> {
  const { faults } = await verifyChain(lines);
  return faults.map(({ kind, line, seq }) => ({ kind, line, seq }));
}

describe("verification of a chain", () => {
  it("finds nothing in a whole one, and says where it stands", async () => {
    const lines = await chainOf(20);
    expect(await verifyChain(lines)).toMatchObject({
      ok: true,
      lines: 20,
      faultCount: 0,
      replicas: [{ replica: "replica-1", events: 20, starts: [1], beginsLateAt: undefined, head: { seq: 20 } }],
    });
  });

  it.each([
    ["the reference", (line: string) => line.replace("REF0000005", "REF9999999")],
    ["the time", (line: string) => line.replace("T12:00:00", "T13:00:00")],
    ["the type", (line: string) => line.replace('"attempted"', '"denied"')],
    ["an added member", (line: string) => line.replace("{", '{"outcome":"returned",')],
    ["its own hash", (line: string) => line.replace(/"hash":"./u, '"hash":"x')],
  ])("finds a change of %s", async (_, change) => {
    const lines = await chainOf(10);
    lines[4] = change(lines[4]!);
    const faults = await faultsOf(lines);
    expect(faults[0]).toEqual({ kind: "changed", line: 5, seq: 5 });
  });

  it("finds an event that was changed and hashed anew, at the one after it", async () => {
    const [lines, others] = [await chainOf(10), await chainOf(10, { now: () => 0 })];
    lines[4] = others[4]!;
    expect(await faultsOf(lines)).toEqual([
      { kind: "relinked", line: 5, seq: 5 },
      { kind: "relinked", line: 6, seq: 6 },
    ]);
  });

  it("finds missing events, and goes on behind the gap", async () => {
    const lines = await chainOf(10);
    lines.splice(3, 2);
    expect(await verifyChain(lines)).toMatchObject({ faults: [{ kind: "gap", line: 4, seq: 6, expectedSeq: 4 }] });
  });

  it("finds events that changed places", async () => {
    const lines = await chainOf(10);
    [lines[3], lines[4]] = [lines[4]!, lines[3]!];
    expect(await faultsOf(lines)).toEqual([
      { kind: "gap", line: 4, seq: 5 },
      { kind: "reordered", line: 5, seq: 4 },
    ]);
  });

  it("finds a torn line, and what is missing because of it", async () => {
    const lines = await chainOf(4);
    lines[1] = lines[1]!.slice(0, 40);
    expect(await faultsOf(lines)).toEqual([
      { kind: "torn", line: 2, seq: 0 },
      { kind: "gap", line: 3, seq: 3 },
    ]);
  });

  it("takes a batch that was written twice for what it is", async () => {
    const lines = await chainOf(10);
    const repeated = [...lines.slice(0, 6), ...lines.slice(3, 6), ...lines.slice(6)];
    expect(await verifyChain(repeated)).toMatchObject({ ok: true, replicas: [{ events: 10, repeated: 3 }] });
  });

  it("follows interleaved replicas and their restarts, and says where chains start", async () => {
    const [a, b] = [await chainOf(3, { replica: "a" }), await chainOf(3, { replica: "b" })];
    const lines = [a[0]!, b[0]!, b[1]!, a[1]!, a[2]!, b[2]!, ...(await chainOf(2, { replica: "a", now: () => 0 }))];
    expect(await verifyChain(lines)).toMatchObject({
      ok: true,
      replicas: [
        { replica: "a", starts: [1, 7], head: { seq: 2 } },
        { replica: "b", starts: [2] },
      ],
    });
  });

  it("says that a trimmed chain begins late, and still checks the rest", async () => {
    const lines = (await chainOf(10)).slice(4);
    expect(await verifyChain(lines)).toMatchObject({ ok: true, replicas: [{ beginsLateAt: 5, starts: [] }] });
  });

  it("accepts a line that another tool wrote anew with its keys in another order", async () => {
    const lines = await chainOf(3);
    lines[1] = JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(lines[1]!) as object).reverse()));
    expect(await verifyChain(lines)).toMatchObject({ ok: true });
  });

  it("refuses two readings of one line: a repeated key is torn, not the last value", async () => {
    const lines = await chainOf(2);
    lines[1] = lines[1]!.replace('"ref":"REF0000002"', '"ref":"REF9999999","ref":"REF0000002"');
    expect((await faultsOf(lines))[0]).toEqual({ kind: "torn", line: 2, seq: 0 });
  });

  it("never misses a changed character, a lost line inside, or a swap", async () => {
    const lines = await chainOf(12);
    await fc.assert(
      fc.asyncProperty(
        fc.nat({ max: 10 }),
        fc.nat(),
        fc.constantFrom("flip", "drop", "swap"),
        async (at, where, how) => {
          const copy = [...lines];
          const line = copy[at]!;
          const spot = where % line.length;
          if (how === "flip")
            copy[at] = `${line.slice(0, spot)}${line[spot] === "a" ? "b" : "a"}${line.slice(spot + 1)}`;
          if (how === "swap") [copy[at], copy[at + 1]] = [copy[at + 1]!, line];
          // Dropping the first line is trimming, which is told and no fault.
          if (how === "drop") copy.splice(Math.max(1, at), 1);
          expect((await verifyChain(copy)).ok).toBe(false);
        },
      ),
      { numRuns: 300 },
    );
  });

  it("says nothing about a cut tail, but its head does", async () => {
    const lines = await chainOf(10);
    expect(await verifyChain(lines.slice(0, 7))).toMatchObject({ ok: true, replicas: [{ head: { seq: 7 } }] });
  });
});

describe("the head of a chain", () => {
  it("is the last whole event of the replica asked for", async () => {
    const lines = [...(await chainOf(3)), ...(await chainOf(5, { replica: "other" })), '{"torn'];
    const report = await verifyChain(lines);
    expect(await chainHead(lines, "replica-1")).toEqual(report.replicas[0]?.head);
    expect(await chainHead(lines, "nobody")).toBeUndefined();
  });
});

describe("a reference", () => {
  it("finds its events however it is typed, and no event that merely mentions it", async () => {
    const lines = await chainOf(5);
    const mention = JSON.stringify({ note: "REF0000003" });
    for (const typed of ["REF0000003", "ref0000003", "REF-OOOO-OO3", " ref 000 0003"]) {
      const found = await findByRef([...lines, mention], typed);
      expect(found).toMatchObject([{ seq: 3 }]);
    }
    expect(await findByRef(lines, "REF0000009")).toEqual([]);
    expect(await findByRef(lines, "")).toEqual([]);
  });
});
