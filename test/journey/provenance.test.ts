import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { startRedis } from "../setup/redis.ts";
import type { RedisUnderTest } from "../setup/redis.ts";
import type { ReceivedRequest, Wire } from "../upstream/scripted-upstream.ts";
import { startGatewayUnderTest, startIssuer, until } from "./gateway-under-test.ts";
import { freePort } from "../setup/free-port.ts";
import type { GatewayOptions, GatewayUnderTest, IssuerUnderTest } from "./gateway-under-test.ts";
import type { Loose, Received } from "./http-client.ts";
import { resource, startListeningUpstream } from "./listening-bench.ts";
import type { ListeningUpstream } from "./listening-bench.ts";
import { legacyCall, modernCall, openSession, refusalIn } from "./wire-client.ts";
import type { Caller } from "./wire-client.ts";

type Era = "legacy" | "modern";

let issuer: IssuerUnderTest;
const leaving: { remove?: () => Promise<void>; close?: () => Promise<void>; stop?: () => Promise<void> }[] = [];

beforeAll(async () => {
  issuer = await startIssuer();
});

afterEach(async () => {
  for (const one of leaving.splice(0)) await (one.remove ?? one.close ?? one.stop)?.();
});

afterAll(() => issuer.close());

/** A resource whose contents name others. */
const naming = "test://naming";
const uriIn = (params: unknown): unknown => (params as Loose | undefined)?.["uri"];

/** A server of `era` whose tool, prompt and resource answer with what a test gives them. */
interface Naming {
  readonly upstream: ListeningUpstream;
  result: Loose;
  /** Its lists cannot be had. */
  isListless: boolean;
  /** Runs before a call is answered. */
  meanwhile: () => Promise<void>;
}

async function namingUpstream(era: Era): Promise<Naming> {
  const state = { result: {}, isListless: false, meanwhile: () => Promise.resolve() };
  const first = (request: ReceivedRequest, wire: Wire): boolean => {
    const { id, method, params } = request.rpc;
    const isNaming = method === "tools/call" || method === "prompts/get" || uriIn(params) === naming;
    const isFailing = state.isListless && String(method).endsWith("/list");
    if (isFailing) wire.respond(500, undefined, "");
    if (!isNaming) return isFailing;
    const more = era === "modern" ? { resultType: "complete", ttlMs: 0, cacheScope: "private" } : {};
    void state.meanwhile().then(() => {
      wire.json(200, { jsonrpc: "2.0", id, result: { ...state.result, ...more } });
    });
    return true;
  };
  const upstream = await startListeningUpstream(era, { first });
  upstream.items.resource.push(resource(naming));
  upstream.items.template.push({ uriTemplate: "test://rows/{id}", name: "rows" });
  leaving.push(upstream);
  return Object.assign(state, { upstream });
}

async function start(
  named: Readonly<Record<string, Naming>>,
  more: Partial<GatewayOptions> = {},
): Promise<GatewayUnderTest> {
  const upstreams = Object.fromEntries(Object.entries(named).map(([name, { upstream }]) => [name, upstream.url]));
  const prefixes = Object.fromEntries(Object.keys(named).map((name) => [name, `${name}_`]));
  const config = { servers: { s: partsOf(named), other: partsOf(named) } };
  const servers = { s: prefixes, other: prefixes };
  const gateway = await startGatewayUnderTest({ issuer, upstreams, servers, config, ...more });
  leaving.unshift(gateway);
  return gateway;
}

/** All upstreams list the same resources, so each has a prefix for its URIs. */
function partsOf(named: Readonly<Record<string, Naming>>, more: Loose = {}): Loose {
  const parts = Object.keys(named).map((name) => [name, { prefix: `${name}_`, uriPrefix: `${name}+`, ...more }]);
  return { upstreams: Object.fromEntries(parts) as Loose };
}

interface Client {
  readonly call: (method: string, params: Loose) => Promise<Received>;
}

async function client(
  gateway: GatewayUnderTest,
  era: Era,
  of: { server?: string; claims?: Loose } = {},
): Promise<Client> {
  const { server = "s", claims = {} } = of;
  const caller: Caller = { gateway, server, token: await issuer.mint(gateway.resource(server), claims) };
  if (era === "modern") return { call: (method, params) => modernCall(caller, method, params) };
  const session = await openSession(caller);
  return { call: (method, params) => legacyCall(session, method, params) };
}

