import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { AuditEvent } from "../../src/audit/event.ts";
import { startRedis } from "../setup/redis.ts";
import type { RedisUnderTest } from "../setup/redis.ts";
import { startGatewayUnderTest, startIssuer, until } from "./gateway-under-test.ts";
import { freePort } from "../setup/free-port.ts";
import type { GatewayOptions, GatewayUnderTest, IssuerUnderTest } from "./gateway-under-test.ts";
import { send } from "./http-client.ts";
import type { Loose, Received } from "./http-client.ts";
import type { ReceivedRequest, Wire } from "../upstream/scripted-upstream.ts";
import { resource, startListeningUpstream } from "./listening-bench.ts";
import type { ListeningUpstream } from "./listening-bench.ts";
import { openStream } from "./stream-client.ts";
import type { OpenStream } from "./stream-client.ts";
import { legacyCall, legacyHeaders, openSession, refusalIn } from "./wire-client.ts";
import type { Caller } from "./wire-client.ts";

let issuer: IssuerUnderTest;
let redis: RedisUnderTest;
const leaving: { remove?: () => Promise<void>; close?: () => Promise<void> }[] = [];

beforeAll(async () => {
  issuer = await startIssuer();
  redis = await startRedis();
});

afterEach(async () => {
  for (const one of leaving.splice(0)) await (one.remove ?? one.close)?.();
});

afterAll(async () => {
  await issuer.close();
  await redis.stop();
});

type Session = Caller & { session: string };

async function upstreamOf(era: "legacy" | "modern", options: Loose = {}): Promise<ListeningUpstream> {
  const upstream = await startListeningUpstream(era, options);
  upstream.items.template.push({ uriTemplate: "test://rows/{+id}", name: "rows" });
  leaving.push(upstream);
  return upstream;
}

async function start(upstream: ListeningUpstream, more: Partial<GatewayOptions> = {}): Promise<GatewayUnderTest> {
  const gateway = await startGatewayUnderTest({
    issuer,
    upstreams: { alpha: upstream.url },
    servers: { alpha: { alpha: "" } },
    ...more,
  });
  leaving.unshift(gateway);
  return gateway;
}

async function signedIn(gateway: GatewayUnderTest, claims = {}): Promise<Session> {
  const token = await issuer.mint(gateway.resource("alpha"), claims);
  return openSession({ gateway, server: "alpha", token });
}

function listen(caller: Session): Promise<OpenStream> {
  const headers = { ...legacyHeaders(caller), accept: "text/event-stream" };
  return openStream({ port: caller.gateway.port, path: "/alpha/mcp", headers });
}

function subscribe(caller: Caller, uri: string): Promise<Received> {
  return legacyCall(caller, "resources/subscribe", { uri });
}

function unsubscribe(caller: Caller, uri: string): Promise<Received> {
  return legacyCall(caller, "resources/unsubscribe", { uri });
}

const updated = "notifications/resources/updated";

/** The upstream will tell of `uri` on a stream that is open. */
async function told(upstream: ListeningUpstream, uri: string, times = 1): Promise<void> {
  await until(() => {
    const open = upstream.listeners.filter(({ wire }) => !wire.closed);
    const asked = open.filter(({ session, filter }) =>
      session === undefined
        ? ((filter["resourceSubscriptions"] ?? []) as string[]).includes(uri)
        : (upstream.subscribed.get(session)?.has(uri) ?? false),
    );
    return asked.length === times;
  });
}

function urisOn(stream: OpenStream): unknown[] {
  return stream.messages.filter(({ method }) => method === updated).map(({ params }) => (params as Loose)["uri"]);
}

const eras = ["legacy", "modern"] as const;

