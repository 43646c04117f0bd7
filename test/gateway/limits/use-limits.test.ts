import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createUseLimits } from "../../../src/gateway/limits/use-limits.ts";
import type { Admitted, LimitedUse } from "../../../src/gateway/limits/use-limits.ts";
import type { LimitObligation, LimitScope } from "../../../src/model/obligations.ts";
import { anonymousPrincipal } from "../../../src/auth/anonymous.ts";
import { principalKey } from "../../../src/model/principal.ts";
import type { Principal } from "../../../src/model/principal.ts";
import type { RecordUses } from "../../../src/model/records.ts";
import { createMemoryStore } from "../../../src/store/memory.ts";

const scopes: readonly LimitScope[] = ["principal", "client", "item", "server"];
const kinds = ["rate", "quota", "concurrency"] as const;

function limitOf(
  kind: LimitObligation["kind"],
  per: readonly LimitScope[],
  more: { message?: string } = {},
): LimitObligation {
  const common = { rule: "few", at: 0, per, count: 1, ...more };
  return kind === "rate" ? { ...common, kind, perMs: 3_600_000, burst: 1 } : { ...common, kind };
}

function who(subject: string, clientId: string, tenant = "acme"): Principal {
  const identity = { tenant, issuer: "https://as", kind: "human", subject, clientId } as const;
  return { ...anonymousPrincipal, ...identity, key: principalKey(identity) };
}

/** What of a use differs from Ada's, through the desk, of one tool at one server. */
const uses: Readonly<Record<LimitScope | "nothing" | "tenant", Partial<LimitedUse>>> = {
  nothing: {},
  principal: { principal: who("bob", "desk") },
  client: { principal: who("ada", "phone") },
  item: { item: { upstream: "up", kind: "tool", name: "other" } },
  server: { server: "second" },
  tenant: { principal: who("ada", "desk", "other") },
};

let now = 1_800_000_000_000;
let serial = 0;
const leaseId = (): string => String((serial += 1));

function limitsOver(records: RecordUses = createMemoryStore({ now: () => now }), leaseMs?: number) {
  return createUseLimits({ records, leaseId, ...(leaseMs === undefined ? {} : { leaseMs }) });
}

function useOf(limits: readonly LimitObligation[], more: Partial<LimitedUse> = {}): LimitedUse {
  const item = { upstream: "up", kind: "tool", name: "export" } as const;
  return { principal: who("ada", "desk"), server: "first", item, limits, ...more };
}

function code(admitted: Admitted): string {
  return admitted.ok ? "" : admitted.refusal.code;
}

/** Every combination of scopes, and what of a use makes it count by itself. */
const combinations = Array.from({ length: 2 ** scopes.length - 1 }, (_, n) =>
  scopes.filter((_scope, bit) => ((n + 1) >> bit) % 2 === 1),
);
const codes = { rate: "RATE_LIMITED", quota: "QUOTA_EXHAUSTED", concurrency: "CONCURRENCY_LIMITED" };

describe.each(kinds)("a limit by %s", (kind) => {
  it.each(combinations)("per %s, %s, %s, %s counts apart what these tell apart, and nothing else", async (...per) => {
    const given = per.filter((scope) => (scope as LimitScope | undefined) !== undefined);
    const limits = [limitOf(kind, given)];
    for (const [differs, more] of Object.entries(uses)) {
      const gate = limitsOver();
      await gate.admit(useOf(limits));
      const isApart = differs === "tenant" || given.some((scope) => scope === differs);
      expect([differs, code(await gate.admit(useOf(limits, more)))]).toEqual([differs, isApart ? "" : codes[kind]]);
    }
  });

  it("of another rule, and the next of the same rule, count by themselves", async () => {
    const gate = limitsOver();
    const limit = limitOf(kind, ["server"]);
    await gate.admit(useOf([limit]));
    expect(code(await gate.admit(useOf([{ ...limit, rule: "other" }])))).toBe("");
    expect(code(await gate.admit(useOf([{ ...limit, at: 1 }])))).toBe("");
  });

  it("tells its rule's words first, and its rule only to the operator", async () => {
    const gate = limitsOver();
    const limits = [limitOf(kind, ["server"], { message: "Ask for a bulk export." })];
    await gate.admit(useOf(limits));
    const refused = await gate.admit(useOf(limits));
    const { message, facts } = refused.ok ? {} : refused.refusal;
    expect(message).toMatch(/^Ask for a bulk export\./);
    expect(message?.includes("Wait")).toBe(kind !== "concurrency");
    expect(facts).toMatchObject({ rule: "few", kind, per: ["server"] });
  });
});

