import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { startGatewayUnderTest, until } from "../journey/gateway-under-test.ts";
import { freePort } from "../setup/free-port.ts";
import type { GatewayUnderTest } from "../journey/gateway-under-test.ts";
import { startListeningUpstream, tool } from "../journey/listening-bench.ts";
import type { ListeningUpstream } from "../journey/listening-bench.ts";
import { startRedis } from "../setup/redis.ts";
import type { RedisUnderTest } from "../setup/redis.ts";

const info = { name: "interop", version: "1.0.0" };
/** Patient: a gateway that starts anew may take a while on a busy machine. */
const reconnectionOptions = {
  initialReconnectionDelay: 100,
  maxReconnectionDelay: 500,
  reconnectionDelayGrowFactor: 1.2,
  maxRetries: 1_000,
};

interface Hearing {
  /** Names of tools, as the client lists them whenever it is told that they changed. */
  readonly lists: string[][];
  readonly updates: string[];
  subscribe(uri: string): Promise<unknown>;
  close(): Promise<void>;
}

const kinds = ["v1", "v2 legacy", "v2 modern"] as const;

async function hearV1(url: string): Promise<Hearing> {
  const client = new ClientV1(info);
  const [lists, updates]: [string[][], string[]] = [[], []];
  client.setNotificationHandler(ToolListChangedNotificationSchema, async () => {
    lists.push((await client.listTools()).tools.map(({ name }) => name));
  });
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => void updates.push(params.uri));
  await client.connect(new TransportV1(new URL(url), { reconnectionOptions }));
  return { lists, updates, subscribe: (uri) => client.subscribeResource({ uri }), close: () => client.close() };
}

async function hearV2(url: string, mode: "legacy" | { pin: string }): Promise<Hearing> {
  const [lists, updates]: [string[][], string[]] = [[], []];
  const client = new ClientV2(info, {
    versionNegotiation: { mode },
    listChanged: {
      tools: {
        onChanged: (_, tools) => void lists.push((tools ?? []).map(({ name }) => name)),
      },
    },
  });
  client.setNotificationHandler("notifications/resources/updated", ({ params }) => void updates.push(params.uri));
  await client.connect(new TransportV2(new URL(url), { reconnectionOptions }));
  return { lists, updates, subscribe: (uri) => client.subscribeResource({ uri }), close: () => client.close() };
}

function hear(kind: (typeof kinds)[number], url: string): Promise<Hearing> {
  if (kind === "v1") return hearV1(url);
  return hearV2(url, kind === "v2 legacy" ? "legacy" : { pin: "2026-07-28" });
}

let redis: RedisUnderTest;
const leaving: (() => Promise<void>)[] = [];

beforeAll(async () => {
  redis = await startRedis();
});
afterEach(async () => {
  for (const leave of leaving.splice(0)) await leave();
});
afterAll(() => redis.stop());

async function start(upstream: ListeningUpstream, port: number): Promise<GatewayUnderTest> {
  const publicUrl = `http://127.0.0.1:${port}`;
  const gateway = await startGatewayUnderTest({
    upstreams: { alpha: upstream.url },
    servers: { alpha: { alpha: "" } },
    redisUrl: redis.url,
    config: { publicUrl, listen: { host: "127.0.0.1", port }, allowedHosts: [`127.0.0.1:${port}`] },
  });
  leaving.unshift(() => gateway.remove());
  return gateway;
}

async function scene(
  era: "legacy" | "modern",
): Promise<{ upstream: ListeningUpstream; port: number; url: string; gateway: GatewayUnderTest }> {
  const [upstream, port] = [await startListeningUpstream(era), await freePort()];
  leaving.push(() => upstream.close());
  return { upstream, port, url: `http://127.0.0.1:${port}/alpha/mcp`, gateway: await start(upstream, port) };
}

const open = ({ listeners }: ListeningUpstream): number => listeners.filter(({ wire }) => !wire.closed).length;

const rows = kinds.flatMap((kind) => (["legacy", "modern"] as const).map((era) => [kind, era] as const));

describe.each(rows)("the SDK's %s client before a %s upstream", (kind, era) => {
  it("hears of changed lists and has the new one at once; before and after the gateway starts anew", async () => {
    const { upstream, port, url, gateway } = await scene(era);
    const client = await hear(kind, url);
    leaving.unshift(() => client.close());
    await until(() => open(upstream) === 1);
    upstream.items.tool.push(tool("second"));
    upstream.notify("notifications/tools/list_changed");
    await until(() => client.lists.length > 0);
    expect(client.lists.at(-1)).toEqual(["echo", "second"]);
    // In the modern era a client opens its stream once, and connects anew when it ends.
    if (kind === "v2 modern") return;
    await gateway.stop();
    await until(() => open(upstream) === 0);
    await start(upstream, port);
    await until(() => open(upstream) === 1);
    upstream.items.tool.push(tool("third"));
    upstream.notify("notifications/tools/list_changed");
    await until(() => client.lists.length > 1);
    expect(client.lists.at(-1)).toEqual(["echo", "second", "third"]);
  }, 40_000);
});

describe.each(rows.filter(([kind]) => kind !== "v2 modern"))(
  "the SDK's %s client before a %s upstream",
  (kind, era) => {
    it("subscribes to a resource and hears of its updates", async () => {
      const { upstream, url } = await scene(era);
      const client = await hear(kind, url);
      leaving.unshift(() => client.close());
      await client.subscribe("test://one");
      await until(() => open(upstream) === 2);
      await until(() => {
        upstream.notify("notifications/resources/updated", { uri: "test://one" });
        return client.updates.length > 0;
      });
      expect(client.updates[0]).toBe("test://one");
    });
  },
);
