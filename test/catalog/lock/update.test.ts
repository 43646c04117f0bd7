import { describe, expect, it } from "vitest";
import { approveOne, type ApprovalOrder } from "../../../src/catalog/lock/approve.ts";
import type { LockedUpstream } from "../../../src/catalog/lock/document.ts";
import { liveOf } from "../../../src/catalog/lock/live.ts";
import { lockDigest } from "../../../src/catalog/lock/lock-digest.ts";
import { updateUpstream, type LiveUpstream } from "../../../src/catalog/lock/update.ts";
import type { JsonObject } from "../../../src/model/json.ts";
import { limits } from "../../../src/model/limits.ts";
import { bench, compiled, fates, identity, readOffer, signature, writtenLock } from "./lock-bench.ts";
import type { Offer } from "./lock-bench.ts";
import { writeDocument } from "../../../src/catalog/lock/write-document.ts";

const tool = (name: string, description = "One."): JsonObject => ({
  name,
  description,
  inputSchema: { type: "object" },
});
const later = { by: "bob", reason: "Later.", at: "2026-12-01T09:00:00Z" };

async function live(offer: Offer): Promise<LiveUpstream> {
  return liveOf(await readOffer(offer), identity).live;
}

async function locked(offer: Offer): Promise<LockedUpstream> {
  return updateUpstream(undefined, await live(offer), signature).upstream;
}

async function changesOf(before: Offer, after: Offer): Promise<string[]> {
  const { changes } = updateUpstream(await locked(before), await live(after), later);
  return changes.map(({ kind, name, did }) => `${kind} ${name} ${did}`.replace("  ", " "));
}

describe("an update of the lock", () => {
  it.each<[string, Offer, Offer, string[]]>([
    ["nothing", { tool: [tool("a")] }, { tool: [tool("a")] }, []],
    ["another order", { tool: [tool("a"), tool("b")] }, { tool: [tool("b"), tool("a")] }, []],
    ["a new item", { tool: [tool("a")] }, { tool: [tool("a"), tool("b")] }, ["tool b added"]],
    ["a changed one", { tool: [tool("a")] }, { tool: [tool("a", "Two.")] }, ["tool a changed"]],
    ["one that is gone", { tool: [tool("a"), tool("b")] }, { tool: [tool("a")] }, ["tool b removed"]],
    [
      "a prompt for a tool of its name",
      { tool: [tool("a")] },
      { prompt: [{ name: "a" }] },
      ["tool a removed", "prompt a added"],
    ],
    ["resources", {}, { resource: [{ uri: "x://a", name: "a" }] }, []],
    ["new instructions", {}, { instructions: "Hello." }, ["instructions added"]],
    ["other instructions", { instructions: "Hello." }, { instructions: "Bye." }, ["instructions changed"]],
    ["no instructions", { instructions: "Hello." }, {}, ["instructions removed"]],
  ])("says what changed: %s", async (_what, before, after, changes) => {
    expect(await changesOf(before, after)).toEqual(changes);
  });

  it("leaves nothing that is offered unapproved, and approves nothing else", async () => {
    const [before, after]: [Offer, Offer] = [
      { tool: [tool("a"), tool("b")], prompt: [{ name: "p" }], instructions: "Hello." },
      { tool: [tool("a", "Two."), tool("c")], template: [{ uriTemplate: "x://{y}", name: "y" }], instructions: "Bye." },
    ];
    const { upstream } = updateUpstream(await locked(before), await live(after), later);
    const lock = compiled(writeDocument({ upstreams: new Map([["crm", upstream]]) }));
    const of = bench(lock, after);
    expect(new Set(Object.values(fates(await of.read())))).toEqual(new Set(["served"]));
    expect(of.current().self.instructions).toBe("Bye.");
    of.offer = before;
    expect(fates(await of.read())).toMatchObject({
      a: expect.stringMatching("changed") as string,
      b: "CATALOG_ITEM_DRIFTED removed",
    });
  });

  it("keeps who approved what has not changed, and signs what has", async () => {
    const before = await locked({ tool: [tool("a"), tool("b")] });
    const { upstream } = updateUpstream(before, await live({ tool: [tool("a"), tool("b", "Two.")] }), later);
    const signers = [...upstream.items.tool].map(([name, { approved }]) => [name, ...approved.map(({ by }) => by)]);
    expect(signers).toEqual([
      ["a", "ada"],
      ["b", "bob"],
    ]);
  });

  it("keeps both approvals of a roll-out while either is offered, and how an item is pinned", async () => {
    const both = approveOne(
      await locked({ tool: [tool("a")] }),
      await live({ tool: [tool("a", "Two.")] }),
      order("a"),
      later,
    );
    if (!both.ok) throw new Error(both.because);
    const item = { ...both.upstream.items.tool.get("a")!, perUser: "shape" as const };
    const known = { ...both.upstream, items: { ...both.upstream.items, tool: new Map([["a", item]]) } };
    for (const description of ["One.", "Two.", "By shape."]) {
      const { upstream, changes } = updateUpstream(known, await live({ tool: [tool("a", description)] }), later);
      expect([changes, upstream.items.tool.get("a")]).toEqual([[], item]);
    }
  });

  it("leaves a tombstone, and tells an item that is back as it was from one that is not", async () => {
    const gone = updateUpstream(await locked({ tool: [tool("a")] }), await live({}), later).upstream;
    expect(gone.removed.tool.get("a")).toEqual({ at: later.at, digests: [lockDigest(tool("a"))] });
    expect(updateUpstream(gone, await live({}), later)).toEqual({ upstream: gone, changes: [] });
    for (const [description, did] of [
      ["One.", "restored"],
      ["Two.", "returned"],
    ]) {
      const back = updateUpstream(gone, await live({ tool: [tool("a", description)] }), later);
      expect([back.changes.map((change) => change.did), back.upstream.removed.tool.size]).toEqual([[did], 0]);
    }
  });

  it("says when the upstream is another one than that whose definitions were approved", async () => {
    const elsewhere = { ...(await live({})), identity: { ...identity, url: "https://evil.example/mcp" } };
    const { changes, upstream } = updateUpstream(await locked({}), elsewhere, later);
    expect(changes).toMatchObject([{ kind: "identity", differences: [{ at: "/url" }] }]);
    expect(upstream.identity.url).toBe("https://evil.example/mcp");
  });

  it("leaves out what no lock can hold: items listed twice, without a name, or called like no key may be", async () => {
    const catalog = await readOffer({ tool: [tool("a"), tool("a", "Two."), tool("__proto__"), { inputSchema: {} }] });
    const { live: read, leftOut } = liveOf(catalog, identity);
    expect([...read.definitions.tool.keys()]).toEqual([]);
    expect(leftOut.map(({ name }) => name).sort()).toEqual(["", "__proto__", "a"]);
  });
});

