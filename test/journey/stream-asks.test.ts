import { afterEach, describe, expect, it } from "vitest";
import { event } from "../upstream/scripted-upstream.ts";
import type { ReceivedRequest } from "../upstream/scripted-upstream.ts";
import { everyFeature, openSessionWith, respond } from "./asked-client.ts";
import type { AskedCaller } from "./asked-client.ts";
import { form } from "./asking-upstream.ts";
import { startGatewayUnderTest, startIssuer, until } from "./gateway-under-test.ts";
import type { GatewayUnderTest, IssuerUnderTest } from "./gateway-under-test.ts";
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

async function start(rules?: readonly Loose[], declared?: Loose): Promise<Scene> {
  const upstream = await startListeningUpstream("legacy", declared === undefined ? {} : { declared });
  const issuer = await startIssuer();
  const gateway = await startGatewayUnderTest({
    issuer,
    upstreams: { up: upstream.url },
    servers: { s: { up: "" } },
    config: { limits: { streamCommentMs: 250 } },
    ...(rules === undefined ? {} : { rules }),
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
    const scene = await start([calls, { ...asks, when: 'has(args.message) && args.message == "something else"' }]);
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
    const scene = await start([calls]);
    const alice = await session(scene, everyFeature);
    const hers = await listen(alice);
    await call(alice);
    await until(() => hers.comments >= 4);
    expect(listening(scene)).toEqual([]);
  });
});

describe("what a legacy upstream logs outside of calls", () => {
  it("reaches a session that set a level, from that level on, cleaned", async () => {
    const scene = await start(undefined, { tools: {}, logging: {} });
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