const uri = "test://made/7";
const link = (to = uri): Loose => ({ type: "resource_link", uri: to, name: "made" });
const links = (...to: string[]): Loose => ({ content: to.map(link) });

const callTool = ({ call }: Client, name = "a_echo"): Promise<Received> => call("tools/call", { name, arguments: {} });
const read = ({ call }: Client, of = uri): Promise<Received> => call("resources/read", { uri: of });
const codeOf = (answer: Received): string => refusalIn(answer).code;

const readsAt = ({ upstream }: Naming, of = uri): number =>
  upstream.received.filter(({ rpc }) => rpc["method"] === "resources/read" && uriIn(rpc["params"]) === of).length;
/** An answer without what differs between any two of them. */
const blind = (answer: Received, of = uri): string =>
  answer.text.replace(codedRef(answer), "REF").replaceAll(of, "URI");
const codedRef = (answer: Received): string => refusalIn(answer).ref;

async function handOut(to: Client, by: Naming, result: Loose, name = "a_echo"): Promise<void> {
  by.result = result;
  expect(codeOf(await callTool(to, name))).toBe("");
}

const eras = ["legacy", "modern"] as const;
const hops = eras.flatMap((era) => eras.map((behind) => ({ era, behind })));
const contents = (of = uri): Loose => ({ contents: [{ uri: of, text: "content" }] });

describe.each(hops)("a resource that only a result names ($era client, $behind upstream)", ({ era, behind }) => {
  it.each([
    ["tools/call", { name: "a_echo", arguments: {} }, { content: [link()] }],
    [
      "tools/call",
      { name: "a_echo", arguments: {} },
      { content: [{ type: "resource", resource: { uri, text: "x" } }] },
    ],
    ["prompts/get", { name: "a_greet" }, { messages: [{ role: "user", content: link() }] }],
    ["resources/read", { uri: `a+${naming}` }, { contents: [{ uri, text: "x" }] }],
  ] as const)("can be read once it was named: %s", async (method, params, result) => {
    const a = await namingUpstream(behind);
    const alice = await client(await start({ a }), era);
    expect((await read(alice)).json["error"]).toBeDefined();
    a.result = result;
    expect((await alice.call(method, params)).json["result"]).toMatchObject(result);
    expect((await read(alice)).json["result"]).toMatchObject(contents());
    expect(readsAt(a)).toBe(1);
  });
});

