import { afterEach, describe, expect, it } from "vitest";
import { event } from "../upstream/scripted-upstream.ts";
import type { ReceivedRequest, Wire } from "../upstream/scripted-upstream.ts";
import { startRedis } from "../setup/redis.ts";
import { everyFeature, openSessionWith, respond } from "./asked-client.ts";
import type { AskedCaller } from "./asked-client.ts";
import { form } from "./asking-upstream.ts";
import { startGatewayUnderTest, startIssuer, until } from "./gateway-under-test.ts";
import { freePort } from "../setup/free-port.ts";
import type { GatewayOptions, GatewayUnderTest, IssuerUnderTest } from "./gateway-under-test.ts";
import type { Loose } from "./http-client.ts";
import { startListeningUpstream } from "./listening-bench.ts";
import type { ListeningUpstream } from "./listening-bench.ts";
import { openStream } from "./stream-client.ts";
import type { OpenStream } from "./stream-client.ts";
import { legacyCall, legacyHeaders } from "./wire-client.ts";

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

async function start(
  of: { gateway?: Partial<GatewayOptions>; upstream?: Parameters<typeof startListeningUpstream>[1] } = {},
): Promise<Scene> {
  const upstream = await startListeningUpstream("legacy", of.upstream);
  const issuer = await startIssuer();
  const gateway = await startGatewayUnderTest({
    issuer,
    upstreams: { up: upstream.url },
    servers: { s: { up: "" } },
    config: { limits: { streamCommentMs: 250 } },
    ...of.gateway,
  });
  const scene = { gateway, upstream, issuer };
  scenes.push(scene);
  return scene;
}

async function session({ gateway, issuer }: Scene, capabilities: Loose, sub = "alice"): Promise<AskedCaller> {
  const token = await issuer.mint(gateway.resource("s"), { sub });
  return openSessionWith({ gateway, server: "s", token }, capabilities);
}

function listen(caller: AskedCaller): Promise<OpenStream> {
  const headers = { ...legacyHeaders(caller), accept: "text/event-stream" };
  return openStream({ port: caller.gateway.port, path: "/s/mcp", headers });
}

/** Upstream sessions that have a stream open, as the sessions of calls that were made in them. */
function listening({ upstream }: Scene): string[] {
  const called = upstream.received
    .filter(({ rpc }) => rpc["method"] === "tools/call")
    .map((one) => one.header("mcp-session-id"));
  return upstream.listeners.flatMap(({ session: id, wire }) =>
    id !== undefined && !wire.closed && called.includes(id) ? [id] : [],
  );
}

const call = (caller: AskedCaller): ReturnType<typeof legacyCall> =>
  legacyCall(caller, "tools/call", { name: "echo", arguments: {} });

