import { describe, expect, it } from "vitest";
import type { UpstreamWatch, WatchState } from "../../src/upstream/port.ts";
import { gatewayKey } from "../../src/upstream/port.ts";
import { alice, bob, roomFor, scripted, until } from "./setup.ts";
import type { Room } from "./setup.ts";
import { acknowledged, changing, hasty, listening, logged, watch } from "./watch-under-test.ts";
import type { Listening, Seen } from "./watch-under-test.ts";

async function listened(limits: object): Promise<{ room: Room; streams: Listening[] }> {
  const up = await scripted({ capabilities: changing });
  const streams: Listening[] = [];
  up.script((request, wire) => {
    if (request.rpc["method"] !== "subscriptions/listen") return false;
    const stream = listening(request, wire);
    streams.push(stream);
    stream.send(acknowledged, { notifications: stream.filter });
    return true;
  });
  return { room: roomFor(up.url, { limits: { ...hasty, ...limits } }), streams };
}

/** A watch and the states that it was said to be in, each as it came. */
function watched(room: Room, changes: Partial<UpstreamWatch> = {}): Seen & { states: WatchState[] } {
  const states: WatchState[] = [];
  const onState = (state: WatchState): void => void states.push(state);
  return Object.assign(watch(room, { ...changes, onState }), { states });
}

const gateway = { tenant: "default", principalKey: gatewayKey, clientSession: "watch one up", caller: undefined };

describe("streams from an upstream of which there are no more", () => {
  it("a principal that has its share waits, and says so; another principal and the gateway do not", async () => {
    const { room, streams } = await listened({ upstreamStreamsPerPrincipalMax: 1 });
    const first = watched(room);
    await until(() => first.states.includes("standing"));
    const second = watched(room);
    await until(() => second.states.includes("full"));
    const others = [watched(room, { account: bob }), watched(room, { account: gateway })];
    await until(() => others.every(({ states }) => states.includes("standing")));
    expect(streams).toHaveLength(3);
    first.watching.end();
    await until(() => second.states.includes("standing"));
    expect([first, second, ...others].map(({ states }) => states)).toEqual([
      ["standing"],
      ["full", "standing"],
      ["standing"],
      ["standing"],
    ]);
  });

  it("the gateway hears of lists when principals have taken all there is", async () => {
    const { room, streams } = await listened({ upstreamStreamsMax: 2, upstreamStreamsPerPrincipalMax: 1 });
    const all = [alice, bob, { ...bob, principalKey: '["carol"]' }].map((account) => watched(room, { account }));
    await until(() => all.flatMap(({ states }) => states).filter((state) => state === "standing").length === 2);
    const own = watched(room, { account: gateway });
    await until(() => own.states.includes("standing"));
    streams.at(-1)?.send("notifications/tools/list_changed");
    await until(() => own.notices.length === 1);
    await until(() => all.some(({ states }) => states.includes("full")));
  });

  it("a wait ends when its time is over, and begins anew after a pause", async () => {
    const { room } = await listened({ upstreamStreamsMax: 1, upstreamStreamWaitMsMax: 20 });
    const first = watched(room);
    await until(() => first.states.includes("standing"));
    const second = watched(room, { account: bob });
    const waits = (): readonly unknown[] => logged(room, "upstream-stream-lost").map(({ code }) => code);
    await until(() => waits().length === 2);
    expect([waits(), second.states]).toEqual([["UPSTREAM_QUEUE_FULL", "UPSTREAM_QUEUE_FULL"], ["full"]]);
    first.watching.end();
    await until(() => second.states.includes("standing"));
    expect(second.reopened).toBe(0);
  });
});

describe("what a watch says of itself", () => {
  it("a change of what is wanted that takes another stream is opening until that one stands", async () => {
    const { room, streams } = await listened({});
    const seen = watched(room);
    await until(() => seen.states.includes("standing"));
    seen.watching.want({ lists: true, resources: ["file:///a"] });
    await until(() => streams.length === 2 && seen.states.length === 3);
    expect(seen.states).toEqual(["standing", "opening", "standing"]);
  });

  it("a stream that is lost is lost until another stands", async () => {
    const { room, streams } = await listened({});
    const seen = watched(room);
    await until(() => seen.states.includes("standing"));
    streams[0]?.wire.reset();
    await until(() => seen.states.length === 3);
    expect(seen.states).toEqual(["standing", "lost", "standing"]);
  });

  it.each(["legacy", "modern"] as const)("a %s upstream that offers none is said not to", async (era) => {
    const up = await scripted({ era, capabilities: changing });
    up.script((request, wire) => {
      if (request.method === "GET") wire.respond(405, undefined, "");
      else if (request.rpc["method"] === "subscriptions/listen")
        wire.json(404, { jsonrpc: "2.0", id: request.rpc["id"], error: { code: -32601, message: "no" } });
      else return false;
      return true;
    });
    const seen = watched(roomFor(up.url, { limits: hasty }));
    await until(() => seen.states.length > 0);
    expect(seen.states).toEqual(["not-offered"]);
  });

  it("a legacy stream whose subscription fails is lost, and never said to stand", async () => {
    const up = await scripted({ era: "legacy", capabilities: changing });
    let subscriptions = 0;
    up.script((request, wire) => {
      if (request.method === "GET") wire.eventStream();
      else if (request.rpc["method"] === "resources/subscribe") {
        subscriptions += 1;
        wire.json(503, {});
      } else return false;
      return true;
    });
    const seen = watched(roomFor(up.url, { limits: hasty }), { wanted: { lists: false, resources: ["file:///a"] } });
    await until(() => subscriptions > 2);
    expect(seen.states).toEqual(["lost"]);
  });
});
