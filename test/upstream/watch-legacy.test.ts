import { expect, test } from "vitest";
import { alice, bob, call, memoryRecords, roomFor, scripted, until } from "./setup.ts";
import type { MemoryRecords, Room } from "./setup.ts";
import { event } from "./scripted-upstream.ts";
import type { Loose, ReceivedRequest, ScriptedUpstream, ScriptedUpstreamOptions, Wire } from "./scripted-upstream.ts";
import { changing, hasty, logged, watch } from "./watch-under-test.ts";

interface Hearing {
  readonly up: ScriptedUpstream;
  readonly room: Room;
  /** GET streams that were opened, in order. */
  readonly streams: { readonly request: ReceivedRequest; readonly wire: Wire }[];
}

type Refuse = (request: ReceivedRequest, wire: Wire) => boolean;

/** A legacy upstream whose GET streams a test holds; it answers `resources/subscribe` like any server. */
async function heard(options: ScriptedUpstreamOptions = {}, refuse: Refuse = () => false): Promise<Hearing> {
  const up = await scripted({ era: "legacy", capabilities: changing, ...options });
  const streams: Hearing["streams"] = [];
  const known = (request: ReceivedRequest): boolean =>
    options.sessions === false || up.sessions.has(request.header("mcp-session-id") ?? "");
  up.script((request, wire) => {
    if (!known(request)) return false;
    if (String(request.rpc["method"]).startsWith("resources/")) {
      wire.json(200, { jsonrpc: "2.0", id: request.rpc["id"], result: {} });
      return true;
    }
    if (request.method !== "GET") return false;
    if (refuse(request, wire)) return true;
    streams.push({ request, wire });
    wire.eventStream();
    return true;
  });
  return { up, streams, room: roomFor(up.url, { limits: hasty }) };
}

function gets(up: ScriptedUpstream): readonly ReceivedRequest[] {
  return up.received.filter(({ method }) => method === "GET");
}

function subscriptions(up: ScriptedUpstream): readonly string[] {
  const asked = up.received.filter(({ rpc }) => String(rpc["method"]).startsWith("resources/"));
  return asked.map((request) => {
    const { uri } = request.rpc["params"] as { uri: string };
    return `${request.header("mcp-session-id") ?? "none"} ${String(request.rpc["method"])} ${uri}`;
  });
}

function send({ streams }: Hearing, method: string, params?: Loose): void {
  streams.at(-1)?.wire.chunk(event({ jsonrpc: "2.0", method, ...(params === undefined ? {} : { params }) }));
}

const toolsChanged = "notifications/tools/list_changed";

test("the stream is a GET in the account's session, which its calls share", async () => {
  const hearing = await heard();
  const { up, room, streams } = hearing;
  await room.upstreams.request(call());
  const seen = watch(room);
  await until(() => streams.length === 1);
  const [stream] = streams;
  expect(stream?.request.header("accept")).toBe("text/event-stream");
  expect(stream?.request.header("mcp-session-id")).toBe("session-1");
  expect(stream?.request.header("mcp-protocol-version")).toBe("2025-11-25");
  expect(stream?.request.header("last-event-id")).toBeUndefined();
  expect(stream?.request.body).toBe("");
  send(hearing, toolsChanged);
  await until(() => seen.notices.length === 1);
  await room.upstreams.request(call());
  expect(up.count("initialize")).toBe(1);
});

test("accounts have streams of their own", async () => {
  const { up, room, streams } = await heard();
  watch(room);
  watch(room, { account: bob });
  await until(() => streams.length === 2);
  expect(new Set(gets(up).map((request) => request.header("mcp-session-id"))).size).toBe(2);
});

test("only what is wanted of the known notifications comes through, and what is not known does", async () => {
  const hearing = await heard();
  const { room, streams } = hearing;
  const seen = watch(room, { wanted: { lists: false, resources: ["file:///a"] }, logLevel: "error" });
  await until(() => streams.length === 1);
  send(hearing, toolsChanged);
  send(hearing, "notifications/progress", { progressToken: "x", progress: 1 });
  send(hearing, "notifications/cancelled", { requestId: "x" });
  send(hearing, "notifications/message", { level: "info", data: "quiet" });
  send(hearing, "notifications/message", { level: "error", data: "loud" });
  send(hearing, "notifications/resources/updated", { uri: "file:///a" });
  send(hearing, "notifications/elicitation/complete", { elicitationId: "e" });
  await until(() => seen.notices.length >= 3);
  expect(seen.notices.map(({ method, params }) => [method, params])).toEqual([
    ["notifications/message", { level: "error", data: "loud" }],
    ["notifications/resources/updated", { uri: "file:///a" }],
    ["notifications/elicitation/complete", { elicitationId: "e" }],
  ]);
});