describe("what a legacy upstream asks outside of calls", () => {
  it("goes to the GET stream of the session that used it, and the answer back; to no other session", async () => {
    const scene = await start();
    const [alice, bob] = [await session(scene, everyFeature), await session(scene, everyFeature, "bob")];
    const [hers, his] = [await listen(alice), await listen(bob)];
    await call(alice);
    await until(() => listening(scene).length === 1);
    const [at] = scene.upstream.listeners.filter(({ session: id }) => id === listening(scene)[0]);
    at?.wire.chunk(event({ jsonrpc: "2.0", id: 0, ...form }));
    await hers.received(1);
    const [asked] = hers.messages;
    expect([asked?.["method"], asked?.["params"], typeof asked?.["id"]]).toEqual([form.method, form.params, "string"]);
    await respond(alice, asked?.["id"], { result: { action: "decline" } });
    await until(() => scene.upstream.received.some(({ rpc }) => rpc["id"] === 0 && "result" in rpc));
    const answer = scene.upstream.received.find(({ rpc }) => rpc["id"] === 0 && "result" in rpc);
    expect([answer?.rpc["result"], answer?.header("mcp-session-id")]).toEqual([{ action: "decline" }, at?.session]);
    expect(his.messages).toEqual([]);
  });

  it("is heard on a stream that is opened after the call too", async () => {
    const scene = await start();
    const alice = await session(scene, everyFeature);
    await call(alice);
    expect(listening(scene)).toEqual([]);
    await listen(alice);
    await until(() => listening(scene).length === 1);
  });

  it("is not listened for where the client can be asked nothing, nor where no stream is open", async () => {
    const scene = await start();
    const [mute, deaf, alice] = [
      await session(scene, {}),
      await session(scene, everyFeature),
      await session(scene, everyFeature),
    ];
    await listen(mute);
    await listen(alice);
    for (const caller of [mute, deaf, alice]) await call(caller);
    await until(() => listening(scene).length === 1);
    const last = scene.upstream.received.filter(({ rpc }) => rpc["method"] === "tools/call").at(-1);
    expect(listening(scene)).toEqual([last?.header("mcp-session-id")]);
  });

  const calls = { id: "calls", effect: "allow", who: { anyone: true }, what: { upstream: "up", tool: "echo" } };

  it("is answered as declined where policy does not let the upstream ask that, and reaches nobody", async () => {
    const asks = {
      id: "asks",
      effect: "allow",
      who: { anyone: true },
      what: { upstream: "up", clientFeature: ["elicitation"] },
    };
    const scene = await start({
      gateway: { rules: [calls, { ...asks, when: 'has(args.message) && args.message == "something else"' }] },
    });
    const alice = await session(scene, everyFeature);
    const hers = await listen(alice);
    await call(alice);
    await until(() => listening(scene).length === 1);
    const [at] = scene.upstream.listeners.filter(({ session: id }) => id === listening(scene)[0]);
    at?.wire.chunk(event({ jsonrpc: "2.0", id: 9, ...form }));
    const answer = (): ReceivedRequest | undefined => scene.upstream.received.find(({ rpc }) => rpc["id"] === 9);
    await until(() => answer() !== undefined);
    expect([answer()?.rpc["result"], hers.messages]).toEqual([{ action: "decline" }, []]);
  });

  it("is not listened for where policy denies the upstream every question", async () => {
    const scene = await start({ gateway: { rules: [calls] } });
    const alice = await session(scene, everyFeature);
    const hers = await listen(alice);
    await call(alice);
    await until(() => hers.comments >= 4);
    expect(listening(scene)).toEqual([]);
  });
});

describe("what a legacy upstream logs outside of calls", () => {
  it("reaches a session that set a level, from that level on, cleaned", async () => {
    const scene = await start({ upstream: { declared: { tools: {}, logging: {} } } });
    const alice = await session(scene, {});
    const hers = await listen(alice);
    await legacyCall(alice, "logging/setLevel", { level: "warning" });
    await call(alice);
    await until(() => listening(scene).length === 1);
    for (const [level, data] of [
      ["info", "quiet"],
      ["error", "lo\u200bud"],
    ])
      scene.upstream.notify("notifications/message", { level, data });
    await hers.received(1);
    expect(hers.messages.map(({ method, params }) => [method, params])).toEqual([
      ["notifications/message", { level: "error", data: "loud" }],
    ]);
  });
});

