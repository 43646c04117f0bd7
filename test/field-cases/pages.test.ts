import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { startGatewayUnderTest, startIssuer } from "../journey/gateway-under-test.ts";
import type { GatewayUnderTest, IssuerUnderTest } from "../journey/gateway-under-test.ts";
import type { Loose, Received } from "../journey/http-client.ts";
import { errorCodeIn, legacyCall, modernCall, openSession, refusalIn } from "../journey/wire-client.ts";
import type { Caller } from "../journey/wire-client.ts";
import { startScriptedUpstream } from "../upstream/scripted-upstream.ts";
import type { ScriptedUpstream } from "../upstream/scripted-upstream.ts";

/** Per kind of item: its method, its member, and the item of a name. */
const kinds = [
  {
    method: "tools/list",
    member: "tools",
    key: "name",
    item: (name: string) => ({ name, inputSchema: { type: "object" } }),
  },
  { method: "prompts/list", member: "prompts", key: "name", item: (name: string) => ({ name }) },
  { method: "resources/list", member: "resources", key: "uri", item: (name: string) => ({ uri: `x://${name}`, name }) },
  {
    method: "resources/templates/list",
    member: "resourceTemplates",
    key: "uriTemplate",
    item: (name: string) => ({ uriTemplate: `t://${name}/{id}`, name }),
  },
] as const;

interface Page {
  readonly names: readonly string[];
  readonly nextCursor?: unknown;
}

/** What stands behind each cursor; "" is the first page. */
type Book = (cursor: string) => Page;

/** Three pages, of which the second holds nothing that anybody may see. An empty cursor is a cursor like any other. */
const threePages: Book = (cursor) => {
  if (cursor === "") return { names: ["zeta", "beta"], nextCursor: "page two/+=" };
  return cursor === "page two/+="
    ? { names: ["hidden_one", "hidden_two"], nextCursor: "3" }
    : { names: ["alpha", "hidden_three"] };
};

let issuer: IssuerUnderTest;
const closing: (() => Promise<void>)[] = [];

beforeAll(async () => {
  issuer = await startIssuer();
});

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

afterAll(() => issuer.close());

const visible = ["zeta", "beta", "alpha"];
const rules = [
  ...["tool", "prompt"].map((kind) => ({
    id: kind,
    effect: "allow",
    who: { anyone: true },
    what: { upstream: "book", [kind]: visible },
  })),
  {
    id: "r",
    effect: "allow",
    who: { anyone: true },
    what: { upstream: "book", resource: visible.map((name) => `x://${name}`) },
  },
  {
    id: "t",
    effect: "allow",
    who: { anyone: true },
    what: { upstream: "book", template: visible.map((name) => `t://${name}/{id}`) },
  },
];

async function startBook(
  book: Book,
  config: Loose = {},
): Promise<{ gateway: GatewayUnderTest; upstream: ScriptedUpstream }> {
  const upstream = await startScriptedUpstream({ capabilities: { tools: {}, prompts: {}, resources: {} } });
  upstream.script(({ rpc }, wire) => {
    const kind = kinds.find(({ method }) => method === rpc["method"]);
    if (kind === undefined) return false;
    const cursor = (rpc["params"] as Loose)["cursor"];
    const { names, nextCursor } = book(typeof cursor === "string" ? cursor : "");
    const more = nextCursor === undefined ? {} : { nextCursor };
    const list = { [kind.member]: names.map(kind.item), ...more };
    const form = { resultType: "complete", ttlMs: 0, cacheScope: "private" };
    wire.json(200, { jsonrpc: "2.0", id: rpc["id"], result: { ...list, ...form } });
    return true;
  });
  const gateway = await startGatewayUnderTest({
    issuer,
    upstreams: { book: upstream.url },
    servers: { book: { book: "" } },
    rules,
    config,
  });
  closing.push(async () => {
    await gateway.remove();
    await upstream.close();
  });
  return { gateway, upstream };
}

async function callerOf(gateway: GatewayUnderTest, sub: string): Promise<Caller> {
  return { gateway, server: "book", token: await issuer.mint(gateway.resource("book"), { sub }) };
}

type List = (params: Loose) => Promise<Received>;

/** All that a client gets who follows cursors to the end, and how many pages that took. */
async function followed(list: List, member: string, key: string): Promise<{ names: unknown[]; pages: number }> {
  const names: unknown[] = [];
  let cursor: unknown;
  for (let pages = 1; pages <= 20; pages += 1) {
    const { json } = await list(cursor === undefined ? {} : { cursor });
    const result = json["result"] as Loose;
    names.push(...(result[member] as Loose[]).map((item) => item[key]));
    cursor = result["nextCursor"];
    if (cursor === undefined) return { names, pages };
    // An empty text is read by some clients as the end, and by others as the first page.
    expect(cursor).not.toBe("");
    expect(typeof cursor).toBe("string");
  }
  throw new Error("the list has no end");
}