test("no stream is opened while it could bring nothing", async () => {
  const { up, room } = await heard({ capabilities: { tools: {}, logging: {} } });
  watch(room);
  await until(() => logged(room, "upstream-stream-unavailable").length === 1);
  expect(gets(up)).toHaveLength(0);
  watch(room, { logLevel: "info" });
  await until(() => gets(up).length === 1);
});

const noOffers: readonly { name: string; refuse: Refuse; sessions?: boolean }[] = [
  { name: "405", refuse: (_, wire) => answered(wire, 405) },
  { name: "501", refuse: (_, wire) => answered(wire, 501) },
  { name: "400, with the session alive", refuse: (_, wire) => answered(wire, 400) },
  { name: "404, with the session alive", refuse: (_, wire) => answered(wire, 404) },
  { name: "404, without sessions", sessions: false, refuse: (_, wire) => answered(wire, 404) },
  { name: "202", refuse: (_, wire) => answered(wire, 202) },
  { name: "a page", refuse: (_, wire) => answered(wire, 200, "text/html") },
  { name: "JSON", refuse: (_, wire) => answered(wire, 200, "application/json") },
];

function answered(wire: Wire, status: number, type?: string): true {
  wire.respond(status, type, type === undefined ? "" : "{}");
  return true;
}

test.each(noOffers)("an upstream that offers no stream is asked once, whoever watches: $name", async (given) => {
  const { up, room } = await heard({ sessions: given.sessions ?? true }, given.refuse);
  const accounts = Array.from({ length: 20 }, (_, at) => ({ ...alice, clientSession: `client-session-${at}` }));
  const all = accounts.map((account) => watch(room, { account }));
  await until(() => logged(room, "upstream-stream-unavailable").length === 20);
  expect(gets(up)).toHaveLength(1);
  expect(up.count("initialize")).toBe(20);
  expect(all.every(({ reopened, notices }) => reopened === 0 && notices.length === 0)).toBe(true);
  room.clock.now += 3_599_999;
  watch(room);
  await until(() => logged(room, "upstream-stream-unavailable").length === 21);
  expect(gets(up)).toHaveLength(1);
  room.clock.now += 1;
  watch(room);
  await until(() => gets(up).length === 2);
});

test.each([401, 403, 408, 409, 425, 429, 500, 502, 503])(
  "a %i is no answer to that and is asked again",
  async (status) => {
    let refusals = 0;
    const { room, streams } = await heard({}, (_, wire) => {
      refusals += 1;
      return refusals < 3 && answered(wire, status);
    });
    const seen = watch(room);
    await until(() => streams.length === 1);
    expect(refusals).toBe(3);
    expect(seen.reopened).toBe(0);
  },
);

test("a stream whose connection breaks goes on after its last event, and nothing is said to have been missed", async () => {
  const hearing = await heard();
  const { up, room, streams } = hearing;
  const seen = watch(room);
  await until(() => streams.length === 1);
  streams[0]?.wire.chunk(`id: e-7\ndata: \n\n`);
  streams[0]?.wire.chunk(`id: e-8\n${event({ jsonrpc: "2.0", method: toolsChanged })}`);
  await until(() => seen.notices.length === 1);
  streams[0]?.wire.reset();
  await until(() => streams.length === 2);
  expect(streams[1]?.request.header("last-event-id")).toBe("e-8");
  send(hearing, toolsChanged);
  await until(() => seen.notices.length === 2);
  expect(seen.reopened).toBe(0);
  expect(up.count("initialize")).toBe(1);
});

test("a stream without event ids that breaks is opened again, and whoever watches is told", async () => {
  const { room, streams } = await heard();
  const seen = watch(room);
  await until(() => streams.length === 1);
  streams[0]?.wire.endChunks();
  await until(() => seen.reopened === 1);
  expect(streams[1]?.request.header("last-event-id")).toBeUndefined();
});

test.each(["e\u{1f600}", "x".repeat(1_025)])("an event id that no header can carry is not sent back", async (id) => {
  const { room, streams } = await heard();
  const seen = watch(room);
  await until(() => streams.length === 1);
  streams[0]?.wire.chunk(`id: ${id}\ndata: \n\n`);
  streams[0]?.wire.endChunks();
  await until(() => seen.reopened === 1);
  expect(streams[1]?.request.header("last-event-id")).toBeUndefined();
});