describe.each(eras)("what a result named (%s client)", (era) => {
  it("is unknown to another principal and at another server, as if nobody had named it", async () => {
    const a = await namingUpstream("legacy");
    const gateway = await start({ a });
    await handOut(await client(gateway, era), a, links(uri));
    const strangers = [{ claims: { sub: "bob" } }, { claims: { client_id: "phone" } }, { server: "other" }];
    for (const of of strangers) {
      const stranger = await client(gateway, era, of);
      expect(blind(await read(stranger))).toBe(blind(await read(stranger, "test://never"), "test://never"));
    }
    expect(readsAt(a)).toBe(0);
    const again = await client(gateway, era);
    expect((await read(again)).json["result"]).toMatchObject(contents());
  });

  it.each([
    ["nothing allows", "test://other/7"],
    ["a rule denies", "test://made/secret"],
    ["a rule denies when dot segments are resolved", "test://made/x/../secret"],
  ])("and %s is hidden, answered like what does not exist", async (_, hidden) => {
    const a = await namingUpstream("modern");
    const rules = [
      { id: "tool", effect: "allow", who: { anyone: true }, what: { upstream: "a", tool: "*" } },
      { id: "made", effect: "allow", who: { anyone: true }, what: { upstream: "a", resource: "test://made/**" } },
      { id: "not", effect: "deny", who: { anyone: true }, what: { upstream: "a", resource: "test://made/secret" } },
    ];
    const gateway = await start({ a }, { rules });
    const alice = await client(gateway, era);
    await handOut(alice, a, links(uri, hidden));
    expect((await read(alice)).json["result"]).toMatchObject(contents());
    expect(blind(await read(alice, hidden), hidden)).toBe(blind(await read(alice, "test://never"), "test://never"));
    expect(readsAt(a, hidden)).toBe(0);
  });

  it("and the server hides by its URI stays unknown", async () => {
    const a = await namingUpstream("modern");
    const config = { servers: { s: partsOf({ a }, { hide: { resources: ["test://made/*"] } }) } };
    const alice = await client(await start({ a }, { config, servers: { s: { a: "" } } }), era);
    await handOut(alice, a, links(uri, "test://open"));
    expect((await read(alice, "test://open")).json["result"]).toMatchObject(contents("test://open"));
    expect((await read(alice)).json["error"]).toMatchObject({ data: { uri } });
    expect(readsAt(a)).toBe(0);
  });

  it("under the upstream's own name is what the list has under the server's", async () => {
    const a = await namingUpstream("legacy");
    const alice = await client(await start({ a }), era);
    await handOut(alice, a, links("test://one", "test://rows/7"));
    for (const own of ["test://one", "test://rows/7"])
      expect((await read(alice, own)).json["result"]).toMatchObject(contents(own));
  });

  it("and a template covers is no way around the template", async () => {
    const a = await namingUpstream("modern");
    const rules = [
      { id: "all", effect: "allow", who: { anyone: true }, what: { anything: true } },
      { id: "not", effect: "deny", who: { anyone: true }, what: { upstream: "a", template: "test://rows/{id}" } },
    ];
    const alice = await client(await start({ a }, { rules }), era);
    await handOut(alice, a, links(uri, "test://rows/7"));
    expect((await read(alice)).json["result"]).toMatchObject(contents());
    expect((await read(alice, "test://rows/7")).json["error"]).toMatchObject({ data: { uri: "test://rows/7" } });
    expect(readsAt(a, "test://rows/7")).toBe(0);
  });

  it("leads to the upstream that named it; named by two of them it leads to neither", async () => {
    const [a, b] = [await namingUpstream("modern"), await namingUpstream("legacy")];
    const alice = await client(await start({ a, b }), era);
    await handOut(alice, a, links(uri));
    expect((await read(alice)).json["result"]).toMatchObject(contents());
    expect([readsAt(a), readsAt(b)]).toEqual([1, 0]);
    await handOut(alice, b, links(uri), "b_echo");
    expect(codeOf(await read(alice))).toBe("CATALOG_ITEM_COLLIDED");
    expect([readsAt(a), readsAt(b)]).toEqual([1, 0]);
  });

  it("is not taken away by an upstream of which the principal may read no such thing", async () => {
    const [a, b] = [await namingUpstream("modern"), await namingUpstream("legacy")];
    const rules = [
      { id: "tools", effect: "allow", who: { anyone: true }, what: { tool: "*" } },
      { id: "made", effect: "allow", who: { anyone: true }, what: { upstream: "a", resource: "test://made/**" } },
    ];
    const alice = await client(await start({ a, b }, { rules }), era);
    await handOut(alice, a, links(uri));
    await handOut(alice, b, links(uri), "b_echo");
    expect((await read(alice)).json["result"]).toMatchObject(contents());
    expect([readsAt(a), readsAt(b)]).toEqual([1, 0]);
  });

  it("and another upstream lists is that one's, whoever named it", async () => {
    const [a, b] = [await namingUpstream("modern"), await namingUpstream("modern")];
    b.upstream.items.resource.push(resource(uri));
    const parts = { a: { prefix: "a_", uriPrefix: "a+" }, b: { prefix: "b_" } };
    const options = { config: { servers: { s: { upstreams: parts } } }, servers: { s: { a: "", b: "" } } };
    const alice = await client(await start({ a, b }, options), era);
    await handOut(alice, a, links(uri));
    expect((await read(alice)).json["result"]).toMatchObject(contents());
    expect([readsAt(a), readsAt(b)]).toEqual([0, 1]);
  });

  it("can be read for linkProvenanceMs", async () => {
    const a = await namingUpstream("modern");
    const config = { limits: { linkProvenanceMs: 1_000 }, servers: { s: partsOf({ a }) } };
    const alice = await client(await start({ a }, { config, servers: { s: { a: "" } } }), era);
    await handOut(alice, a, links(uri));
    // Asking again and again would not do: what can be read is named by its own contents.
    await new Promise((resolve) => setTimeout(resolve, 1_050));
    expect((await read(alice)).json["error"]).toMatchObject({ data: { uri } });
  });

  it("waits for the upstream's lists, which may say otherwise", async () => {
    const a = await namingUpstream("modern");
    const limits = { catalogAgeMsMax: 0, catalogStaleMsMax: 0 };
    const gateway = await start(
      { a },
      { config: { limits, servers: { s: partsOf({ a }) } }, servers: { s: { a: "" } } },
    );
    const alice = await client(gateway, era);
    await handOut(alice, a, links(uri));
    a.isListless = true;
    await until(async () => codeOf(await alice.call("tools/list", {})) === "CATALOG_UNAVAILABLE");
    const before = readsAt(a);
    expect(codeOf(await read(alice))).toBe("CATALOG_UNAVAILABLE");
    expect(readsAt(a)).toBe(before);
  });

  it("in a result that is withheld was not named", async () => {
    const a = await namingUpstream("modern");
    a.upstream.items.tool.push({ ...a.upstream.items.tool[0], name: "strict", outputSchema: { type: "object" } });
    const alice = await client(await start({ a }), era);
    a.result = links(uri);
    expect(codeOf(await callTool(alice, "a_strict"))).toBe("RESULT_INVALID");
    expect((await read(alice)).json["error"]).toMatchObject({ data: { uri } });
  });

  it("is readable as far as linksNotedPerResultMax goes", async () => {
    const a = await namingUpstream("modern");
    const alice = await client(await start({ a }), era);
    const many = Array.from({ length: 201 }, (_, at) => `test://made/${at}`);
    await handOut(alice, a, links(...many));
    expect((await read(alice, "test://made/199")).json["result"]).toMatchObject(contents("test://made/199"));
    expect((await read(alice, "test://made/200")).json["error"]).toMatchObject({ data: { uri: "test://made/200" } });
  });

  it("and has a public address as a file is no resource", async () => {
    const a = await namingUpstream("modern");
    const upstream = { url: a.upstream.url, files: { routes: ["/reports/*"], types: ["application/pdf"] } };
    const gateway = await start({ a }, { upstreams: { a: upstream } });
    const alice = await client(gateway, era);
    const own = `${new URL(a.upstream.url).origin}/reports/7.pdf`;
    const given = `${gateway.publicUrl}/files/s/a/reports/7.pdf`;
    a.result = links(own);
    expect((await callTool(alice)).json["result"]).toMatchObject(links(given));
    for (const address of [own, given])
      expect((await read(alice, address)).json["error"]).toMatchObject({ data: { uri: address } });
  });
});