describe.each(eras)("resource subscriptions of a legacy client at a %s upstream", (era) => {
  it.each(["before", "after"])("are told of on the GET stream that is opened %s, until they end", async (when) => {
    const upstream = await upstreamOf(era);
    upstream.items.resource.push(resource("test://two"));
    const caller = await signedIn(await start(upstream));
    const early = when === "before" ? await listen(caller) : undefined;
    expect((await subscribe(caller, "test://one")).json["result"]).toEqual({});
    const stream = early ?? (await listen(caller));
    await told(upstream, "test://one");
    upstream.notify(updated, { uri: "test://two" });
    upstream.notify(updated, { uri: "test://one" });
    await stream.received(1);
    expect((await subscribe(caller, "test://two")).json["result"]).toEqual({});
    expect((await unsubscribe(caller, "test://one")).json["result"]).toEqual({});
    await told(upstream, "test://two");
    await told(upstream, "test://one", 0);
    upstream.notify(updated, { uri: "test://one" });
    upstream.notify(updated, { uri: "test://two" });
    await stream.received(2);
    expect(urisOn(stream)).toEqual(["test://one", "test://two"]);
  });

  it("reach that session alone", async () => {
    const upstream = await upstreamOf(era);
    const gateway = await start(upstream);
    const [alice, again, bob] = [
      await signedIn(gateway),
      await signedIn(gateway),
      await signedIn(gateway, { sub: "bob" }),
    ];
    const [hers, other, his] = [await listen(alice), await listen(again), await listen(bob)];
    await subscribe(alice, "test://one");
    await told(upstream, "test://one");
    upstream.notify(updated, { uri: "test://one" });
    await hers.received(1);
    await subscribe(bob, "test://one");
    await told(upstream, "test://one", 2);
    upstream.notify(updated, { uri: "test://one" });
    await his.received(1);
    await hers.received(2);
    expect([hers, other, his].map((stream) => stream.messages.length)).toEqual([2, 0, 1]);
  });

  it("of a template's resource, and of one within another, are named as the client names them", async () => {
    const upstream = await upstreamOf(era);
    const config = { servers: { alpha: { upstreams: { alpha: { prefix: "", uriPrefix: "crm+" } } } } };
    const caller = await signedIn(await start(upstream, { config }));
    const stream = await listen(caller);
    for (const uri of ["crm+test://one", "crm+test://rows/7"])
      expect((await subscribe(caller, uri)).json["result"]).toEqual({});
    expect((await subscribe(caller, "test://one")).json["error"]).toMatchObject({ code: -32002 });
    await told(upstream, "test://one");
    await told(upstream, "test://rows/7");
    for (const { wire, id, session } of upstream.listeners.filter((one) => !one.wire.closed)) {
      const meta = session === undefined ? { _meta: { "io.modelcontextprotocol/subscriptionId": id } } : {};
      const message = { jsonrpc: "2.0", method: updated, params: { uri: "test://rows/7/name", ...meta } };
      wire.chunk(`data: ${JSON.stringify(message)}\n\n`);
    }
    await stream.received(1);
    upstream.notify(updated, { uri: "test://one" });
    await stream.received(2);
    expect(urisOn(stream)).toEqual(["crm+test://rows/7/name", "crm+test://one"]);
  });

  it("are told of after the upstream's stream was lost, since nobody knows what was missed", async () => {
    const upstream = await upstreamOf(era);
    const caller = await signedIn(await start(upstream));
    const stream = await listen(caller);
    await subscribe(caller, "test://one");
    await told(upstream, "test://one");
    for (const { wire } of upstream.listeners) wire.reset();
    await stream.received(1);
    expect(urisOn(stream)).toEqual(["test://one"]);
  }, 20_000);

  it("end with the session", async () => {
    const upstream = await upstreamOf(era);
    const caller = await signedIn(await start(upstream));
    await listen(caller);
    await subscribe(caller, "test://one");
    await told(upstream, "test://one");
    await send({ port: caller.gateway.port, path: "/alpha/mcp", method: "DELETE", headers: legacyHeaders(caller) });
    await until(() => upstream.listeners.every(({ wire }) => wire.closed));
  });

  it("made at one replica are told of on the stream that another holds", async () => {
    const upstream = await upstreamOf(era);
    const shared = { redisUrl: redis.url, publicPort: await freePort() };
    const [here, there] = [await start(upstream, shared), await start(upstream, shared)];
    const caller = await signedIn(here);
    const stream = await listen(caller);
    await subscribe({ ...caller, gateway: there }, "test://one");
    await told(upstream, "test://one");
    upstream.notify(updated, { uri: "test://one" });
    await stream.received(1);
    await unsubscribe({ ...caller, gateway: there }, "test://one");
    await told(upstream, "test://one", 0);
    expect(urisOn(stream)).toEqual(["test://one"]);
  });
});