function order(name: string, more: Partial<ApprovalOrder> = {}): ApprovalOrder {
  return { kind: "tool", name, digest: undefined, replaces: false, ...more };
}

describe("an approval", () => {
  const two = lockDigest(tool("a", "Two."));

  it.each<[string, Partial<ApprovalOrder>, readonly string[]]>([
    ["stands beside the one before", {}, ["One.", "Two."]],
    ["takes its place", { replaces: true }, ["Two."]],
    ["is of what its approver saw", { digest: two }, ["One.", "Two."]],
  ])("%s", async (_how, more, approved) => {
    const done = approveOne(
      await locked({ tool: [tool("a")] }),
      await live({ tool: [tool("a", "Two.")] }),
      order("a", more),
      later,
    );
    const texts = done.ok
      ? done.upstream.items.tool.get("a")?.approved.map(({ definition }) => definition["description"])
      : [];
    expect(texts).toEqual(approved);
  });

  it("touches nothing else, not even what differs", async () => {
    const before = await locked({ tool: [tool("a"), tool("b")] });
    const done = approveOne(before, await live({ tool: [tool("a", "Two."), tool("b", "Two.")] }), order("a"), later);
    expect(done.ok && done.upstream.items.tool.get("b")).toEqual(before.items.tool.get("b"));
  });

  it("of an item that was removed brings it back", async () => {
    const gone = updateUpstream(await locked({ tool: [tool("a")] }), await live({}), later).upstream;
    const done = approveOne(gone, await live({ tool: [tool("a")] }), order("a"), later);
    expect(done.ok && [done.upstream.items.tool.size, done.upstream.removed.tool.size]).toEqual([1, 0]);
  });

  it.each<[string, Offer, Partial<ApprovalOrder>, RegExp]>([
    ["what is not offered", {}, {}, /does not offer/],
    ["what is approved already", { tool: [tool("a")] }, {}, /approved already/],
    ["something else than its approver saw", { tool: [tool("a", "Three.")] }, { digest: two }, /has sha256:/],
    ["instructions that there are not", {}, { kind: "instructions" }, /no instructions/],
  ])("is refused of %s", async (_what, offer, more, because) => {
    const done = approveOne(await locked({ tool: [tool("a")] }), await live(offer), order("a", more), later);
    expect(done).toMatchObject({ ok: false, because: expect.stringMatching(because) as string });
  });

  it("is refused at another place than the one that was approved, and past the most there may be", async () => {
    const offer = await live({ tool: [tool("a", "Two.")] });
    const elsewhere = { ...offer, identity: { ...identity, authorization: "https://evil.example" } };
    expect(approveOne(await locked({}), elsewhere, order("a"), later)).toMatchObject({ ok: false });
    let known = await locked({ tool: [tool("a", "0")] });
    for (let n = 1; n <= limits.catalogLockApprovalsMax; n += 1) {
      const done = approveOne(known, await live({ tool: [tool("a", String(n))] }), order("a"), later);
      expect(done.ok).toBe(n < limits.catalogLockApprovalsMax);
      if (done.ok) known = done.upstream;
    }
  });

  it("of instructions lets either be served", async () => {
    const done = approveOne(
      await locked({ instructions: "Hello." }),
      await live({ instructions: "Bye." }),
      order("", { kind: "instructions" }),
      later,
    );
    if (!done.ok) throw new Error(done.because);
    const lock = compiled(writeDocument({ upstreams: new Map([["crm", done.upstream]]) }));
    expect(["Hello.", "Bye.", "Other."].map((text) => lock.approvesInstructions("crm", text))).toEqual([
      true,
      true,
      false,
    ]);
  });
});

describe("a lock written twice", () => {
  it("is the same when nothing changed in between", async () => {
    const offer: Offer = { tool: [tool("a")], instructions: "Hello." };
    const text = await writtenLock({ crm: offer });
    const { upstream } = updateUpstream(compiled(text).document.upstreams.get("crm"), await live(offer), later);
    expect(writeDocument({ upstreams: new Map([["crm", upstream]]) })).toBe(text);
  });
});
