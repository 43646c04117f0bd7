import { expect, test } from "vitest";
import { closeAfter, roomFor, scripted, until } from "./setup.ts";
import type { Room } from "./setup.ts";
import type { ScriptedUpstream } from "./scripted-upstream.ts";
import { acknowledged, changing, hasty, listening, logged, watch } from "./watch-under-test.ts";
import type { Listening } from "./watch-under-test.ts";

/** A modern upstream whose streams a test holds in its hands. */
async function listened(
  capabilities = changing,
  acknowledges = true,
): Promise<{ up: ScriptedUpstream; room: Room; streams: Listening[] }> {
  const up = await scripted({ capabilities });
  const streams: Listening[] = [];
  up.script((request, wire) => {
    if (request.rpc["method"] !== "subscriptions/listen") return false;
    const stream = listening(request, wire);
    streams.push(stream);
    if (acknowledges) stream.send(acknowledged, { notifications: stream.filter });
    return true;
  });
  return { up, room: roomFor(up.url, { limits: hasty }), streams };
}

const toolsChanged = "notifications/tools/list_changed";

test("asks for all that is wanted and declared, as a modern request", async () => {
  const { room, streams } = await listened();
  watch(room, { wanted: { lists: true, resources: ["file:///a"] } });
  await until(() => streams.length === 1);
  const [stream] = streams;
  expect(stream?.filter).toEqual({
    toolsListChanged: true,
    promptsListChanged: true,
    resourcesListChanged: true,
    resourceSubscriptions: ["file:///a"],
  });
  expect(stream?.request.header("mcp-method")).toBe("subscriptions/listen");
  expect(stream?.request.header("mcp-protocol-version")).toBe("2026-07-28");
  expect(stream?.request.rpc["params"]).toMatchObject({
    _meta: {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities": {},
    },
  });
});

test.each([
  {
    name: "tools only",
    capabilities: { tools: { listChanged: true }, prompts: {} },
    filter: { toolsListChanged: true },
  },
  {
    name: "updates only",
    capabilities: { resources: { subscribe: true } },
    filter: { resourceSubscriptions: ["file:///a"] },
  },
])("does not ask for what is not declared: $name", async ({ capabilities, filter }) => {
  const { room, streams } = await listened(capabilities);
  watch(room, { wanted: { lists: true, resources: ["file:///a"] } });
  await until(() => streams.length === 1);
  expect(streams[0]?.filter).toEqual(filter);
});

test("opens no stream while nothing that is declared is wanted, and one as soon as something is", async () => {
  const { up, room, streams } = await listened({ resources: { subscribe: true } });
  const { watching } = watch(room);
  await until(() => logged(room, "upstream-stream-unavailable").length === 1);
  expect(up.count("subscriptions/listen")).toBe(0);
  watching.want({ lists: true, resources: ["file:///a"] });
  await until(() => streams.length === 1);
});

test("hands notifications over without the subscription's id, and keeps the rest of their _meta", async () => {
  const { room, streams } = await listened();
  const seen = watch(room, { wanted: { lists: true, resources: ["file:///a"] } });
  await until(() => streams.length === 1);
  streams[0]?.send(toolsChanged);
  streams[0]?.send("notifications/resources/updated", { uri: "file:///a/b" });
  streams[0]?.wire.chunk(
    `data: ${JSON.stringify({
      jsonrpc: "2.0",
      method: toolsChanged,
      params: { _meta: { "io.modelcontextprotocol/subscriptionId": streams[0].request.rpc["id"], "x.org/y": 1 } },
    })}\n\n`,
  );
  await until(() => seen.notices.length === 3);
  expect(seen.notices).toEqual([
    { method: toolsChanged, params: {} },
    { method: "notifications/resources/updated", params: { uri: "file:///a/b" } },
    { method: toolsChanged, params: { _meta: { "x.org/y": 1 } } },
  ]);
});

