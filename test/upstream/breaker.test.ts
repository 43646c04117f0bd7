import { expect, test } from "vitest";
import { createBackoff } from "../../src/upstream/backoff.ts";
import { createBreaker } from "../../src/upstream/breaker.ts";
import type { Admission, Breaker, Health } from "../../src/upstream/breaker.ts";
import { bob, call, roomFor, scripted, summary, until } from "./setup.ts";
import type { Script } from "./scripted-upstream.ts";

interface Bench {
  readonly breaker: Breaker;
  readonly clock: { now: number };
  readonly changes: string[];
}

function bench(changes: { failures?: number; random?: number } = {}): Bench {
  const clock = { now: 0 };
  const told: string[] = [];
  const breaker = createBreaker({
    failures: changes.failures ?? 3,
    windowMs: 10_000,
    pauseMs: 1_000,
    pauseMsMax: 4_000,
    now: () => clock.now,
    random: () => changes.random ?? 0,
    onChange: (suspended, pauseMs) => told.push(suspended ? `suspended ${pauseMs}` : "resumed"),
  });
  return { breaker, clock, changes: told };
}

function begin(breaker: Breaker): Extract<Admission, { kind: "admitted" }> {
  const admission = breaker.admit();
  if (admission.kind === "suspended") throw new Error("suspended");
  return admission;
}

/** Exchanges one after the other. */
function exchanges(breaker: Breaker, ...healths: readonly Health[]): void {
  for (const health of healths) begin(breaker).settle(health);
}

const opening: readonly { name: string; healths: readonly Health[]; opens: boolean }[] = [
  { name: "as many as it takes", healths: ["ill", "ill", "ill"], opens: true },
  { name: "one fewer", healths: ["ill", "ill"], opens: false },
  { name: "cut connections, one after the other", healths: ["cut", "cut", "cut"], opens: true },
  { name: "a success between", healths: ["ill", "ill", "well", "ill", "ill"], opens: false },
  { name: "what tells nothing between", healths: ["ill", "neither", "ill", "neither", "ill"], opens: true },
  { name: "what tells nothing alone", healths: ["neither", "neither", "neither"], opens: false },
];

test.each(opening)("consecutive failures suspend: $name", ({ healths, opens }) => {
  const { breaker } = bench();
  exchanges(breaker, ...healths);
  expect(breaker.admit().kind).toBe(opens ? "suspended" : "admitted");
});

test.each([
  { afterMs: 10_000, opens: true },
  { afterMs: 10_001, opens: false },
])("failures spread over $afterMs ms of a window of 10000 ms suspend: $opens", ({ afterMs, opens }) => {
  const { breaker, clock } = bench();
  exchanges(breaker, "ill", "ill");
  clock.now = afterMs;
  exchanges(breaker, "ill");
  expect(breaker.admit().kind).toBe(opens ? "suspended" : "admitted");
});

test("only the last failures count for the window", () => {
  const { breaker, clock } = bench();
  exchanges(breaker, "ill", "ill");
  clock.now = 20_000;
  exchanges(breaker, "ill", "ill");
  expect(breaker.admit().kind).toBe("admitted");
  exchanges(breaker, "ill");
  expect(breaker.admit().kind).toBe("suspended");
});

test("one event that cuts many exchanges at once counts once; failures of other kinds count each", () => {
  const { breaker } = bench();
  const together = [begin(breaker), begin(breaker), begin(breaker), begin(breaker)];
  for (const { settle } of together) settle("cut");
  expect(breaker.admit().kind).toBe("admitted");
  const silent = [begin(breaker), begin(breaker)];
  for (const { settle } of silent) settle("ill");
  expect(breaker.admit().kind).toBe("suspended");
});

test("after the pause one exchange finds out, and its success resumes", () => {
  const { breaker, clock, changes } = bench();
  exchanges(breaker, "ill", "ill", "ill");
  clock.now = 999;
  expect(breaker.admit()).toEqual({ kind: "suspended", retryMs: 1 });
  clock.now = 1_000;
  const trial = begin(breaker);
  expect(breaker.admit()).toEqual({ kind: "suspended", retryMs: 1_000 });
  trial.settle("well");
  expect(changes).toEqual(["suspended 1000", "resumed"]);
  exchanges(breaker, "ill", "ill");
  expect(breaker.admit().kind).toBe("admitted");
});

