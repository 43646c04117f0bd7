import { describe, expect, it } from "vitest";
import { createCancelElsewhere } from "../../src/gateway/cancel-elsewhere.ts";
import type { Exchange } from "../../src/gateway/exchange.ts";
import type { Gateway } from "../../src/gateway/gateway.ts";
import { takeCancellation } from "../../src/gateway/steps/take-cancellation.ts";
import { cancelText, createUnderWay, type UnderWay } from "../../src/gateway/under-way.ts";
import { limits } from "../../src/model/limits.ts";

const most = limits.cancellationsToldPerMinuteMax;

interface Replica {
  readonly told: string[];
  readonly underWay: UnderWay;
  now: number;
  cancel(principal: string, session: string, id: number | string): Promise<void>;
}

function replica(more: { cancellersRememberedMax?: number } = {}): Replica {
  const told: string[] = [];
  const underWay = createUnderWay();
  const broadcast = (topic: string, text: string): Promise<void> => {
    told.push(`${topic} ${text}`);
    return Promise.resolve();
  };
  const made: Replica = {
    told,
    underWay,
    now: 1_000_000,
    cancel: async (principal, session, id) => {
      await takeCancellation(notification(principal, session, id), g);
    },
  };
  const cancelElsewhere = createCancelElsewhere({
    courier: { broadcast },
    now: () => made.now,
    limits: { ...limits, ...more },
  });
  const g = { underWay, cancelElsewhere } as unknown as Gateway;
  return made;
}

function notification(principal: string, session: string, requestId: number | string): Exchange {
  const message = { kind: "notification", method: "notifications/cancelled", params: { requestId } };
  return {
    classified: { message },
    principal: { key: principal },
    session: { tenant: "t", id: session },
  } as unknown as Exchange;
}

describe("cancellations of calls that are not here", () => {
  it("are told to other replicas so often a minute for one principal, whatever it names, and then again", async () => {
    const here = replica();
    for (let id = 0; id < 10_000; id += 1) await here.cancel("mallory", `s${id % 7}`, id);
    expect(here.told).toHaveLength(most);
    expect(here.told[0]).toBe(`cancel ${cancelText({ tenant: "t", id: "s0" }, 0)}`);
    here.now += 59_999;
    await here.cancel("mallory", "s", "x");
    expect(here.told).toHaveLength(most);
    here.now += 1;
    await here.cancel("mallory", "s", "x");
    expect(here.told).toHaveLength(most + 1);
  });

  it("of one principal keep nobody else's from being told", async () => {
    const here = replica();
    for (let id = 0; id <= most; id += 1) await here.cancel("mallory", "s", id);
    await here.cancel("alice", "a", 1);
    expect(here.told.at(-1)).toBe(`cancel ${cancelText({ tenant: "t", id: "a" }, 1)}`);
  });

  it("are counted for so many principals, of whom the oldest begins anew", async () => {
    const here = replica({ cancellersRememberedMax: 2 });
    for (let id = 0; id <= most; id += 1) await here.cancel("one", "s", id);
    await here.cancel("two", "s", 1);
    await here.cancel("one", "s", 1);
    expect(here.told).toHaveLength(most + 1);
    await here.cancel("three", "s", 1);
    await here.cancel("one", "s", 1);
    expect(here.told).toHaveLength(most + 3);
  });

  it("are not counted where the call is here, which needs no telling", async () => {
    const here = replica();
    const call = here.underWay.begin({ tenant: "t", id: "s" }, 1);
    for (let count = 0; count <= most; count += 1) await here.cancel("alice", "s", 1);
    expect([call.cancelled, here.told.length]).toEqual([true, 0]);
    await here.cancel("alice", "s", 2);
    expect(here.told).toHaveLength(1);
  });
});
