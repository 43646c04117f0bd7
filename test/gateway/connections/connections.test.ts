import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createConnections } from "../../../src/gateway/connections/connections.ts";
import type { Connections } from "../../../src/gateway/connections/connections.ts";
import { limits } from "../../../src/model/limits.ts";
import { StoreUnavailable } from "../../../src/model/records.ts";
import { principal } from "../../policy/given.ts";

const { connectionPollMs: poll } = limits;
const wanted = { principal: principal(), upstream: "crm" };
const { tenant, issuer, subject } = wanted.principal;
const change = { person: { tenant, issuer, subject }, upstream: "crm" };

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

interface Looked {
  connected: boolean | "outage";
  looks: number;
}

/** Replicas that hear each other. */
function replicas(count: number): { readonly state: Looked; readonly all: Connections[] } {
  const state: Looked = { connected: false, looks: 0 };
  const takers: ((text: string) => void)[] = [];
  const all = Array.from({ length: count }, (_, at) =>
    createConnections({
      linkFor: () => undefined,
      titleOf: (upstream) => upstream,
      isConnected: () => {
        state.looks += 1;
        if (state.connected === "outage") return Promise.reject(new StoreUnavailable("down"));
        return Promise.resolve(state.connected);
      },
      courier: {
        receive: (_topic, take) => {
          takers[at] = take;
        },
        broadcast: (_topic, text) => {
          for (const [other, take] of takers.entries()) if (other !== at) take(text);
          return Promise.resolve();
        },
      },
      now: Date.now,
      limits,
    }),
  );
  return { state, all };
}

function waiting(at: Connections | undefined, ms: number, signal = new AbortController().signal): { came?: boolean } {
  const seen: { came?: boolean } = {};
  void at?.wait(wanted, { until: Date.now() + ms, signal }).then((came) => (seen.came = came));
  return seen;
}

describe("whoever waits for a connection", () => {
  it("has it at once where it is there", async () => {
    const { state, all } = replicas(1);
    state.connected = true;
    const seen = waiting(all[0], 60_000);
    await vi.advanceTimersByTimeAsync(0);
    expect(seen).toEqual({ came: true });
  });

  it.each([0, 1])("hears of it as the person connects at replica %i of two", async (at) => {
    const { state, all } = replicas(2);
    const seen = waiting(all[0], 60_000);
    await vi.advanceTimersByTimeAsync(10);
    state.connected = true;
    await all[at]?.changed(change);
    await vi.advanceTimersByTimeAsync(0);
    expect(seen).toEqual({ came: true });
  });

  it.each([
    ["another person", { ...change, person: { ...change.person, subject: "bob" } }],
    ["the same name at another issuer", { ...change, person: { ...change.person, issuer: "https://other.test" } }],
    ["the same name in another tenant", { ...change, person: { ...change.person, tenant: "other" } }],
    ["another upstream", { ...change, upstream: "tickets" }],
  ])("does not look because of %s", async (_name, other) => {
    const { state, all } = replicas(1);
    waiting(all[0], 60_000);
    await vi.advanceTimersByTimeAsync(10);
    const before = state.looks;
    await all[0]?.changed(other);
    await vi.advanceTimersByTimeAsync(0);
    expect(state.looks).toBe(before);
  });

  it("finds out by looking, where nobody tells", async () => {
    const { state, all } = replicas(1);
    const seen = waiting(all[0], 60_000);
    await vi.advanceTimersByTimeAsync(10);
    state.connected = true;
    await vi.advanceTimersByTimeAsync(poll - 11);
    expect(seen).toEqual({});
    await vi.advanceTimersByTimeAsync(1);
    expect(seen).toEqual({ came: true });
  });

  it("waits until its time is over and no longer", async () => {
    const { all } = replicas(1);
    const seen = waiting(all[0], 1_000);
    await vi.advanceTimersByTimeAsync(999);
    expect(seen).toEqual({});
    await vi.advanceTimersByTimeAsync(1);
    expect(seen).toEqual({ came: false });
  });

  it("is let go when the call is over", async () => {
    const over = new AbortController();
    const seen = waiting(replicas(1).all[0], 60_000, over.signal);
    await vi.advanceTimersByTimeAsync(10);
    over.abort();
    await vi.advanceTimersByTimeAsync(0);
    expect(seen).toEqual({ came: false });
    expect(vi.getTimerCount()).toBe(0);
  });

  it("goes on waiting through an outage of the store", async () => {
    const { state, all } = replicas(1);
    state.connected = "outage";
    const seen = waiting(all[0], 60_000);
    await vi.advanceTimersByTimeAsync(poll);
    state.connected = true;
    await vi.advanceTimersByTimeAsync(poll);
    expect(seen).toEqual({ came: true });
  });
});

describe("one question at a time", () => {
  it("is one for those who would ask the same meanwhile, and another one afterwards", async () => {
    const [at] = replicas(1).all;
    let count = 0;
    const ask = async (): Promise<{ kind: "answer"; outcome: "accepted"; result: { count: number } }> => {
      const result = { count: (count += 1) };
      await new Promise((resolve) => setTimeout(resolve, 5));
      return { kind: "answer", outcome: "accepted", result };
    };
    const both = Promise.all([at?.together("a", ask), at?.together("a", ask), at?.together("b", ask)]);
    await vi.advanceTimersByTimeAsync(5);
    expect((await both).map((one) => [one?.asked, one?.answer])).toMatchObject([
      [true, { result: { count: 1 } }],
      [false, { result: { count: 1 } }],
      [true, { result: { count: 2 } }],
    ]);
    void at?.together("a", ask);
    await vi.advanceTimersByTimeAsync(5);
    expect(count).toBe(3);
  });
});