test("a trial that fails suspends at once and for longer, up to a bound; a success begins anew", () => {
  const { breaker, clock, changes } = bench({ random: 0.999_999 });
  exchanges(breaker, "ill", "ill", "ill");
  for (const health of ["ill", "cut", "ill"] as const) {
    clock.now += 4_000;
    exchanges(breaker, health);
  }
  clock.now += 4_000;
  exchanges(breaker, "well", "ill", "ill", "ill");
  expect(changes).toEqual([
    "suspended 2000",
    "suspended 4000",
    "suspended 4000",
    "suspended 4000",
    "resumed",
    "suspended 2000",
  ]);
});

test("a trial that tells nothing leaves it to the next", () => {
  const { breaker, clock } = bench();
  exchanges(breaker, "ill", "ill", "ill");
  clock.now = 1_000;
  exchanges(breaker, "neither");
  exchanges(breaker, "well");
  expect(breaker.admit().kind).toBe("admitted");
  expect(breaker.admit().kind).toBe("admitted");
});

test("what began before a suspension says nothing during and after it", () => {
  const { breaker, clock, changes } = bench();
  const [early, late, last] = [begin(breaker), begin(breaker), begin(breaker)];
  exchanges(breaker, "ill", "ill", "ill");
  early.settle("well");
  expect(breaker.admit().kind).toBe("suspended");
  clock.now = 1_000;
  const trial = begin(breaker);
  late.settle("ill");
  trial.settle("well");
  for (const { settle } of [last, last, last]) settle("ill");
  expect(breaker.admit().kind).toBe("admitted");
  expect(changes).toEqual(["suspended 1000", "resumed"]);
});

test("with 0 failures it never suspends", () => {
  const { breaker } = bench({ failures: 0 });
  exchanges(breaker, ...Array.from({ length: 100 }, () => "ill" as const));
  expect(breaker.admit().kind).toBe("admitted");
});

test.each([
  { random: 0, pauses: [10, 10, 10, 10] },
  { random: 0.5, pauses: [15, 25, 35, 35] },
  { random: 0.999_999, pauses: [20, 40, 60, 60] },
])("pauses grow from their least to their most, with jitter: $random", ({ random, pauses }) => {
  const backoff = createBackoff({ msMin: 10, msMax: 60, random: () => random });
  expect(pauses.map(() => backoff.next())).toEqual(pauses);
  backoff.reset();
  expect(backoff.next()).toBe(pauses[0]);
});

// The room: which answers count, and what passes a suspended upstream.

const three = { breaker: { failures: 3, pauseMs: 1_000 } };

function reply(status: number, body: (id: unknown) => unknown): Script {
  return (request, wire) => {
    if (request.rpc["method"] === "server/discover") return false;
    wire.json(status, body(request.rpc["id"]));
    return true;
  };
}

const cut: Script = (request, wire) => {
  if (request.rpc["method"] === "server/discover") return false;
  wire.reset();
  return true;
};

const silence: Script = ({ rpc }) => rpc["method"] !== "server/discover";

const begun: Script = (request, wire) => {
  if (request.rpc["method"] === "server/discover") return false;
  wire.eventStream();
  return true;
};

const counted: readonly { name: string; script: Script; suspends: boolean; timeoutMs?: number }[] = [
  { name: "500", script: reply(500, () => ({})), suspends: true },
  { name: "503", script: reply(503, () => ({})), suspends: true },
  { name: "501", script: reply(501, () => ({})), suspends: false },
  { name: "400", script: reply(400, () => ({})), suspends: false },
  { name: "429", script: reply(429, () => ({})), suspends: false },
  { name: "401", script: reply(401, () => ({})), suspends: false },
  { name: "a cut connection", script: cut, suspends: true },
  { name: "what is no message", script: reply(200, () => [1]), suspends: true },
  {
    name: "another request's answer",
    script: reply(200, () => ({ jsonrpc: "2.0", id: "x", result: {} })),
    suspends: true,
  },
  { name: "silence", script: silence, suspends: true, timeoutMs: 300 },
  { name: "a call that goes on for too long", script: begun, suspends: false, timeoutMs: 300 },
  {
    name: "an error of the protocol",
    script: reply(200, (id) => ({ jsonrpc: "2.0", id, error: { code: -32603, message: "x" } })),
    suspends: false,
  },
  {
    name: "a tool's isError",
    script: reply(200, (id) => ({
      jsonrpc: "2.0",
      id,
      result: { isError: true, content: [], resultType: "complete" },
    })),
    suspends: false,
  },
];