describe("a use that is limited by rate", () => {
  it("is told the seconds until the next, rounded up", async () => {
    const gate = limitsOver();
    const limits = [limitOf("rate", ["server"])];
    await gate.admit(useOf(limits));
    now += 3_598_500;
    const refused = await gate.admit(useOf(limits));
    expect(refused.ok ? "" : refused.refusal.message).toBe("Wait 2 seconds, then try again.");
    now += 1_000;
    const later = await gate.admit(useOf(limits));
    expect(later.ok ? "" : later.refusal.message).toBe("Wait 1 second, then try again.");
  });
});

describe("a rate of another window", () => {
  it("counts anew, as what is used up of one says nothing of the other", async () => {
    const gate = limitsOver();
    const limit = limitOf("rate", ["server"]);
    await gate.admit(useOf([limit]));
    expect(code(await gate.admit(useOf([{ ...limit, perMs: 1_000 } as LimitObligation])))).toBe("");
  });
});

describe("a use under way", () => {
  beforeEach(() => {
    vi.useFakeTimers({ now });
  });
  afterEach(() => {
    vi.useRealTimers();
  });
  const limits = [limitOf("concurrency", ["server"])];
  const advance = async (ms: number): Promise<void> => {
    now += ms;
    await vi.advanceTimersByTimeAsync(ms);
  };

  it("counts until it ends, however long it lasts, and once", async () => {
    const gate = limitsOver(undefined, 9_000);
    const first = await gate.admit(useOf(limits));
    for (let seconds = 0; seconds < 60; seconds += 1) await advance(1_000);
    expect(code(await gate.admit(useOf(limits)))).toBe("CONCURRENCY_LIMITED");
    if (first.ok) {
      first.end();
      first.end();
    }
    await advance(0);
    expect(code(await gate.admit(useOf(limits)))).toBe("");
    expect(vi.getTimerCount()).toBe(1);
  });

  it("of a replica that is gone counts for the life of its lease, and no longer", async () => {
    const store = createMemoryStore({ now: () => now });
    const gone: RecordUses = { ...store, keepLease: () => new Promise(() => undefined) };
    await limitsOver(gone, 9_000).admit(useOf(limits));
    const gate = limitsOver(store, 9_000);
    await advance(8_999);
    expect(code(await gate.admit(useOf(limits)))).toBe("CONCURRENCY_LIMITED");
    await advance(1);
    expect(code(await gate.admit(useOf(limits)))).toBe("");
  });

  it("is not disturbed by a store that fails meanwhile", async () => {
    const store = createMemoryStore({ now: () => now });
    const failing: RecordUses = {
      ...store,
      keepLease: () => Promise.reject(new Error("down")),
      endLease: () => Promise.reject(new Error("down")),
    };
    const admitted = await limitsOver(failing, 9_000).admit(useOf(limits));
    await advance(30_000);
    if (admitted.ok) admitted.end();
    await advance(0);
    expect(admitted.ok).toBe(true);
  });
});

describe("a store that cannot say", () => {
  it("rejects: nobody is let through on a guess", async () => {
    const store = createMemoryStore({ now: () => now });
    await store.close();
    await expect(limitsOver(store).admit(useOf([limitOf("quota", ["server"])]))).rejects.toMatchObject({
      name: "StoreUnavailable",
    });
  });
});
