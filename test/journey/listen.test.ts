import { afterEach, describe, expect, it } from "vitest";
import { startGatewayUnderTest, startIssuer, until } from "./gateway-under-test.ts";
import type { GatewayOptions, GatewayUnderTest, IssuerUnderTest } from "./gateway-under-test.ts";
import type { Loose } from "./http-client.ts";
import { resource, startListeningUpstream, tool } from "./listening-bench.ts";
import type { ListeningUpstream } from "./listening-bench.ts";
import { openStream } from "./stream-client.ts";
import type { OpenStream } from "./stream-client.ts";
import { modernHeaders, modernMeta } from "./wire-client.ts";

interface Scene {
  readonly gateway: GatewayUnderTest;
  readonly legacy: ListeningUpstream;
  readonly modern: ListeningUpstream;
  readonly issuer: IssuerUnderTest;
}

const scenes: Scene[] = [];

afterEach(async () => {
  for (const { gateway, legacy, modern, issuer } of scenes.splice(0)) {
    await gateway.remove();
    await legacy.close();
    await modern.close();
    await issuer.close();
  }
});

/** One server of two upstreams, one of each era; `silent` is one that tells of no updates. */
async function start(more: Partial<GatewayOptions> = {}, declared?: Loose): Promise<Scene> {
  const legacy = await startListeningUpstream("legacy");
  const modern = await startListeningUpstream("modern", declared === undefined ? {} : { declared });
  legacy.items.resource.splice(0, 1, resource("test://old"));
  modern.items.resource.splice(0, 1, resource("test://new"), resource("test://hidden"));
  legacy.items.tool.splice(0, 1, tool("old"));
  legacy.items.prompt.splice(0);
  const issuer = await startIssuer();
  const gateway = await startGatewayUnderTest({
    issuer,
    upstreams: { legacy: legacy.url, modern: modern.url },
    servers: { both: { legacy: "", modern: "" } },
    ...more,
  });
  const scene = { gateway, legacy, modern, issuer };
  scenes.push(scene);
  return scene;
}

interface Listen {
  readonly id?: unknown;
  readonly params?: Loose;
  readonly headers?: Record<string, string | undefined>;
  readonly claims?: Loose;
  /** The body as text, for what JSON.stringify cannot write. */
  readonly idText?: string;
}

async function listen({ gateway, issuer }: Scene, notifications: unknown, more: Listen = {}): Promise<OpenStream> {
  const token = await issuer.mint(gateway.resource("both"), more.claims ?? {});
  const { id = 1, headers = {} } = more;
  const params = more.params ?? { notifications, _meta: modernMeta };
  return openStream({
    port: gateway.port,
    path: "/both/mcp",
    method: "POST",
    headers: { ...modernHeaders({ token }, "subscriptions/listen"), ...headers },
    text: `{"jsonrpc":"2.0","id":${more.idText ?? JSON.stringify(id)},"method":"subscriptions/listen","params":${JSON.stringify(params)}}`,
  });
}

const idKey = "io.modelcontextprotocol/subscriptionId";
const acknowledged = "notifications/subscriptions/acknowledged";
const updated = "notifications/resources/updated";

function paramsOf(message: Loose | undefined): Loose {
  return (message?.["params"] ?? {}) as Loose;
}

function idIn(message: Loose | undefined): unknown {
  return ((paramsOf(message)["_meta"] ?? {}) as Loose)[idKey];
}

