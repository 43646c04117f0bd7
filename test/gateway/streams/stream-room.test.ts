import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { anonymousPrincipal } from "../../../src/auth/anonymous.ts";
import type { Exchange } from "../../../src/gateway/exchange.ts";
import type { Gateway } from "../../../src/gateway/gateway.ts";
import type { Feed, Feeding } from "../../../src/gateway/streams/feed.ts";
import { createStreamRoom } from "../../../src/gateway/streams/stream-room.ts";
import type { Service, StreamRoom } from "../../../src/gateway/streams/stream-room.ts";
import { limits } from "../../../src/model/limits.ts";

const quiet: Feed = { tend: () => Promise.resolve(), refresh: () => Promise.resolve(), end: () => undefined };
const broken = new Error("a dependency that throws");

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
});

afterEach(() => {
  vi.useRealTimers();
});

function exchange(
  principal = "alice",
  listen: () => unknown = () => ({ send: () => true, comment: () => undefined }),
): Exchange {
  const arrival = { gone: new AbortController().signal, listen };
  return { arrival, principal: { ...anonymousPrincipal, key: principal } } as unknown as Exchange;
}

const g = { limits, now: Date.now, draining: () => false } as unknown as Gateway;

function roomOf(streamsPerPrincipalMax: number, streamsMax: number): StreamRoom {
  return createStreamRoom({ ...limits, streamsPerPrincipalMax, streamsMax });
}

function service(x: Exchange, feeding: () => Promise<Feeding> = () => Promise.resolve(() => quiet)): Service {
  return { x, g, id: "one", kind: "listen", feeding };
}

/** As many turns of the loop as it takes until a stream that may open is open. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

describe("a stream whose dependency throws", () => {
  const faults: readonly (readonly [string, Service])[] = [
    ["as what it listens for is found out", service(exchange(), () => Promise.reject(broken))],
    [
      "as it is opened",
      service(
        exchange("alice", () => {
          throw broken;
        }),
      ),
    ],
    [
      "as it is fed",
      service(exchange(), () =>
        Promise.resolve(() => {
          throw broken;
        }),
      ),
    ],
  ];
  it.each(faults)("%s leaves its place to another, no timer, and is no longer counted", async (_, fault) => {
    const room = roomOf(1, 1);
    await expect(room.serve(fault)).rejects.toBe(broken);
    expect([room.count(), vi.getTimerCount()]).toEqual([{ session: 0, listen: 0 }, 0]);
    const next = room.serve(service(exchange()));
    await settled();
    expect(room.count().listen).toBe(1);
    room.endAll("draining");
    expect(await next).toBeUndefined();
  });

  it("that did not throw ends what feeds it once, when it is over", async () => {
    const end = vi.fn();
    const room = roomOf(1, 1);
    const served = room.serve(service(exchange(), () => Promise.resolve(() => ({ ...quiet, end }))));
    await settled();
    room.endAll("draining");
    await served;
    expect(end).toHaveBeenCalledTimes(1);
  });
});

describe("the bounds of open streams", () => {
  it.each([
    ["of one principal", 1, 10, "alice"],
    ["of everybody", 10, 1, "bob"],
  ])("%s are looked at before anything is done for a further one", async (_, perPrincipal, all, second) => {
    const room = roomOf(perPrincipal, all);
    const [listen, feeding] = [vi.fn(), vi.fn()];
    const first = room.serve(service(exchange()));
    const refusal = await room.serve(service(exchange(second, listen), feeding));
    expect(refusal?.code).toBe("STREAM_LIMIT_REACHED");
    expect([listen.mock.calls, feeding.mock.calls]).toEqual([[], []]);
    await settled();
    room.endAll("draining");
    await first;
    expect(room.count()).toEqual({ session: 0, listen: 0 });
  });

  it("count one from the moment it is let in, not from the moment it is open", async () => {
    const room = roomOf(10, 2);
    let go: (feeding: Feeding) => void = () => undefined;
    const slow = new Promise<Feeding>((resolve) => {
      go = resolve;
    });
    const both = ["alice", "bob"].map((who) => room.serve(service(exchange(who), () => slow)));
    expect((await room.serve(service(exchange("carol"))))?.code).toBe("STREAM_LIMIT_REACHED");
    go(() => quiet);
    await settled();
    expect(room.count().listen).toBe(2);
    room.endAll("draining");
    await Promise.all(both);
  });
});
