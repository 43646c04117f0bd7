import { afterEach, describe, expect, it } from "vitest";
import type { ReceivedRequest, Wire } from "../upstream/scripted-upstream.ts";
import { startGatewayUnderTest, startIssuer, until } from "./gateway-under-test.ts";
import type { GatewayUnderTest, IssuerUnderTest } from "./gateway-under-test.ts";
import type { Loose } from "./http-client.ts";
import { startListeningUpstream } from "./listening-bench.ts";
import type { ListeningUpstream } from "./listening-bench.ts";
import { openStream } from "./stream-client.ts";
import type { OpenStream } from "./stream-client.ts";
import { legacyCall, legacyHeaders, modernHeaders, modernMeta, openSession, refusalIn } from "./wire-client.ts";

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

type First = (request: ReceivedRequest, wire: Wire) => boolean;

async function start(era: "legacy" | "modern", limits: Loose = {}, first: First = () => false): Promise<Scene> {
  const [upstream, issuer] = [await startListeningUpstream(era, { first }), await startIssuer()];
  const gateway = await startGatewayUnderTest({
    issuer,
    upstreams: { up: upstream.url },
    servers: { s: { up: "" } },
    config: { limits },
  });
  const scene = { gateway, upstream, issuer };
  scenes.push(scene);
  return scene;
}

const uri = "test://one";
const updated = "notifications/resources/updated";

async function listen({ gateway, issuer }: Scene, notifications: Loose, sub = "alice"): Promise<OpenStream> {
  const token = await issuer.mint(gateway.resource("s"), { sub });
  return openStream({
    port: gateway.port,
    path: "/s/mcp",
    method: "POST",
    headers: modernHeaders({ token }, "subscriptions/listen"),
    body: { jsonrpc: "2.0", id: 7, method: "subscriptions/listen", params: { notifications, _meta: modernMeta } },
  });
}

function acknowledgedIn({ messages: [first] }: OpenStream): unknown {
  return ((first?.["params"] ?? {}) as Loose)["notifications"];
}

function updatesOn({ messages }: OpenStream): unknown[] {
  return messages.filter(({ method }) => method === updated).map(({ params }) => (params as Loose)["uri"]);
}

const one = { resourceSubscriptions: [uri] };