describe("subscriptions/listen: the acknowledgement", () => {
  const all = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };
  const readable = { id: "read", effect: "allow", who: { anyone: true }, what: { anything: true } };
  const hidden = {
    id: "hide",
    effect: "deny",
    who: { anyone: true },
    what: { upstream: "modern", resource: "test://hidden" },
  };
  const stepUp = {
    id: "scopes",
    effect: "allow",
    who: { anyone: true },
    what: { upstream: "modern", resource: "test://new" },
    stepUp: { scopes: { all: ["deep:read"] } },
  };
  const tools = { id: "tools", effect: "allow", who: { anyone: true }, what: { upstream: "modern", tool: "*" } };
  const subscribing = { resourceSubscriptions: ["test://new", "test://hidden", "test://nowhere", "test://old"] };
  type Row = readonly [string, unknown, unknown, (readonly Loose[] | undefined)?, Loose?];
  const rows: readonly Row[] = [
    [
      "everything that is there",
      { ...all, ...subscribing },
      { ...all, resourceSubscriptions: ["test://new", "test://hidden", "test://old"] },
    ],
    ["nothing", {}, {}],
    ["false as not asked for", { toolsListChanged: false, resourceSubscriptions: [] }, {}],
    [
      "no resource that is hidden, as none that is unknown",
      subscribing,
      { resourceSubscriptions: ["test://new", "test://old"] },
      [readable, hidden],
    ],
    ["no resource that lacks a scope", { resourceSubscriptions: ["test://new"] }, {}, [stepUp]],
    [
      "no list of a kind that this principal has nothing of",
      all,
      { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true },
      [tools],
    ],
    [
      "no resource of an upstream that tells of no updates",
      subscribing,
      { resourceSubscriptions: ["test://old"] },
      undefined,
      { tools: {}, resources: {} },
    ],
    [
      "each URI once",
      { resourceSubscriptions: ["test://new", "test://new"] },
      { resourceSubscriptions: ["test://new"] },
    ],
    ["no kind that nobody knows", { weatherChanged: true, toolsListChanged: true }, { toolsListChanged: true }],
  ];
  it.each(rows.map((row) => ({ row, name: row[0] })))("honours $name", async ({ row }) => {
    const [, asked, honoured, rules, declared] = row;
    const scene = await start(rules === undefined ? {} : { rules }, declared);
    const stream = await listen(scene, asked);
    await stream.received(1);
    expect(stream.messages[0]?.["method"]).toBe(acknowledged);
    expect(paramsOf(stream.messages[0])["notifications"]).toEqual(honoured);
  });

  it.each(["0", "7", '"7"', '"listen:0"', '""', "-1", "12345678901234567890"])(
    "has the request's id %s in its JSON type, as all that follows",
    async (idText) => {
      const scene = await start();
      const stream = await listen(scene, { toolsListChanged: true }, { idText });
      await stream.received(1);
      await until(() => scene.modern.listeners.length > 0);
      scene.modern.items.tool.push(tool("more"));
      scene.modern.notify("notifications/tools/list_changed");
      await stream.received(2);
      await scene.gateway.stop();
      await until(() => stream.ended);
      expect(
        stream.text.split(`"${idKey}":${idText}}`).length + stream.text.split(`"${idKey}":${idText},`).length - 2,
      ).toBe(3);
      expect(stream.text).toContain(`"jsonrpc":"2.0","id":${idText},"result"`);
    },
  );
});

describe("subscriptions/listen: what is refused", () => {
  const rows: readonly (readonly [string, unknown, Listen, number, string])[] = [
    ["no filter", undefined, { params: { _meta: modernMeta } }, 200, "RPC_PARAMS_INVALID"],
    ["a filter that is no object", [], {}, 200, "RPC_PARAMS_INVALID"],
    ["a flag that is no boolean", { toolsListChanged: "true" }, {}, 200, "RPC_PARAMS_INVALID"],
    ["URIs that are no list", { resourceSubscriptions: "test://new" }, {}, 200, "RPC_PARAMS_INVALID"],
    ["a URI that is no string", { resourceSubscriptions: [1] }, {}, 200, "RPC_PARAMS_INVALID"],
    [
      "more URIs than 1,000",
      { resourceSubscriptions: Array.from({ length: 1_001 }, (__, at) => `test://${at}`) },
      {},
      200,
      "RPC_PARAMS_INVALID",
    ],
    ["no Mcp-Method", {}, { headers: { "mcp-method": undefined } }, 400, "HEADER_MISMATCH"],
    ["another Mcp-Method", {}, { headers: { "mcp-method": "tools/list" } }, 400, "HEADER_MISMATCH"],
    ["no version in its _meta", {}, { params: { notifications: {} } }, 400, "META_INVALID"],
    ["an Accept without event streams", {}, { headers: { accept: "application/json" } }, 406, "NOT_ACCEPTABLE"],
    ["no token", {}, { headers: { authorization: undefined } }, 401, "AUTH_TOKEN_MISSING"],
  ];
  it.each(rows.map((row) => ({ row, name: row[0] })))("$name", async ({ row }) => {
    const [, notifications, more, status, code] = row;
    const stream = await listen(await start(), notifications, more);
    await until(() => stream.ended);
    expect([stream.status, stream.text.includes(`"refusal":"${code}"`)]).toEqual([status, true]);
    expect(stream.headers["mcp-session-id"]).toBeUndefined();
  });

  it("1,000 URIs are taken", async () => {
    const uris = Array.from({ length: 999 }, (__, at) => `test://${at}`);
    const stream = await listen(await start(), { resourceSubscriptions: [...uris, "test://new"] });
    await stream.received(1);
    expect(paramsOf(stream.messages[0])["notifications"]).toEqual({ resourceSubscriptions: ["test://new"] });
  });
});