describe("a legacy client", () => {
  it.each(eras)("can subscribe to what a result of a %s upstream named", async (behind) => {
    const a = await namingUpstream(behind);
    const alice = await client(await start({ a }), "legacy");
    expect((await alice.call("resources/subscribe", { uri })).json["error"]).toMatchObject({ data: { uri } });
    await handOut(alice, a, links(uri));
    expect((await alice.call("resources/subscribe", { uri })).json["result"]).toEqual({});
  });
});

describe.each(eras)("with a store that replicas share (%s client)", (era) => {
  let redis: RedisUnderTest;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.stop());

  it("what a result named through one of them is read through the other", async () => {
    const a = await namingUpstream("modern");
    const shared = { redisUrl: redis.url, publicPort: await freePort() };
    const [one, two] = [await start({ a }, shared), await start({ a }, shared)];
    await handOut(await client(one, era), a, links(uri));
    expect((await read(await client(two, era))).json["result"]).toMatchObject(contents());
    expect((await read(await client(two, era, { claims: { sub: "bob" } }))).json["error"]).toBeDefined();
  });

  it("a result is delivered when the store fails meanwhile, and what it named stays unknown", async () => {
    const a = await namingUpstream("modern");
    const gateway = await start({ a }, { redisUrl: redis.url });
    const alice = await client(gateway, era);
    a.meanwhile = () => redis.kill();
    a.result = links(uri);
    expect((await callTool(alice)).json["result"]).toMatchObject(links(uri));
    expect(gateway.log.filter((line) => line.includes("links of a result"))).toHaveLength(1);
    await redis.restart();
    const reader = async (): Promise<Received | undefined> => {
      // The session went with the store.
      const again = await client(gateway, era).catch(() => undefined);
      return again === undefined ? undefined : read(again);
    };
    await until(async () => ((await reader())?.status ?? 503) < 500);
    expect((await reader())?.json["error"]).toMatchObject({ data: { uri } });
  });
});