test("a resumption that is refused is followed by a stream from now on", async () => {
  const { up, room, streams } = await heard({}, (request, wire) => {
    return request.header("last-event-id") !== undefined && answered(wire, 400);
  });
  const seen = watch(room);
  await until(() => streams.length === 1);
  streams[0]?.wire.chunk("id: e-1\ndata: \n\n");
  streams[0]?.wire.endChunks();
  await until(() => seen.reopened === 1);
  expect(gets(up).map((request) => request.header("last-event-id"))).toEqual([undefined, "e-1", undefined]);
});

test("retry is heeded before the stream is opened again", async () => {
  const { room, streams } = await heard();
  const seen = watch(room);
  await until(() => streams.length === 1);
  streams[0]?.wire.chunk("retry: 150\nid: 1\ndata: \n\n");
  streams[0]?.wire.endChunks();
  await until(() => streams.length === 2);
  expect(logged(room, "upstream-stream-lost")).toMatchObject([{ pauseMs: 150 }]);
  streams[1]?.wire.chunk("retry: 999999999\n\n");
  streams[1]?.wire.endChunks();
  await until(() => logged(room, "upstream-stream-lost").length === 2);
  expect(logged(room, "upstream-stream-lost")[1]).toMatchObject({ pauseMs: 300_000 });
  expect(seen.reopened).toBe(0);
});

test("when the session is lost a new one is opened, subscribed to the same, and whoever watches is told", async () => {
  const { up, room, streams } = await heard();
  const seen = watch(room, { wanted: { lists: true, resources: ["file:///a", "file:///b"] } });
  await until(() => subscriptions(up).length === 2);
  up.forgetSessions();
  streams[0]?.wire.endChunks();
  await until(() => subscriptions(up).length === 4);
  expect(seen.reopened).toBe(1);
  expect(subscriptions(up)).toEqual([
    "session-1 resources/subscribe file:///a",
    "session-1 resources/subscribe file:///b",
    "session-2 resources/subscribe file:///a",
    "session-2 resources/subscribe file:///b",
  ]);
  expect(up.count("initialize")).toBe(2);
});

test("a session that a call finds lost takes its stream along, although the connection stands", async () => {
  const { up, room, streams } = await heard();
  const seen = watch(room);
  await until(() => streams.length === 1);
  up.forgetSessions();
  await room.upstreams.request(call());
  await until(() => seen.reopened === 1);
  expect(streams[1]?.request.header("mcp-session-id")).toBe("session-2");
  expect(up.count("initialize")).toBe(2);
});

test("subscriptions follow what is wanted, on the same stream", async () => {
  const { up, room, streams } = await heard();
  const seen = watch(room, { wanted: { lists: true, resources: ["file:///a"] } });
  await until(() => subscriptions(up).length === 1);
  seen.watching.want({ lists: true, resources: ["file:///b"] });
  await until(() => subscriptions(up).length === 3);
  expect(subscriptions(up).slice(1)).toEqual([
    "session-1 resources/unsubscribe file:///a",
    "session-1 resources/subscribe file:///b",
  ]);
  expect(streams).toHaveLength(1);
});

test("after a mere reconnection nothing is subscribed to again", async () => {
  const { up, room, streams } = await heard();
  const seen = watch(room, { wanted: { lists: true, resources: ["file:///a"] } });
  await until(() => subscriptions(up).length === 1);
  streams[0]?.wire.endChunks();
  await until(() => seen.reopened === 1);
  seen.watching.want({ lists: true, resources: ["file:///a", "file:///b"] });
  await until(() => subscriptions(up).length === 2);
  expect(subscriptions(up)[1]).toBe("session-1 resources/subscribe file:///b");
});

test("an upstream without subscriptions is asked for none", async () => {
  const { up, room, streams } = await heard({ capabilities: { tools: { listChanged: true } } });
  watch(room, { wanted: { lists: true, resources: ["file:///a"] } });
  await until(() => streams.length === 1);
  await room.upstreams.request(call());
  expect(subscriptions(up)).toEqual([]);
});

test("a ping on the stream is answered, what nobody can answer refused, what was declared handed over", async () => {
  const hearing = await heard();
  const { up, room, streams } = hearing;
  watch(room, {
    clientCapabilities: { elicitation: {} },
    onAsked: ({ method, params }) => Promise.resolve({ result: { method, params } }),
  });
  await until(() => streams.length === 1);
  const ask = (id: unknown, method: string): void => {
    streams[0]?.wire.chunk(event({ jsonrpc: "2.0", id, method, params: { message: "?" } }));
  };
  ask(1, "ping");
  ask("two", "sampling/createMessage");
  ask(3, "elicitation/create");
  const answers = (): readonly Loose[] =>
    up.received.map(({ rpc }) => rpc).filter(({ method }) => method === undefined);
  await until(() => answers().filter(({ id }) => id !== undefined).length === 3);
  const byId = new Map(answers().map((rpc) => [rpc["id"], rpc]));
  expect(byId.get(1)).toMatchObject({ result: {} });
  expect(byId.get("two")).toMatchObject({ error: { code: -32601 } });
  expect(byId.get(3)).toMatchObject({ result: { method: "elicitation/create", params: { message: "?" } } });
});

