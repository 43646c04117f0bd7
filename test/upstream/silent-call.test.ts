import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { UpstreamAnswer } from "../../src/upstream/port.ts";
import { alice, call, roomFor, scripted } from "./setup.ts";
import { event } from "./scripted-upstream.ts";
import type { ReceivedRequest, Wire } from "./scripted-upstream.ts";

// From before the first connection: a library that keeps one timer for all its deadlines must start it here too.
beforeAll(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
});

afterAll(() => {
  vi.useRealTimers();
});

/** Waits for sockets while the timers stand still. */
async function untilSeen(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}

/** In steps of a second, with a look at the sockets after each. */
async function pass(seconds: number): Promise<void> {
  for (let at = 0; at < seconds; at += 1) {
    await vi.advanceTimersByTimeAsync(1_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test.each([
  { name: "before its answer begins", begins: false },
  { name: "within its answer", begins: true },
])("no default of a library cuts a call that is silent for 310 s $name", async ({ begins }) => {
  const up = await scripted();
  let held: { readonly request: ReceivedRequest; readonly wire: Wire } | undefined;
  up.script((request, wire) => {
    if (request.rpc["method"] !== "tools/call") return false;
    held = { request, wire };
    return true;
  });
  const { upstreams } = roomFor(up.url);
  await upstreams.identify("up", alice, new AbortController().signal);
  const deadlines = { callMs: 900_000, firstByteMs: 600_000, idleMs: 600_000 };
  let answer: UpstreamAnswer | undefined;
  void upstreams.request(call({ timeoutMs: 900_000, deadlines })).then((came) => {
    answer = came;
  });
  await untilSeen(() => held !== undefined);
  if (begins) held?.wire.eventStream();
  await pass(310);
  expect(answer).toBeUndefined();
  const result = { jsonrpc: "2.0", id: held?.request.rpc["id"], result: { content: [], resultType: "complete" } };
  if (begins) held?.wire.chunk(event(result));
  else held?.wire.json(200, result);
  await untilSeen(() => answer !== undefined);
  expect(answer?.kind).toBe("result");
});