test("passes over what comes before the acknowledgement, under another id, or was not asked for", async () => {
  const { room, streams } = await listened({ tools: { listChanged: true } }, false);
  const seen = watch(room);
  await until(() => streams.length === 1);
  const [stream] = streams;
  stream?.send(toolsChanged, { early: true });
  stream?.send(acknowledged, { notifications: {} });
  stream?.send(toolsChanged, { foreign: true }, "another");
  stream?.send(toolsChanged, { foreign: true }, null);
  stream?.send("notifications/prompts/list_changed");
  stream?.send("notifications/progress", { progressToken: stream.request.rpc["id"], progress: 1 });
  stream?.send("constructor");
  stream?.wire.chunk("data: {\n\ndata: [1]\n\n: comment\n\nevent: ping\ndata: x\n\n");
  stream?.send(toolsChanged, { last: true });
  await until(() => seen.notices.length > 0);
  expect(seen.notices).toEqual([{ method: toolsChanged, params: { last: true } }]);
  expect(logged(room, "upstream-message-ignored")).toHaveLength(2);
});

test("a stream that the upstream closes in order is opened again, and whoever watches is told", async () => {
  const { room, streams } = await listened();
  const seen = watch(room);
  await until(() => streams.length === 1);
  expect(seen.reopened).toBe(0);
  streams[0]?.finish();
  await until(() => seen.reopened === 1);
  streams[1]?.send(toolsChanged);
  await until(() => seen.notices.length === 1);
  expect(streams[1]?.request.rpc["id"]).not.toBe(streams[0]?.request.rpc["id"]);
});

test("a stream whose connection breaks is opened again", async () => {
  const { room, streams } = await listened();
  const seen = watch(room);
  await until(() => streams.length === 1);
  streams[0]?.wire.reset();
  await until(() => seen.reopened === 1);
  expect(logged(room, "upstream-stream-lost")).toMatchObject([{ code: "UPSTREAM_CLOSED_EARLY" }]);
});

test("a stream that is not acknowledged in time is given up", async () => {
  const { up, streams } = await listened(changing, false);
  const room = roomFor(up.url, { limits: hasty, options: { timeouts: { firstByteMs: 60 } } });
  watch(room);
  await until(() => streams.length >= 2);
  expect(logged(room, "upstream-stream-lost")[0]).toMatchObject({ code: "UPSTREAM_TIMED_OUT" });
});

test("what else is wanted opens the new stream before the old one closes", async () => {
  const { up, room, streams } = await listened(changing, false);
  const seen = watch(room);
  await until(() => streams.length === 1);
  streams[0]?.send(acknowledged);
  streams[0]?.send(toolsChanged, { from: 0 });
  await until(() => seen.notices.length === 1);
  seen.watching.want({ lists: true, resources: ["file:///a"] });
  await until(() => streams.length === 2);
  streams[0]?.send(toolsChanged, { from: 0 });
  await until(() => seen.notices.length === 2);
  expect(up.abandoned).toHaveLength(0);
  streams[1]?.send(acknowledged);
  await until(() => up.abandoned.length === 1);
  expect(up.abandoned[0]?.rpc["id"]).toBe(streams[0]?.request.rpc["id"]);
  streams[1]?.send("notifications/resources/updated", { uri: "file:///a" });
  await until(() => seen.notices.length === 3);
  expect(seen.reopened).toBe(0);
});

test("what is wanted again in other words opens nothing", async () => {
  const { room, streams } = await listened();
  const seen = watch(room, { wanted: { lists: true, resources: ["file:///a"] } });
  await until(() => streams.length === 1);
  streams[0]?.send(toolsChanged);
  await until(() => seen.notices.length === 1);
  seen.watching.want({ lists: true, resources: ["file:///a"] });
  streams[0]?.send(toolsChanged);
  await until(() => seen.notices.length === 2);
  expect(streams).toHaveLength(1);
});