test("without anybody to ask every request is refused", async () => {
  const { up, room, streams } = await heard();
  watch(room);
  await until(() => streams.length === 1);
  streams[0]?.wire.chunk(event({ jsonrpc: "2.0", id: 9, method: "elicitation/create", params: {} }));
  await until(() => up.received.some(({ rpc }) => rpc["id"] === 9));
  expect(up.received.find(({ rpc }) => rpc["id"] === 9)?.rpc).toMatchObject({ error: { code: -32601 } });
});

test("requests that are open at once are bounded", async () => {
  const { up, streams } = await heard();
  const room = roomFor(up.url, { limits: { ...hasty, upstreamRequestsPerExchangeMax: 2 } });
  let open = 0;
  watch(room, {
    clientCapabilities: { elicitation: {} },
    onAsked: () => {
      open += 1;
      return new Promise(() => undefined);
    },
  });
  await until(() => streams.length === 1);
  for (const id of [1, 2, 3]) {
    streams[0]?.wire.chunk(event({ jsonrpc: "2.0", id, method: "elicitation/create", params: {} }));
  }
  await until(() => up.received.some(({ rpc }) => rpc["error"] !== undefined));
  expect(open).toBe(2);
  expect(up.received.filter(({ rpc }) => rpc["error"] !== undefined).map(({ rpc }) => rpc)).toMatchObject([
    { id: 3, error: { code: -32603 } },
  ]);
});

test("a stream that wants log messages has the session's level set, once", async () => {
  const hearing = await heard({ capabilities: { ...changing, logging: {} } });
  const { up, room, streams } = hearing;
  const seen = watch(room, { logLevel: "warning" });
  await until(() => up.count("logging/setLevel") === 1);
  streams[0]?.wire.endChunks();
  await until(() => seen.reopened === 1);
  send(hearing, "notifications/message", { level: "error", data: "loud" });
  await until(() => seen.notices.length === 1);
  expect(up.received.find(({ rpc }) => rpc["method"] === "logging/setLevel")?.rpc["params"]).toEqual({
    level: "warning",
  });
  expect(up.count("logging/setLevel")).toBe(1);
});

test("a stream goes on in the session that replaced its own", async () => {
  const { up, room, streams } = await heard();
  const seen = watch(room, { clientCapabilities: { elicitation: {} } });
  await until(() => streams.length === 1);
  await room.upstreams.request(call({ clientCapabilities: { roots: {} } }));
  await until(() => seen.reopened === 1);
  expect(streams.map(({ request }) => request.header("mcp-session-id"))).toEqual(["session-1", "session-2"]);
  expect(up.count("initialize")).toBe(2);
});

test("a session is not swept while a stream uses it, and its record lives on", async () => {
  const { up, streams } = await heard();
  const records = memoryRecords();
  let touched = 0;
  const counting: MemoryRecords = {
    ...records,
    touch: (key, ttlMs) => {
      touched += 1;
      return records.touch(key, ttlMs);
    },
  };
  const room = roomFor(up.url, { limits: { ...hasty, upstreamSessionIdleMs: 10_000 }, records: counting });
  const { watching } = watch(room);
  await until(() => streams.length === 1);
  room.clock.now += 20_000;
  await until(() => touched === 1);
  expect(up.sessions.size).toBe(1);
  watching.end();
  await until(() => up.abandoned.length === 1);
  room.clock.now += 20_000;
  records.entries.clear();
  await until(() => up.sessions.size === 0);
});

test("the end of the client's session ends the stream and the upstream's session", async () => {
  const { up, room, streams } = await heard();
  watch(room);
  watch(room, { account: bob });
  await until(() => streams.length === 2);
  await room.upstreams.endSessions(alice);
  await until(() => up.abandoned.length === 1);
  expect(up.abandoned[0]?.header("mcp-session-id")).toBe(
    up.received.find(({ method }) => method === "DELETE")?.header("mcp-session-id"),
  );
  expect(up.sessions.size).toBe(1);
  expect(logged(room, "upstream-stream-lost")).toHaveLength(0);
  expect(up.count("initialize")).toBe(2);
});
