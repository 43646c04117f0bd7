import { afterEach, describe, expect, it } from "vitest";
import { startGatewayUnderTest, startIssuer, until } from "./gateway-under-test.ts";
import type { GatewayOptions, GatewayUnderTest, IssuerUnderTest } from "./gateway-under-test.ts";
import type { Loose } from "./http-client.ts";
import { startListeningUpstream, tool } from "./listening-bench.ts";
import type { ListeningUpstream } from "./listening-bench.ts";
import { openStream } from "./stream-client.ts";
import type { OpenStream } from "./stream-client.ts";
import { legacyCall, legacyHeaders, modernCall, modernHeaders, modernMeta, openSession } from "./wire-client.ts";
import type { Caller } from "./wire-client.ts";

interface Scene {
  readonly gateway: GatewayUnderTest;
  readonly upstream: ListeningUpstream;
  readonly issuer: IssuerUnderTest;
}

const scenes: Scene[] = [];

afterEach(async () => {
  for (const { gateway, upstream, issuer } of scenes.splice(0)) {
    await gateway.remove();
    await upstream.close();
    await issuer.close();
  }
});

async function start(era: "legacy" | "modern", more: Partial<GatewayOptions> = {}): Promise<Scene> {
  const [upstream, issuer] = [await startListeningUpstream(era), await startIssuer()];
  const gateway = await startGatewayUnderTest({
    issuer,
    upstreams: { alpha: upstream.url },
    servers: { alpha: { alpha: "" } },
    ...more,
  });
  const scene = { gateway, upstream, issuer };
  scenes.push(scene);
  return scene;
}

async function callerOf({ gateway, issuer }: Scene, claims = {}): Promise<Caller> {
  return { gateway, server: "alpha", token: await issuer.mint(gateway.resource("alpha"), claims) };
}

const everything = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };

/** A stream on which a client of this era hears of every list, and the messages that announce changes. */
async function hear(
  scene: Scene,
  era: string,
  claims = {},
): Promise<{ stream: OpenStream; caller: Caller; changes: () => string[] }> {
  const caller = await callerOf(scene, claims);
  if (era === "legacy") {
    const session = await openSession(caller);
    const headers = { ...legacyHeaders(session), accept: "text/event-stream" };
    const stream = await openStream({ port: scene.gateway.port, path: "/alpha/mcp", headers });
    await listening(scene);
    return { stream, caller: session, changes: () => stream.messages.map(({ method }) => String(method)) };
  }
  const stream = await openStream({
    port: scene.gateway.port,
    path: "/alpha/mcp",
    method: "POST",
    headers: modernHeaders(caller, "subscriptions/listen"),
    text: JSON.stringify({
      jsonrpc: "2.0",
      id: "listen:0",
      method: "subscriptions/listen",
      params: { notifications: everything, _meta: modernMeta },
    }),
  });
  await stream.received(1);
  await listening(scene);
  return { stream, caller, changes: () => stream.messages.slice(1).map(({ method }) => String(method)) };
}

/** The gateway's own stream to the upstream stands. The first view was taken as the client's opened. */
async function listening({ upstream }: Scene): Promise<void> {
  await until(() => upstream.listeners.some(({ wire }) => !wire.closed));
}

async function toolNames(caller: Caller): Promise<string[]> {
  const answer = await (caller.session === undefined ? modernCall : legacyCall)(caller, "tools/list");
  return ((answer.json["result"] as Loose)["tools"] as Loose[]).map(({ name }) => String(name));
}

const pairings = ["legacy", "modern"].flatMap((client) =>
  (["legacy", "modern"] as const).map((server) => [client, server] as const),
);

describe.each(pairings)("list_changed: a %s client before a %s upstream", (client, server) => {
  it("is sent for the kind that changed, and a client that lists at once gets the new list", async () => {
    const scene = await start(server);
    const { caller, changes } = await hear(scene, client);
    expect(await toolNames(caller)).toEqual(["echo"]);
    scene.upstream.items.tool.push(tool("added"));
    scene.upstream.notify("notifications/tools/list_changed");
    await until(() => changes().length > 0);
    expect(await toolNames(caller)).toEqual(["echo", "added"]);
    scene.upstream.items.prompt.push({ name: "bye" });
    scene.upstream.items.template.push({ uriTemplate: "test://t/{id}", name: "t" });
    scene.upstream.notify("notifications/prompts/list_changed");
    await until(() => changes().length > 2);
    expect(changes()).toEqual(["tools", "prompts", "resources"].map((kind) => `notifications/${kind}/list_changed`));
  });

  it("is sent for a definition that changed under the same name, and not for an upstream that only says so", async () => {
    const scene = await start(server);
    const { changes } = await hear(scene, client);
    const readings = scene.upstream.count("tools/list");
    scene.upstream.notify("notifications/tools/list_changed");
    await until(() => scene.upstream.count("tools/list") > readings);
    scene.upstream.items.tool[0] = tool("echo", "does something else");
    scene.upstream.notify("notifications/tools/list_changed");
    await until(() => changes().length > 0);
    expect(changes()).toEqual(["notifications/tools/list_changed"]);
  });
});