describe("subscriptions/listen: what it brings", () => {
  it("updates of the resources asked for, from upstreams of both eras, and nothing else", async () => {
    const scene = await start();
    const stream = await listen(scene, { resourceSubscriptions: ["test://old", "test://new"] });
    await until(
      () =>
        scene.modern.listeners.length > 0 &&
        [...scene.legacy.subscribed.values()].some((uris) => uris.has("test://old")),
    );
    scene.modern.notify(updated, { uri: "test://hidden" });
    scene.modern.notify("notifications/tools/list_changed");
    scene.modern.notify(updated, { uri: "test://new" });
    scene.legacy.notify(updated, { uri: "test://old" });
    await stream.received(3);
    const rest = stream.messages.slice(1);
    expect(rest.map((message) => [message["method"], paramsOf(message)["uri"], idIn(message)]).sort()).toEqual([
      [updated, "test://new", 1],
      [updated, "test://old", 1],
    ]);
  });

  it("each of two streams of one principal has its own subscriptions and its own id", async () => {
    const scene = await start();
    const first = await listen(scene, { resourceSubscriptions: ["test://old"] }, { id: "a" });
    const second = await listen(scene, { resourceSubscriptions: ["test://old", "test://new"] }, { id: 2 });
    await until(() => [...scene.legacy.subscribed.values()].filter((uris) => uris.size > 0).length === 2);
    first.close();
    await until(() => scene.legacy.listeners.some(({ wire }) => wire.closed));
    scene.legacy.notify(updated, { uri: "test://old" });
    await second.received(2);
    expect([first.messages.length, idIn(second.messages[1])]).toEqual([1, 2]);
  });

  it("no update of a resource that policy no longer lets the principal read", async () => {
    const ends = new Date(Date.now() + 3_000);
    const rules = [
      { id: "all", effect: "allow", who: { anyone: true }, what: { upstream: "legacy" } },
      {
        id: "until",
        effect: "allow",
        who: { anyone: true },
        what: { upstream: "modern" },
        when: `request.now < timestamp("${ends.toISOString()}")`,
      },
    ];
    const scene = await start({ rules });
    const stream = await listen(scene, { resourceSubscriptions: ["test://old", "test://new"] });
    await until(
      () => scene.modern.listeners.length > 0 && [...scene.legacy.subscribed.values()].some((uris) => uris.size > 0),
    );
    scene.modern.notify(updated, { uri: "test://new" });
    await stream.received(2);
    await until(() => Date.now() > ends.getTime());
    scene.modern.notify(updated, { uri: "test://new" });
    scene.legacy.notify(updated, { uri: "test://old" });
    await stream.received(3);
    expect(stream.messages.slice(1).map((message) => paramsOf(message)["uri"])).toEqual(["test://new", "test://old"]);
  }, 15_000);
});

describe("subscriptions/listen: its end", () => {
  it("when the gateway drains is a result that closes it", async () => {
    const scene = await start();
    const stream = await listen(scene, { toolsListChanged: true }, { id: "x" });
    await stream.received(1);
    await scene.gateway.stop();
    await until(() => stream.ended);
    const last = stream.messages.at(-1);
    expect([last?.["id"], (last?.["result"] as Loose)["resultType"]]).toEqual(["x", "complete"]);
    expect(((last?.["result"] as Loose)["_meta"] as Loose)[idKey]).toBe("x");
  });

  it("comes with the token's, in the same form, and evidence has an intent and one outcome", async () => {
    const scene = await start({ config: { limits: { streamCommentMs: 250, clockLeewaySeconds: 0 } } });
    const exp = Math.floor(Date.now() / 1000) + 2;
    const stream = await listen(scene, {}, { claims: { exp } });
    await until(() => stream.ended);
    expect(Date.now() / 1000).toBeGreaterThanOrEqual(exp);
    expect(stream.messages.at(-1)?.["result"]).toBeDefined();
    await until(() => scene.gateway.audit().filter(({ method }) => method === "subscriptions/listen").length === 2);
    expect(
      scene.gateway
        .audit()
        .filter(({ method }) => method === "subscriptions/listen")
        .map(({ type }) => type),
    ).toEqual(["attempted", "returned"]);
  });

  it("ends the streams to upstreams when the client leaves", async () => {
    const scene = await start();
    const stream = await listen(scene, { toolsListChanged: true, resourceSubscriptions: ["test://old", "test://new"] });
    const open = (): number =>
      [...scene.legacy.listeners, ...scene.modern.listeners].filter(({ wire }) => !wire.closed).length;
    await until(() => open() === 4);
    stream.close();
    await until(() => open() === 0);
  });

  it("is not a call's timeout, and comments keep it alive", async () => {
    const legacy = await startListeningUpstream("legacy");
    const issuer = await startIssuer();
    const gateway = await startGatewayUnderTest({
      issuer,
      upstreams: { legacy: { url: legacy.url, timeouts: { callMs: 1_000 } } },
      servers: { both: { legacy: "" } },
      config: { limits: { streamCommentMs: 500 } },
    });
    scenes.push({ gateway, legacy, modern: await startListeningUpstream("modern"), issuer });
    const stream = await listen({ gateway, issuer, legacy, modern: legacy }, { toolsListChanged: true });
    await until(() => stream.comments >= 6);
    expect(stream.ended).toBe(false);
  });
});