describe("resources/subscribe", () => {
  const rules = [
    { id: "all", effect: "allow", who: { anyone: true }, what: { anything: true } },
    { id: "hide", effect: "deny", who: { anyone: true }, what: { upstream: "alpha", resource: "test://one" } },
  ];
  it.each(["resources/subscribe", "resources/unsubscribe"])(
    "%s of a hidden resource is answered like one of an unknown",
    async (method) => {
      const upstream = await upstreamOf("legacy");
      upstream.items.template.splice(0);
      const caller = await signedIn(await start(upstream, { rules }));
      const texts = await Promise.all(
        ["test://one", "test://nil"].map(async (uri) => {
          const { text } = await legacyCall(caller, method, { uri });
          return text.replaceAll(uri, "URI").replace(/"ref":"[^"]*"/, "");
        }),
      );
      expect(texts[0]).toBe(texts[1]);
      expect(texts[0]).toContain('"code":-32002,"message":"Resource not found"');
      expect(upstream.count(method)).toBe(0);
    },
  );

  it.each(eras)("at a %s upstream that tells of no updates does not exist", async (era) => {
    const upstream = await upstreamOf(era, { declared: { resources: {} } });
    const caller = await signedIn(await start(upstream));
    expect((await subscribe(caller, "test://one")).json["error"]).toMatchObject({ code: -32601 });
    expect(upstream.count("resources/subscribe")).toBe(0);
  });

  it.each([{ uri: 7 }, {}])("with the parameters %o is refused", async (params) => {
    const caller = await signedIn(await start(await upstreamOf("legacy")));
    expect((await legacyCall(caller, "resources/subscribe", params)).json["error"]).toMatchObject({ code: -32602 });
  });

  it("that the upstream refuses is answered with its error, and not kept", async () => {
    const upstream = await upstreamOf("legacy", {
      first: ({ rpc }: ReceivedRequest, wire: Wire): boolean => {
        const refused = rpc["method"] === "resources/subscribe" && (rpc["params"] as Loose)["uri"] === "test://rows/1";
        if (refused)
          wire.json(200, { jsonrpc: "2.0", id: rpc["id"], error: { code: -32602, message: "not this one" } });
        return refused;
      },
    });
    const caller = await signedIn(await start(upstream));
    expect((await subscribe(caller, "test://rows/1")).json["error"]).toMatchObject({
      code: -32602,
      message: "not this one",
    });
    // The stream asks for all that is kept, in the order in which it was asked for.
    await listen(caller);
    await subscribe(caller, "test://rows/2");
    await until(
      () =>
        upstream.received.filter(({ rpc }) => (rpc["params"] as Loose | undefined)?.["uri"] === "test://rows/2")
          .length === 2,
    );
    const asked = upstream.received.filter(({ rpc }) => rpc["method"] === "resources/subscribe");
    expect(asked.map(({ rpc }) => (rpc["params"] as Loose)["uri"])).toEqual([
      "test://rows/1",
      "test://rows/2",
      "test://rows/2",
    ]);
  });

  it("beyond what a session may hold is refused, and one that ends makes room", async () => {
    const upstream = await upstreamOf("modern");
    const caller = await signedIn(await start(upstream));
    const uri = (at: number): string => `test://rows/${at}/${"x".repeat(8_000)}`;
    let taken = 0;
    let answer = await subscribe(caller, uri(taken));
    while (answer.json["error"] === undefined && taken < 100) answer = await subscribe(caller, uri((taken += 1)));
    expect([taken, refusalIn(answer).code]).toEqual([32, "SUBSCRIPTION_LIMIT_REACHED"]);
    await unsubscribe(caller, uri(0));
    expect((await subscribe(caller, uri(100))).json["result"]).toEqual({});
  });

  it("leaves evidence of the item, as a read does", async () => {
    const upstream = await upstreamOf("legacy");
    const gateway = await start(upstream);
    await subscribe(await signedIn(gateway), "test://one");
    const events = (): AuditEvent[] => gateway.audit().filter(({ method }) => method === "resources/subscribe");
    await until(() => events().length === 2);
    expect(events().map(({ type, item }) => [type, item?.name])).toEqual([
      ["attempted", "test://one"],
      ["returned", "test://one"],
    ]);
  });
});
