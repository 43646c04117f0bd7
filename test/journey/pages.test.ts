import { createHash, randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { keyFrom } from "../../src/compose-keeping.ts";
import { Secret } from "../../src/config/secret.ts";
import { createSealing } from "../../src/gateway/create-sealing.ts";
import { limits } from "../../src/model/limits.ts";
import { startScriptedUpstream } from "../upstream/scripted-upstream.ts";
import type { ScriptedUpstream } from "../upstream/scripted-upstream.ts";
import { startGatewayUnderTest, startIssuer, until } from "./gateway-under-test.ts";
import type { GatewayUnderTest, IssuerUnderTest } from "./gateway-under-test.ts";
import type { Loose, Received } from "./http-client.ts";
import { errorCodeIn, legacyCall, modernCall, openSession, refusalIn } from "./wire-client.ts";
import type { Caller } from "./wire-client.ts";

const sessionKey = createHash("sha256").update("pages").digest("hex");
const perPage = 4;

const kinds = [
  ["tools/list", "tools", "name", (name: string): Loose => ({ name, inputSchema: { type: "object" } })],
  ["prompts/list", "prompts", "name", (name: string): Loose => ({ name })],
  ["resources/list", "resources", "uri", (name: string): Loose => ({ name, uri: `x://${name}` })],
  [
    "resources/templates/list",
    "resourceTemplates",
    "uriTemplate",
    (name: string): Loose => ({ name, uriTemplate: `t://${name}/{id}` }),
  ],
] as const;

/** What the upstream has of every kind, in its own order, which is not that of the names. */
let names: readonly string[] = [];
const many = ["m", "c", "x", "a", "q", "b", "z", "k", "d", "y"];

let issuer: IssuerUnderTest;
let upstream: ScriptedUpstream;
let gateway: GatewayUnderTest;
let replica: GatewayUnderTest;

beforeAll(async () => {
  issuer = await startIssuer();
  upstream = await startScriptedUpstream({
    era: "both",
    capabilities: { tools: {}, prompts: {}, resources: {} },
  });
  upstream.script(({ rpc }, wire) => {
    const kind = kinds.find(([method]) => method === rpc["method"]);
    if (kind === undefined) return false;
    const [, member, , item] = kind;
    wire.json(200, {
      jsonrpc: "2.0",
      id: rpc["id"],
      result: { resultType: "complete", ttlMs: 0, cacheScope: "private", [member]: names.map(item) },
    });
    return true;
  });
  const options = {
    issuer,
    sessionKey,
    upstreams: { up: upstream.url },
    servers: { one: { up: "" }, two: { up: "" } },
    config: { limits: { listItemsPerPageMax: perPage, catalogAgeMsMax: 0 } },
  };
  gateway = await startGatewayUnderTest(options);
  replica = await startGatewayUnderTest(options);
});

afterAll(async () => {
  await gateway.remove();
  await replica.remove();
  await upstream.close();
  await issuer.close();
});

/** Changes what the upstream has, and waits until the gateway knows: it serves what it knew while it reads anew. */
async function have(now: readonly string[], at = gateway): Promise<void> {
  names = now;
  const anybody = { gateway: at, server: "one", token: await issuer.mint(at.resource("one"), { sub: "anybody" }) };
  const wanted = [...now].sort().join();
  await until(async () => (await walk(anybody, "tools/list", "tools")).flat().sort().join() === wanted);
}

async function client(
  era: string,
  more: { sub?: string; server?: string; at?: GatewayUnderTest } = {},
): Promise<Caller> {
  const { sub = "alice", server = "one", at = gateway } = more;
  const caller = { gateway: at, server, token: await issuer.mint(at.resource(server), { sub }) };
  return era === "legacy" ? openSession(caller) : caller;
}

function list(caller: Caller, method: string, cursor?: unknown): Promise<Received> {
  const params = cursor === undefined ? {} : { cursor };
  return caller.session === undefined ? modernCall(caller, method, params) : legacyCall(caller, method, params);
}

function resultOf({ json }: Received): Loose {
  return json["result"] as Loose;
}

function namesIn(answer: Received, member: string): unknown[] {
  return (resultOf(answer)[member] as Loose[]).map(({ name }) => name);
}

async function walk(caller: Caller, method: string, member: string): Promise<unknown[][]> {
  const pages: unknown[][] = [];
  let cursor: unknown;
  do {
    const answer = await list(caller, method, cursor);
    pages.push(namesIn(answer, member));
    cursor = resultOf(answer)["nextCursor"];
  } while (cursor !== undefined && pages.length < 50);
  return pages;
}

async function firstCursor(caller: Caller, method = "tools/list"): Promise<string> {
  await have(many);
  return resultOf(await list(caller, method))["nextCursor"] as string;
}

describe.each(["legacy", "modern"])("a list towards a %s client", (era) => {
  it.each(kinds)("%s: what fits is one page, in the upstream's order, without a cursor", async (method, member) => {
    await have(many.slice(0, perPage));
    const answer = await list(await client(era), method);
    expect(namesIn(answer, member)).toEqual(names);
    expect(resultOf(answer)).not.toHaveProperty("nextCursor");
  });

  it.each(kinds)("%s: one more makes two pages, and every item comes once", async (method, member) => {
    await have(many.slice(0, perPage + 1));
    const pages = await walk(await client(era), method, member);
    expect(pages.map((page) => page.length)).toEqual([perPage, 1]);
    expect(pages.flat()).toEqual([...names].sort());
  });

  it.each(kinds)(
    "%s: three pages, the last of them not full, are in the order of the names",
    async (method, member) => {
      await have(many);
      const pages = await walk(await client(era), method, member);
      expect(pages.map((page) => page.length)).toEqual([perPage, perPage, 2]);
      expect(pages.flat()).toEqual([...many].sort());
    },
  );

  it("has cursors that show nothing of what they mean", async () => {
    const cursor = await firstCursor(await client(era));
    expect(cursor).toMatch(/^v1\./);
    expect(Buffer.from(cursor.split(".").at(-1)!, "base64url").toString("latin1")).not.toContain("alice");
  });

  it("goes on after the item that a cursor named, though that item is gone and others have come", async () => {
    const caller = await client(era);
    const cursor = await firstCursor(caller);
    // The first page was a, b, c, d. Of these d is gone, and so is k; e is new.
    await have(["z", "y", "e", "x", "q", "m", "c", "b", "a"]);
    const second = await list(caller, "tools/list", cursor);
    expect(namesIn(second, "tools")).toEqual(["e", "m", "q", "x"]);
    const third = await list(caller, "tools/list", resultOf(second)["nextCursor"]);
    expect(namesIn(third, "tools")).toEqual(["y", "z"]);
    expect(resultOf(third)).not.toHaveProperty("nextCursor");
  });

  it("ends with an empty page when all that was to follow is gone", async () => {
    const caller = await client(era);
    const cursor = await firstCursor(caller);
    await have(["a", "b"]);
    const answer = await list(caller, "tools/list", cursor);
    expect(resultOf(answer)["tools"]).toEqual([]);
    expect(resultOf(answer)).not.toHaveProperty("nextCursor");
  });

  it("takes its cursors as often as they are shown", async () => {
    const caller = await client(era);
    const cursor = await firstCursor(caller);
    const [once, twice] = [await list(caller, "tools/list", cursor), await list(caller, "tools/list", cursor)];
    expect(namesIn(once, "tools")).toEqual(namesIn(twice, "tools"));
  });
});

function sealedAs(more: { principalKey?: string; ttlMs: number; secret?: string }): string {
  const sealing = createSealing({
    keys: { current: keyFrom("sealing", new Secret(more.secret ?? sessionKey)), previous: [] },
    random: randomBytes,
    now: Date.now,
    sealedHandleCharsMax: limits.sealedHandleCharsMax,
  });
  const principalKey = JSON.stringify(["default", issuer.origin, "human", "alice", "desktop"]);
  const whose = { tenant: "default", server: "one", principalKey };
  return sealing.seal({ purpose: "cursor", ...whose, upstream: "", item: "tools/list", args: "" }, "b", more.ttlMs);
}

const foreign: readonly (readonly [law: string, cursor: (caller: Caller, era: string) => Promise<unknown>])[] = [
  ["of another principal", async (_own, era) => firstCursor(await client(era, { sub: "bob" }))],
  ["of another server", async (_own, era) => firstCursor(await client(era, { server: "two" }))],
  ["of another list", async (own) => firstCursor(own, "prompts/list")],
  ["that is altered", async (own) => (await firstCursor(own)).replace(/.$/, (last) => (last === "A" ? "B" : "A"))],
  ["that is cut off", async (own) => (await firstCursor(own)).slice(0, -4)],
  ["that has expired", () => Promise.resolve(sealedAs({ ttlMs: -1 }))],
  ["of another deployment", () => Promise.resolve(sealedAs({ ttlMs: 60_000, secret: "f".repeat(64) }))],
  ["that is an item's name", () => Promise.resolve("a")],
  ["that is empty", () => Promise.resolve("")],
  ["that is a number", () => Promise.resolve(4)],
  ["that is null", () => Promise.resolve(null)],
  ["that is longer than any", () => Promise.resolve(`v1.k.${"A".repeat(300_000)}`)],
];

describe.each(["legacy", "modern"])("a cursor that a %s client shows", (era) => {
  it.each(foreign)("%s is refused as CURSOR_INVALID, like every other", async (_law, make) => {
    const caller = await client(era);
    const answer = await list(caller, "tools/list", await make(caller, era));
    expect([errorCodeIn(answer), refusalIn(answer).code]).toEqual([-32602, "CURSOR_INVALID"]);
    expect((answer.json["error"] as Loose)["message"]).toBe("The cursor is not valid here.");
  });
});

it("a cursor that would open, were it not refused for its bound, opens", async () => {
  await have(many);
  const answer = await list(await client("modern"), "tools/list", sealedAs({ ttlMs: 60_000 }));
  expect(namesIn(answer, "tools")).toEqual(["c", "d", "k", "m"]);
});

it("a cursor of one replica is good at the other, which has the same key", async () => {
  const cursor = await firstCursor(await client("modern"));
  await have(many, replica);
  const answer = await list(await client("modern", { at: replica }), "tools/list", cursor);
  expect(namesIn(answer, "tools")).toEqual(["k", "m", "q", "x"]);
});

it("a page is bounded in bytes too, and nothing is lost by that", async () => {
  const text = "t".repeat(limits.parameterDescriptionCharsMax - 1);
  const properties = Object.fromEntries(
    Array.from({ length: 15 }, (_, at) => [`p${String(at)}`, { type: "string", description: text }]),
  );
  const tools = Array.from({ length: 40 }, (_, at) => ({
    name: `t${String(at).padStart(2, "0")}`,
    inputSchema: { type: "object", properties },
  }));
  const large = await startScriptedUpstream({ tools });
  const bench = await startGatewayUnderTest({ upstreams: { up: large.url }, servers: { s: { up: "" } } });
  const caller = { gateway: bench, server: "s" };
  const first = await list(caller, "tools/list");
  expect(first.text.length).toBeLessThan(limits.listPageBytesMax + 10_000);
  const pages = await walk(caller, "tools/list", "tools");
  expect(pages).toHaveLength(2);
  expect(pages.flat()).toEqual(tools.map(({ name }) => name));
  await bench.remove();
  await large.close();
});