describe("what a legacy upstream asks on the GET stream in the middle of a session's first call", () => {
  /** A server of the kind that asks outside of the call's own stream, and answers the call once it was answered. */
  function askingMeanwhile(): {
    first: (request: ReceivedRequest, wire: Wire) => boolean;
    of: { up?: ListeningUpstream };
  } {
    const of: { up?: ListeningUpstream } = {};
    const calls = new Map<string, { wire: Wire; id: unknown }>();
    const answer = (session: string, text: string): void => {
      const call = calls.get(session);
      call?.wire.json(200, { jsonrpc: "2.0", id: call.id, result: { content: [{ type: "text", text }] } });
    };
    const first = (request: ReceivedRequest, wire: Wire): boolean => {
      const session = request.header("mcp-session-id") ?? "";
      if (request.rpc["id"] === "asked" && "result" in request.rpc) {
        wire.respond(202, undefined, "");
        answer(session, JSON.stringify(request.rpc["result"]));
        return true;
      }
      if (request.rpc["method"] !== "tools/call") return false;
      calls.set(session, { wire, id: request.rpc["id"] });
      const listener = of.up?.listeners.find((one) => one.session === session && !one.wire.closed);
      if (listener === undefined) answer(session, "nobody listens");
      else listener.wire.chunk(event({ jsonrpc: "2.0", id: "asked", ...form }));
      return true;
    };
    return { first, of };
  }

  const decline = { action: "decline" };
  const textOf = (answer: { json: Loose }): unknown =>
    ((answer.json["result"] as Loose)["content"] as Loose[])[0]?.["text"];

  async function answerFor(caller: AskedCaller, stream: OpenStream): Promise<unknown> {
    const called = call(caller);
    void stream.received(1).then(() => respond(caller, stream.messages[0]?.["id"], { result: decline }));
    return textOf(await called);
  }

  it("reaches the client, and the answer the call", async () => {
    const { first, of } = askingMeanwhile();
    const scene = await start({ upstream: { first } });
    of.up = scene.upstream;
    const alice = await session(scene, everyFeature);
    expect(await answerFor(alice, await listen(alice))).toBe(JSON.stringify(decline));
  });

  it("reaches the client whose stream another replica holds", async () => {
    const redis = await startRedis();
    try {
      const { first, of } = askingMeanwhile();
      const shared = { redisUrl: redis.url, publicPort: await freePort() };
      const scene = await start({ upstream: { first }, gateway: shared });
      const issuer = scene.issuer;
      of.up = scene.upstream;
      const other = await startGatewayUnderTest({
        ...{ issuer, ...shared, upstreams: { up: scene.upstream.url }, servers: { s: { up: "" } } },
      });
      try {
        const alice = await session(scene, everyFeature);
        const hers = await listen(alice);
        expect(await answerFor({ ...alice, gateway: other }, hers)).toBe(JSON.stringify(decline));
      } finally {
        await other.remove();
      }
    } finally {
      await redis.stop();
    }
  });

  const unheard: readonly (readonly [string, (wire: Wire) => void])[] = [
    [
      "offers no stream",
      (wire) => {
        wire.respond(405, undefined, "");
      },
    ],
    [
      "cannot open one now",
      (wire) => {
        wire.respond(503, undefined, "");
      },
    ],
    ["is silent to whoever would open one", () => undefined],
  ];
  it.each(unheard)("is not waited for when the upstream %s: the call is answered", async (_, refuse) => {
    const scene = await start({
      upstream: {
        first: (request, wire) => {
          if (request.method === "GET") refuse(wire);
          return request.method === "GET";
        },
      },
    });
    const alice = await session(scene, everyFeature);
    await listen(alice);
    for (let at = 0; at < 3; at += 1) expect((await call(alice)).text).toContain(`"result"`);
  });

  it("is heard before the first call of it, and only where a stream of the session is open", async () => {
    const scene = await start();
    const alice = await session(scene, everyFeature);
    await call(alice);
    expect(scene.upstream.received.filter(({ method }) => method === "GET")).toEqual([]);
    const bob = await session(scene, everyFeature, "bob");
    await listen(bob);
    await call(bob);
    const order = scene.upstream.received
      .filter((one) => one.header("mcp-session-id") === scene.upstream.received.at(-1)?.header("mcp-session-id"))
      .map(({ method, rpc }) => (method === "GET" ? "GET" : rpc["method"]));
    expect(order).toEqual(["notifications/initialized", "GET", "tools/call"]);
  });
});