test("the end of a watch closes its stream and opens none", async () => {
  const { up, room, streams } = await listened();
  const seen = watch(room);
  await until(() => streams.length === 1);
  seen.watching.end();
  await until(() => up.abandoned.length === 1);
  seen.watching.want({ lists: true, resources: ["file:///a"] });
  expect(logged(room, "upstream-stream-lost")).toHaveLength(0);
  expect(streams).toHaveLength(1);
});

test.each([
  { name: "−32601", answers: { code: -32601, status: 404 } },
  { name: "−32601 under 200", answers: { code: -32601, status: 200 } },
])("an upstream that knows no subscriptions is asked once, whoever watches: $name", async ({ answers }) => {
  const up = await scripted({ capabilities: changing });
  up.script((request, wire) => {
    if (request.rpc["method"] !== "subscriptions/listen") return false;
    const error = { code: answers.code, message: "no" };
    wire.json(answers.status, { jsonrpc: "2.0", id: request.rpc["id"], error });
    return true;
  });
  const room = roomFor(up.url, { limits: hasty });
  const all = Array.from({ length: 20 }, () => watch(room));
  await until(() => logged(room, "upstream-stream-unavailable").length === 20);
  expect(up.count("subscriptions/listen")).toBe(1);
  expect(all.every(({ reopened }) => reopened === 0)).toBe(true);
  room.clock.now += 3_600_000;
  watch(room);
  await until(() => up.count("subscriptions/listen") === 2);
});

test("parameters that an upstream refuses (−32602) end their own watch, and nobody else's", async () => {
  const up = await scripted({ capabilities: changing });
  up.script((request, wire) => {
    if (request.rpc["method"] !== "subscriptions/listen" || !request.body.includes("file:///nowhere")) return false;
    wire.json(400, { jsonrpc: "2.0", id: request.rpc["id"], error: { code: -32602, message: "no such resource" } });
    return true;
  });
  const room = roomFor(up.url, { limits: hasty });
  const watchAt = (uri: string): unknown => watch(room, { wanted: { lists: true, resources: [uri] } });
  watchAt("file:///nowhere");
  await until(() => logged(room, "upstream-stream-unavailable").length === 1);
  watchAt("file:///a");
  await until(() => up.received.some(({ body }) => body.includes("file:///a")));
  expect(up.count("subscriptions/listen")).toBe(2);
});

test.each([
  { name: "a 503", status: 503, body: {} },
  { name: "an internal error", status: 200, body: { error: { code: -32603, message: "x" } } },
])("an upstream that cannot now is asked again: $name", async ({ status, body }) => {
  const up = await scripted({ capabilities: changing });
  let asked = 0;
  up.script((request, wire) => {
    if (request.rpc["method"] !== "subscriptions/listen") return false;
    asked += 1;
    if (asked < 3) wire.json(status, { jsonrpc: "2.0", id: request.rpc["id"], ...body });
    else listening(request, wire).send(acknowledged);
    return true;
  });
  const room = roomFor(up.url, { limits: hasty });
  const seen = watch(room);
  await until(() => asked === 3);
  expect(seen.reopened).toBe(0);
});

test("an upstream replaced by a legacy one is found out, and its session's stream opened", async () => {
  const up = await scripted({ era: "both", capabilities: changing });
  let replaced = false;
  up.script((request, wire) => {
    if (request.method === "GET") {
      wire.eventStream();
      return true;
    }
    if (replaced && request.header("mcp-protocol-version") === "2026-07-28") {
      wire.json(400, {});
      return true;
    }
    if (request.rpc["method"] !== "subscriptions/listen") return false;
    replaced = true;
    wire.reset();
    return true;
  });
  const room = roomFor(up.url, { limits: hasty });
  watch(room);
  await until(() => up.received.some(({ method }) => method === "GET"));
});