describe.each(["legacy", "modern"])("list_changed to %s clients", (client) => {
  const rules = [
    { id: "some", effect: "allow", who: { anyone: true }, what: { upstream: "alpha", tool: ["echo"] } },
    { id: "staff", effect: "allow", who: { groups: { any: ["corp:staff"] } }, what: { anything: true } },
  ];

  it("reaches those who see the change, and those alone", async () => {
    const scene = await start("modern", { rules });
    const outsider = await hear(scene, client);
    const insider = await hear(scene, client, { sub: "bob", groups: ["staff"] });
    scene.upstream.items.tool.push(tool("secret"));
    scene.upstream.notify("notifications/tools/list_changed");
    await until(() => insider.changes().length > 0);
    scene.upstream.items.tool.unshift(tool("echo2"));
    scene.upstream.items.tool[1] = tool("echo", "changed for all");
    scene.upstream.notify("notifications/tools/list_changed");
    await until(() => outsider.changes().length > 0 && insider.changes().length > 1);
    expect([outsider.changes().length, insider.changes().length]).toEqual([1, 2]);
  });

  it("is sent for what changed before the stream to the upstream stood", async () => {
    const scene = await start("modern");
    const { changes } = await hear(scene, client);
    scene.upstream.items.tool.push(tool("unheard"));
    await until(() => changes().length > 0);
    expect(changes()).toEqual(["notifications/tools/list_changed"]);
  });

  it("is sent when a reading because of age finds a change that the upstream did not tell of", async () => {
    const scene = await start("modern", { config: { limits: { catalogAgeMsMax: 100 } } });
    const { changes } = await hear(scene, client);
    scene.upstream.items.tool.push(tool("quiet"));
    await until(() => changes().length > 0);
    expect(changes()).toEqual(["notifications/tools/list_changed"]);
  });

  it("is declared for what the server has, and for nothing else", async () => {
    const upstream = await startListeningUpstream("modern", {
      declared: { tools: {}, resources: { subscribe: true } },
    });
    const issuer = await startIssuer();
    const gateway = await startGatewayUnderTest({
      issuer,
      upstreams: { alpha: upstream.url },
      servers: { alpha: { alpha: "" } },
    });
    const scene = { gateway, upstream, issuer };
    scenes.push(scene);
    const caller = await callerOf(scene);
    const answer =
      client === "modern"
        ? await modernCall(caller, "server/discover")
        : await legacyCall(caller, "initialize", {
            protocolVersion: "2025-11-25",
            capabilities: {},
            clientInfo: { name: "t", version: "1" },
          });
    expect((answer.json["result"] as Loose)["capabilities"]).toEqual({
      tools: { listChanged: true },
      resources: { listChanged: true, subscribe: true },
    });
  });
});

describe("the gateway's own stream to an upstream", () => {
  it("is one, however many clients listen, and ends with the last of them", async () => {
    const scene = await start("modern");
    const [one, other] = [await hear(scene, "legacy"), await hear(scene, "modern", { sub: "bob" })];
    expect(scene.upstream.listeners.length).toBe(1);
    one.stream.close();
    scene.upstream.items.tool.push(tool("more"));
    scene.upstream.notify("notifications/tools/list_changed");
    await until(() => other.changes().length > 0);
    expect(scene.upstream.listeners[0]?.wire.closed).toBe(false);
    other.stream.close();
    await until(() => scene.upstream.listeners.every(({ wire }) => wire.closed));
  });

  it("costs a bounded number of readings, however much the upstream says", async () => {
    const scene = await start("modern");
    const { changes } = await hear(scene, "legacy");
    const before = scene.upstream.count("tools/list");
    const began = performance.now();
    for (let round = 0; round < 40; round += 1) {
      for (let at = 0; at < 25; at += 1) scene.upstream.notify("notifications/tools/list_changed");
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    // One as the stream opens and five at once, then after 1 s, 2 s more, 4 s more and so on.
    const seconds = (performance.now() - began) / 1000;
    const readings = scene.upstream.count("tools/list") - before;
    expect(readings).toBeGreaterThan(0);
    expect(readings).toBeLessThanOrEqual(6 + Math.ceil(Math.log2(1 + seconds)));
    expect(changes()).toEqual([]);
  });
});