test.each(counted)(
  "what counts as a failure of the upstream: $name",
  async ({ script, suspends, timeoutMs = 5_000 }) => {
    const up = await scripted();
    const { upstreams } = roomFor(up.url, { options: three });
    up.script(script);
    for (let at = 0; at < 3; at += 1) await upstreams.request(call({ timeoutMs }));
    up.script(undefined);
    const answer = await upstreams.request(call());
    expect(summary(answer)).toBe(suspends ? "failed UPSTREAM_SUSPENDED" : "result");
  },
);

test("an upstream that cannot be reached is suspended; its callers are told how long, and it is not dialled", async () => {
  const up = await scripted();
  const room = roomFor(up.url, { options: three });
  await room.upstreams.request(call());
  await up.close();
  for (let at = 0; at < 3; at += 1) {
    const answer = await room.upstreams.request(call());
    expect(["failed UPSTREAM_UNREACHABLE", "unknown UPSTREAM_CLOSED_EARLY"]).toContain(summary(answer));
  }
  const refused = await room.upstreams.request(call({ account: bob }));
  expect(refused).toMatchObject({
    kind: "failed",
    outcome: "failed",
    refusal: { code: "UPSTREAM_SUSPENDED", facts: { upstream: "up" } },
    hop: undefined,
  });
  const retryMs = refused.kind === "failed" ? Number(refused.refusal.facts["retryMs"]) : 0;
  expect(retryMs).toBeGreaterThanOrEqual(1_000);
  expect(retryMs).toBeLessThanOrEqual(2_000);
  expect(room.log.map(({ event }) => event)).toContain("upstream-suspended");
});

test("whoever leaves, and a queue that is full, are no failures", async () => {
  const up = await scripted();
  const { upstreams } = roomFor(up.url, { options: { ...three, connectionsMax: 1, queueMax: 0 } });
  up.script(silence);
  await upstreams.identify("up", bob, new AbortController().signal);
  const abort = new AbortController();
  const held = upstreams.request(call({ signal: abort.signal }));
  await until(() => up.count("tools/call") === 1);
  for (let at = 0; at < 5; at += 1) expect(summary(await upstreams.request(call()))).toBe("failed UPSTREAM_QUEUE_FULL");
  abort.abort();
  expect(summary(await held)).toBe("unknown CLIENT_GONE");
  up.script(undefined);
  await until(() => up.abandoned.length === 1);
  expect(summary(await upstreams.request(call()))).toBe("result");
});

test("what serves recovery passes a suspended upstream, and resumes it for nobody", async () => {
  const up = await scripted();
  const room = roomFor(up.url, { options: three });
  up.script(reply(500, () => ({})));
  for (let at = 0; at < 3; at += 1) await room.upstreams.request(call());
  const task = { params: { taskId: "t" }, name: "t", kind: undefined };
  for (const method of ["tasks/get", "tasks/result", "tasks/list", "tasks/update", "tasks/cancel", "ping"]) {
    expect(summary(await room.upstreams.request(call({ ...task, method })))).not.toContain("UPSTREAM_SUSPENDED");
    expect(up.count(method)).toBe(1);
  }
  expect(summary(await room.upstreams.request(call()))).toBe("failed UPSTREAM_SUSPENDED");
  const identity = await room.upstreams.identify("up", bob, new AbortController().signal);
  expect(identity.ok).toBe(true);
});

test("one call finds out that an upstream is well again, and who watches the room is told", async () => {
  const up = await scripted();
  const told: string[] = [];
  const room = roomFor(up.url, { options: three, onSuspended: (name, suspended) => told.push(`${name} ${suspended}`) });
  up.script(reply(500, () => ({})));
  for (let at = 0; at < 3; at += 1) await room.upstreams.request(call());
  up.script(undefined);
  room.clock.now += 2_000;
  const answers = await Promise.all([room.upstreams.request(call()), room.upstreams.request(call())]);
  expect(answers.map(summary)).toEqual(["result", "failed UPSTREAM_SUSPENDED"]);
  expect(summary(await room.upstreams.request(call()))).toBe("result");
  expect(told).toEqual(["up true", "up false"]);
});

test("0 in the configuration switches it off", async () => {
  const up = await scripted();
  const room = roomFor(up.url, { options: { breaker: { failures: 0 } } });
  up.script(reply(500, () => ({})));
  for (let at = 0; at < 20; at += 1) {
    expect(summary(await room.upstreams.request(call()))).toBe("unknown UPSTREAM_STATUS_UNEXPECTED");
  }
});