test("an upstream whose streams die at once is asked no more often than the pauses allow", async () => {
  const up = await scripted({ capabilities: changing });
  up.script((request, wire) => {
    if (request.rpc["method"] !== "subscriptions/listen") return false;
    const stream = listening(request, wire);
    stream.send(acknowledged);
    stream.finish();
    return true;
  });
  const startedAt = performance.now();
  const room = roomFor(up.url, { limits: { upstreamReconnectMsMin: 20, upstreamReconnectMsMax: 80 } });
  const seen = watch(room);
  await until(() => seen.reopened >= 5);
  const pauses = logged(room, "upstream-stream-lost").map(({ pauseMs }) => Number(pauseMs));
  expect(Math.min(...pauses)).toBeGreaterThanOrEqual(20);
  expect(Math.max(...pauses)).toBeLessThanOrEqual(80);
  expect(up.count("subscriptions/listen")).toBeLessThanOrEqual(2 + (performance.now() - startedAt) / 20);
});

test("comments keep a stream; one that is silent for too long is opened again", async () => {
  const { up, streams } = await listened();
  const room = roomFor(up.url, { limits: { ...hasty, upstreamStreamIdleMs: 400 } });
  const seen = watch(room);
  await until(() => streams.length === 1);
  let sent = 0;
  const beats = setInterval(() => {
    streams[0]?.wire.chunk(": here\n\n");
    sent += 1;
  }, 40);
  closeAfter(() => {
    clearInterval(beats);
    return Promise.resolve();
  });
  await until(() => sent >= 20);
  expect(streams).toHaveLength(1);
  clearInterval(beats);
  await until(() => seen.reopened === 1);
  expect(logged(room, "upstream-stream-lost")).toMatchObject([{ code: "UPSTREAM_TIMED_OUT" }]);
});

test("a stream that brings more events than a minute may hold is closed and opened again", async () => {
  const { up, streams } = await listened();
  const room = roomFor(up.url, { limits: { ...hasty, upstreamStreamEventsPerMinuteMax: 10 } });
  const seen = watch(room);
  await until(() => streams.length === 1);
  for (let sent = 0; sent < 9; sent += 1) streams[0]?.send(toolsChanged);
  await until(() => seen.notices.length === 9);
  expect(seen.reopened).toBe(0);
  streams[0]?.send(toolsChanged);
  await until(() => seen.reopened === 1);
  expect(seen.notices).toHaveLength(9);
  expect(logged(room, "upstream-stream-lost")).toMatchObject([{ code: "UPSTREAM_ANSWER_TOO_LARGE" }]);
});

test("streams have connections of their own: when they are taken, a stream waits and calls do not", async () => {
  const { up, streams } = await listened();
  const limits = { ...hasty, upstreamStreamsMax: 1 };
  const room = roomFor(up.url, { limits, options: { connectionsMax: 1 } });
  const first = watch(room);
  await until(() => streams.length === 1);
  watch(room);
  await until(() => logged(room, "upstream-streams-full").length === 1);
  const tools = await room.upstreams.request({
    upstream: "up",
    method: "tools/list",
    params: {},
    account: { tenant: "default", principalKey: "gateway", clientSession: undefined, caller: undefined },
    name: undefined,
    inputSchema: undefined,
    kind: undefined,
    signal: new AbortController().signal,
    timeoutMs: 5_000,
  });
  expect(tools.kind).toBe("result");
  expect(streams).toHaveLength(1);
  first.watching.end();
  await until(() => streams.length === 2);
});

test("a stream that is replaced on the last connection closes first and tells of the gap", async () => {
  const { up, streams } = await listened();
  const room = roomFor(up.url, { limits: { ...hasty, upstreamStreamsMax: 1 } });
  const seen = watch(room);
  await until(() => streams.length === 1);
  streams[0]?.send(toolsChanged);
  await until(() => seen.notices.length === 1);
  seen.watching.want({ lists: true, resources: ["file:///a"] });
  await until(() => seen.reopened === 1);
  expect(streams).toHaveLength(2);
});

test("watches wait for each other only until the first knows", async () => {
  const { room, streams } = await listened();
  const all = Array.from({ length: 5 }, () => watch(room));
  await until(() => streams.length === 5);
  for (const stream of streams) stream.send(toolsChanged);
  await until(() => all.every(({ notices }) => notices.length === 1));
});