describe("an upstream with three pages, one of them entirely hidden", () => {
  it.each(kinds)(
    "$method: clients of both eras get the union once, in the upstream's order",
    async ({ method, member, key, item }) => {
      const { gateway } = await startBook(threePages);
      const caller = await callerOf(gateway, "alice");
      const session = await openSession(caller);
      const expected = visible.map((name) => (item(name) as Loose)[key]);
      for (const list of [
        (params: Loose) => modernCall(caller, method, params),
        (params: Loose) => legacyCall(session, method, params),
      ])
        expect((await followed(list, member, key)).names).toEqual(expected);
    },
  );

  it("is asked for each page once for all clients, with its own cursor byte by byte", async () => {
    const { gateway, upstream } = await startBook(threePages);
    for (const sub of ["alice", "bob"]) await modernCall(await callerOf(gateway, sub), "tools/list");
    const cursors = upstream.received
      .filter(({ rpc }) => rpc["method"] === "tools/list")
      .map(({ rpc }) => (rpc["params"] as Loose)["cursor"]);
    expect(cursors).toEqual([undefined, "page two/+=", "3"]);
  });
});

describe("an upstream whose list does not end", () => {
  it.each<[why: string, book: Book, pages: number]>([
    ["repeats its cursor", () => ({ names: ["alpha"], nextCursor: "again" }), 3],
    ["goes round in a circle", (cursor) => ({ names: [], nextCursor: cursor === "a" ? "b" : "a" }), 4],
    ["has a million pages", (cursor) => ({ names: [], nextCursor: String(Number(cursor) + 1) }), 51],
    ["gives a cursor that is no text", () => ({ names: ["alpha"], nextCursor: 7 }), 1],
  ])("because it %s: the list is an error within the bound, and never empty", async (_why, book, pages) => {
    const { gateway, upstream } = await startBook(book, { limits: { listPagesMax: 50 } });
    const answer = await modernCall(await callerOf(gateway, "alice"), "tools/list");
    expect([errorCodeIn(answer), refusalIn(answer).code]).toEqual([-32603, "CATALOG_UNAVAILABLE"]);
    const asked = upstream.received.filter(({ rpc }) => rpc["method"] === "tools/list").length;
    expect(asked).toBeLessThanOrEqual(pages);
  });

  it.each([null, undefined])("%j for a next cursor is the end", async (nextCursor) => {
    const { gateway } = await startBook(() => ({ names: ["alpha"], nextCursor }));
    const list = await callerOf(gateway, "alice");
    expect((await followed((params) => modernCall(list, "tools/list", params), "tools", "name")).names).toEqual([
      "alpha",
    ]);
  });
});

describe("a list that is longer than a page", () => {
  const config = { limits: { listItemsPerPageMax: 2 } };
  const names = ["alpha", "beta", "zeta"];

  it.each(kinds)(
    "$method: followed to its end has every item once, for each principal",
    async ({ method, member, key, item }) => {
      const { gateway } = await startBook(threePages, config);
      for (const sub of ["alice", "bob"]) {
        const caller = await callerOf(gateway, sub);
        const { names: found, pages } = await followed((params) => modernCall(caller, method, params), member, key);
        expect(found).toEqual(names.map((name) => (item(name) as Loose)[key]));
        expect(pages).toBe(2);
      }
    },
  );

  it("gives cursors that tell nothing", async () => {
    const { gateway } = await startBook(threePages, config);
    const { cursor } = await cursorOf(await callerOf(gateway, "alice"), "tools/list");
    expect(cursor).not.toMatch(/alpha|beta|zeta|hidden|book/);
    expect(Buffer.from(cursor, "base64url").toString("latin1")).not.toMatch(/alpha|beta|zeta|hidden|book/);
  });
});

async function cursorOf(caller: Caller, method: string): Promise<{ cursor: string; first: Received }> {
  const first = await modernCall(caller, method);
  return { cursor: String((first.json["result"] as Loose)["nextCursor"]), first };
}

describe("a cursor of the client's", () => {
  it.each([["garbage"], [""], ["page two/+="], ["v1.x.y.z"], [7], [null], [{}]])(
    "that nobody gave out, %j, is refused with -32602",
    async (cursor) => {
      const { gateway } = await startBook(threePages);
      const answer = await modernCall(await callerOf(gateway, "alice"), "tools/list", { cursor });
      expect([errorCodeIn(answer), answer.json["result"]]).toEqual([-32602, undefined]);
    },
  );

  it("of another principal, another list or another server is refused like one nobody gave out", async () => {
    const { gateway } = await startBook(threePages, {
      limits: { listItemsPerPageMax: 2 },
      servers: { book: { upstreams: { book: {} } }, other: { upstreams: { book: {} } } },
    });
    const alice = await callerOf(gateway, "alice");
    const { cursor } = await cursorOf(alice, "tools/list");
    const other = { gateway, server: "other", token: await issuer.mint(gateway.resource("other"), { sub: "alice" }) };
    const refused = [
      await modernCall(await callerOf(gateway, "bob"), "tools/list", { cursor }),
      await modernCall(alice, "prompts/list", { cursor }),
      await modernCall(other, "tools/list", { cursor }),
      await modernCall(alice, "tools/list", { cursor: `${cursor}A` }),
    ];
    const unknown = dataOf(await modernCall(alice, "tools/list", { cursor: "nobody's" }));
    for (const answer of refused) {
      expect(errorCodeIn(answer)).toBe(-32602);
      expect(dataOf(answer)).toEqual(unknown);
    }
    // Its owner's it still is, in either era.
    expect((await modernCall(alice, "tools/list", { cursor })).json["result"]).toBeDefined();
    expect((await legacyCall(await openSession(alice), "tools/list", { cursor })).json["result"]).toBeDefined();
  });
});

/** What an error says beside its code, but for the reference, which is another each time. */
function dataOf({ json }: Received): [string, unknown][] {
  const data = (json["error"] as Loose)["data"] as Loose;
  return Object.entries(data).filter(([key]) => key !== "ref");
}