describe.each(["legacy", "modern"] as const)("a subscriptions/listen, before a %s upstream", (era) => {
  const share = { upstreamStreamsPerPrincipalMax: 1 };

  it("that nothing is left of for want of streams is refused as STREAM_LIMIT_REACHED; others are not", async () => {
    const scene = await start(era, share);
    const first = await listen(scene, one);
    await first.received(1);
    const second = await listen(scene, one);
    const bobs = await listen(scene, one, "bob");
    await second.received(1);
    await bobs.received(1);
    await until(() => second.ended);
    expect(second.messages.map((json) => [json["id"], refusalIn({ json }).code])).toEqual([
      [7, "STREAM_LIMIT_REACHED"],
    ]);
    expect([first, bobs].map(acknowledgedIn)).toEqual([one, one]);
    first.close();
    const third = await listen(scene, one);
    await third.received(1);
    expect(acknowledgedIn(third)).toEqual(one);
  });

  it("is acknowledged without what there is no stream for, and never hears of that", async () => {
    const scene = await start(era, { ...share, streamCommentMs: 250 });
    const first = await listen(scene, one);
    await first.received(1);
    const second = await listen(scene, { ...one, toolsListChanged: true });
    await second.received(1);
    expect(acknowledgedIn(second)).toEqual({ toolsListChanged: true });
    first.close();
    await until(() => second.comments >= 4);
    scene.upstream.notify(updated, { uri });
    scene.upstream.items.tool.push({ name: "added", inputSchema: { type: "object" } });
    scene.upstream.notify("notifications/tools/list_changed");
    await second.received(2);
    expect(second.messages.slice(1).map(({ method }) => method)).toEqual(["notifications/tools/list_changed"]);
  });

  it("is acknowledged without what its upstream offers no stream for", async () => {
    const scene = await start(era, {}, ({ method, rpc }, wire) => {
      const isListen = method === "GET" || rpc["method"] === "subscriptions/listen";
      if (isListen) wire.json(404, { jsonrpc: "2.0", id: rpc["id"], error: { code: -32601, message: "none" } });
      return isListen;
    });
    const stream = await listen(scene, one);
    await stream.received(1);
    expect(acknowledgedIn(stream)).toEqual({});
  });

  it("is acknowledged for an upstream that cannot now, and told that everything changed once it can", async () => {
    let refusals = 0;
    const scene = await start(era, {}, ({ method, body }, wire) => {
      const isListen = method === "GET" || body.includes("resourceSubscriptions");
      if (!isListen || refusals > 1) return false;
      refusals += 1;
      wire.json(503, {});
      return true;
    });
    const stream = await listen(scene, one);
    await stream.received(1);
    expect(acknowledgedIn(stream)).toEqual(one);
    await stream.received(2);
    expect(updatesOn(stream)).toEqual([uri]);
  });

  it("is not told that anything changed where the upstream is heard from the beginning", async () => {
    const scene = await start(era);
    const stream = await listen(scene, { ...one, toolsListChanged: true });
    await stream.received(1);
    scene.upstream.items.tool.push({ name: "added", inputSchema: { type: "object" } });
    await stream.received(2);
    expect(stream.messages.slice(1).map(({ method }) => method)).toEqual(["notifications/tools/list_changed"]);
  });

  it("a resources/subscribe whose GET stream cannot hear is refused as SUBSCRIPTION_LIMIT_REACHED", async () => {
    const scene = await start(era, share);
    const first = await listen(scene, one);
    await first.received(1);
    const token = await scene.issuer.mint(scene.gateway.resource("s"));
    const caller = await openSession({ gateway: scene.gateway, server: "s", token });
    const headers = { ...legacyHeaders(caller), accept: "text/event-stream" };
    const stream = await openStream({ port: scene.gateway.port, path: "/s/mcp", headers });
    const refused = await legacyCall(caller, "resources/subscribe", { uri });
    expect(refusalIn(refused).code).toBe("SUBSCRIPTION_LIMIT_REACHED");
    first.close();
    await until(async () => {
      const answer = await legacyCall(caller, "resources/subscribe", { uri });
      return answer.json["result"] !== undefined;
    });
    scene.upstream.notify(updated, { uri });
    await stream.received(1);
    expect(updatesOn(stream)[0]).toBe(uri);
  });
});

describe("streams that are open", () => {
  it("are counted in metrics, those of clients by kind and those from upstreams by upstream", async () => {
    const scene = await start("modern");
    const lines = async (): Promise<string[]> =>
      (await scene.gateway.metrics()).split("\n").filter((line) => /^sallyport_\w+_streams\{/.test(line));
    expect(await lines()).toEqual([
      'sallyport_client_streams{kind="session"} 0',
      'sallyport_client_streams{kind="listen"} 0',
      'sallyport_upstream_streams{upstream="up"} 0',
    ]);
    const first = await listen(scene, one);
    await first.received(1);
    const token = await scene.issuer.mint(scene.gateway.resource("s"));
    const caller = await openSession({ gateway: scene.gateway, server: "s", token });
    const headers = { ...legacyHeaders(caller), accept: "text/event-stream" };
    await openStream({ port: scene.gateway.port, path: "/s/mcp", headers });
    // The gateway's own of lists, which the session hears of, and the client's of its resource.
    await until(async () => (await lines()).at(-1)?.endsWith(" 2") === true);
    expect((await lines()).slice(0, 2)).toEqual([
      'sallyport_client_streams{kind="session"} 1',
      'sallyport_client_streams{kind="listen"} 1',
    ]);
    first.close();
    await until(async () => (await lines()).slice(1).every((line) => /listen"\} 0|up"\} 1/.test(line)));
  });
});
