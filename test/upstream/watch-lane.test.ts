import { MockAgent } from "undici";
import { describe, expect, it } from "vitest";
import { gatewayKey } from "../../src/upstream/port.ts";
import { createStreamLane } from "../../src/upstream/watch-lane.ts";
import type { StreamLane, StreamTurn } from "../../src/upstream/watch-lane.ts";

interface Hall {
  readonly lane: StreamLane;
  /** Who started, in order. */
  readonly started: string[];
  readonly turn: (holder: string, name?: string) => StreamTurn;
}

function hall(connectionsMax: number, connectionsPerPrincipalMax: number, queueMax = 100): Hall {
  const bounds = { connectionsMax, connectionsPerPrincipalMax, gatewayConnectionsMax: 2, queueMax };
  const started: string[] = [];
  const turn = (holder: string, name = holder): StreamTurn => ({ holder, start: () => void started.push(name) });
  return { lane: createStreamLane(new MockAgent(), bounds), started, turn };
}

describe("connections for streams of one upstream", () => {
  it("one principal has its share and no more, and others have theirs", () => {
    const { lane, turn } = hall(10, 2);
    const came = ["a", "a", "a", "b", "b", "b"].map((holder) => lane.enter(turn(holder)));
    expect(came).toEqual(["started", "started", "queued", "started", "started", "queued"]);
  });

  it("all principals together have what there is, and the gateway's own are beside it", () => {
    const { lane, turn } = hall(3, 2);
    const came = ["a", "a", "b", "c", gatewayKey, gatewayKey, gatewayKey].map((holder) => lane.enter(turn(holder)));
    expect(came).toEqual(["started", "started", "started", "queued", "started", "started", "queued"]);
    expect(lane.load).toEqual({ started: 5, queued: 2 });
  });

  it("the gateway's own take none from principals", () => {
    const { lane, turn } = hall(1, 1);
    const came = [gatewayKey, gatewayKey, "a", "b"].map((holder) => lane.enter(turn(holder)));
    expect(came).toEqual(["started", "started", "started", "queued"]);
  });

  it("one that is freed goes to the first that may have it, past those of a principal that has its share", () => {
    const { lane, turn, started } = hall(3, 2);
    const first = turn("b", "b1");
    for (const one of [turn("a", "a1"), turn("a", "a2"), first, turn("a", "a3"), turn("c", "c1"), turn("b", "b2")])
      lane.enter(one);
    lane.leave(first);
    expect(started).toEqual(["a1", "a2", "b1", "c1"]);
    lane.leave(turn("a"));
    expect(started.slice(4)).toEqual(["a3"]);
    lane.leave(turn("a"));
    expect(started.slice(5)).toEqual(["b2"]);
    expect(lane.load).toEqual({ started: 3, queued: 0 });
  });

  it("of one principal as many wait as may have one, so that nobody fills the queue alone", () => {
    const { lane, turn } = hall(2, 2);
    const came = ["a", "a", "a", "a", "a", "b", "c", "d"].map((holder) => lane.enter(turn(holder)));
    expect(came).toEqual(["started", "started", "queued", "queued", "full", "queued", "queued", "queued"]);
  });

  it("as many wait as the queue holds, and one that is withdrawn makes room", () => {
    const { lane, turn, started } = hall(1, 1, 2);
    const [a, b, c] = [turn("a"), turn("b"), turn("c")];
    expect([a, b, c, turn("d")].map((one) => lane.enter(one))).toEqual(["started", "queued", "queued", "full"]);
    lane.withdraw(b);
    expect(lane.enter(turn("d"))).toBe("queued");
    lane.leave(a);
    expect(started).toEqual(["a", "c"]);
  });
});
