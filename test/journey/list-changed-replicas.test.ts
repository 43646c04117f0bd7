import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startRedis } from "../setup/redis.ts";
import type { RedisUnderTest } from "../setup/redis.ts";
import { event } from "../upstream/scripted-upstream.ts";
import { startGatewayUnderTest, startIssuer, until } from "./gateway-under-test.ts";
import { freePort } from "../setup/free-port.ts";
import type { GatewayUnderTest, IssuerUnderTest } from "./gateway-under-test.ts";
import type { Loose } from "./http-client.ts";
import { startListeningUpstream, tool } from "./listening-bench.ts";
import type { ListeningUpstream } from "./listening-bench.ts";
import { openStream } from "./stream-client.ts";
import type { OpenStream } from "./stream-client.ts";
import { legacyHeaders, modernCall, modernHeaders, modernMeta, openSession } from "./wire-client.ts";
import type { Caller } from "./wire-client.ts";

let redis: RedisUnderTest;
let issuer: IssuerUnderTest;
let upstream: ListeningUpstream;
/** Two instances of one deployment, on one store. Neither reads lists because of their age. */
let instances: readonly [GatewayUnderTest, GatewayUnderTest];

beforeAll(async () => {
  [redis, issuer, upstream] = [await startRedis(), await startIssuer(), await startListeningUpstream("legacy")];
  const publicPort = await freePort();
  const start = (): Promise<GatewayUnderTest> =>
    startGatewayUnderTest({
      issuer,
      upstreams: { alpha: upstream.url },
      servers: { alpha: { alpha: "" } },
      config: { limits: { catalogAgeMsMax: 600_000 } },
      redisUrl: redis.url,
      publicPort,
    });
  instances = [await start(), await start()];
});

afterAll(async () => {
  for (const instance of instances) await instance.remove();
  await upstream.close();
  await issuer.close();
  await redis.stop();
});

async function callerAt(gateway: GatewayUnderTest): Promise<Caller> {
  return { gateway, server: "alpha", token: await issuer.mint(gateway.resource("alpha")) };
}

function listenModern(caller: Caller): Promise<OpenStream> {
  const params = { notifications: { toolsListChanged: true }, _meta: modernMeta };
  return openStream({
    port: caller.gateway.port,
    path: "/alpha/mcp",
    method: "POST",
    headers: modernHeaders(caller, "subscriptions/listen"),
    body: { jsonrpc: "2.0", id: 1, method: "subscriptions/listen", params },
  });
}

async function listenLegacy(caller: Caller): Promise<OpenStream> {
  const headers = { ...legacyHeaders(await openSession(caller)), accept: "text/event-stream" };
  return openStream({ port: caller.gateway.port, path: "/alpha/mcp", headers });
}

async function toolNames(caller: Caller): Promise<unknown[]> {
  const answer = await modernCall(caller, "tools/list");
  return ((answer.json["result"] as Loose)["tools"] as Loose[]).map(({ name }) => name);
}

/** How often the upstream's list was read, once nobody reads it any more: streams that open one by one read it one by one. */
async function whenQuiet(): Promise<number> {
  let [count, looks] = [upstream.count("tools/list"), 0];
  await until(() => {
    looks = upstream.count("tools/list") === count ? looks + 1 : 0;
    count = upstream.count("tools/list");
    return looks > 60;
  });
  return count;
}

const changed = "notifications/tools/list_changed";

function changesOn({ messages }: OpenStream): number {
  return messages.filter(({ method }) => method === changed).length;
}

describe("a change of an upstream's lists that one replica alone is told of", () => {
  it("reaches the streams of both, each of which then lists what is new", async () => {
    const [here, there] = [await callerAt(instances[0]), await callerAt(instances[1])];
    const before = upstream.count("tools/list");
    const streams = [await listenModern(here), await listenLegacy(here)];
    await until(() => upstream.listeners.length === 1);
    streams.push(await listenModern(there), await listenLegacy(there));
    await until(() => upstream.listeners.length === 2);
    // Each replica reads once as its stream to the upstream opens, as it may have missed something until then.
    await until(() => upstream.count("tools/list") >= before + 2);
    expect(await toolNames(here)).toEqual(["echo"]);
    expect(await toolNames(there)).toEqual(["echo"]);

    const settled = await whenQuiet();

    upstream.items.tool.push(tool("added"));
    upstream.listeners[1]?.wire.chunk(event({ jsonrpc: "2.0", method: changed }));
    await until(() => streams.every((stream) => changesOn(stream) > 0));
    expect(await toolNames(here)).toEqual(["echo", "added"]);
    expect(await toolNames(there)).toEqual(["echo", "added"]);
    // Each replica read once more; told by the other, none tells it back.
    const readings = (await whenQuiet()) - settled;
    upstream.items.tool.push(tool("another"));
    upstream.listeners[0]?.wire.chunk(event({ jsonrpc: "2.0", method: changed }));
    await until(() => streams.every((stream) => changesOn(stream) > 1));
    expect([readings, (await whenQuiet()) - settled]).toEqual([2, 4]);
    expect(streams.map(changesOn)).toEqual([2, 2, 2, 2]);
  });
});
