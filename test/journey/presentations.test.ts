import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ScriptedUpstream } from "../upstream/scripted-upstream.ts";
import { startGatewayUnderTest, startIssuer, until } from "./gateway-under-test.ts";
import type { GatewayUnderTest, IssuerUnderTest } from "./gateway-under-test.ts";
import type { Loose, Received } from "./http-client.ts";
import { startListingUpstream, used } from "./listing-upstream.ts";
import { legacyCall, modernCall, openSession, type Caller } from "./wire-client.ts";

const inputSchema = { type: "object" };
const tool = (name: string): Loose => ({ name, title: `The ${name}`, description: `Does ${name}.`, inputSchema });

const groups = { reader: ["readers"], lead: ["readers", "leads"], stranger: ["others"] };
type Who = keyof typeof groups;
const eras = ["legacy", "modern"] as const;
type Era = (typeof eras)[number];
const everybody = eras.flatMap((era) => (["reader", "lead", "stranger"] as const).map((who) => [era, who] as const));

let issuer: IssuerUnderTest;
let upstream: ScriptedUpstream;
let gateway: GatewayUnderTest;
const callers = new Map<string, Caller>();

beforeAll(async () => {
  upstream = await startListingUpstream({
    tools: [tool("get"), tool("drop"), tool("rare")],
    prompts: [{ name: "greet", description: "Greets." }],
    resources: [
      { uri: "docs://open", name: "open" },
      { uri: "docs://inner/plan", name: "plan" },
    ],
    resourceTemplates: [{ uriTemplate: "notes://{id}", name: "notes" }],
    instructions: "The upstream's words.",
    linked: ["docs://inner/unlisted"],
  });
  issuer = await startIssuer();
  gateway = await startGatewayUnderTest({
    issuer,
    upstreams: { crm: upstream.url },
    servers: {},
    rules: [
      { id: "most", effect: "allow", who: { anyone: true }, what: { upstream: "crm" } },
      { id: "no-drop", effect: "deny", who: { groups: ["corp:others"] }, what: { upstream: "crm", tool: "drop" } },
    ],
    config: {
      servers: {
        s: {
          instructions: "The server's words.",
          upstreams: { crm: { prefix: "crm_", describe: { tools: { get: "Described by the server." } } } },
          presentations: [
            {
              id: "for-leads",
              who: { groups: ["corp:leads"] },
              rank: 1,
              // Each bears the other's name: whoever judges by what is shown judges the wrong one.
              rename: { crm: { tools: { get: "crm_drop", drop: "crm_get" } } },
              hide: { crm: { resources: ["docs://inner/*"], templates: ["notes://{id}"] } },
            },
            {
              id: "for-readers",
              who: { groups: ["corp:readers"] },
              rename: { crm: { tools: { get: "look" }, prompts: { greet: "hello" } } },
              title: { crm: { tools: { get: "Look" }, resources: { "docs://open": "Open to all" } } },
              describe: { crm: { tools: { get: "Looks it up." }, prompts: { greet: "Says hello." } } },
              hide: { crm: { tools: ["ra*"] } },
              instructions: "Words for readers.",
            },
          ],
        },
      },
    },
  });
  for (const [era, who] of everybody) {
    const token = await issuer.mint(gateway.resource("s"), { sub: who, groups: groups[who] });
    const caller = { gateway, server: "s", token };
    callers.set(`${era} ${who}`, era === "legacy" ? await openSession(caller) : caller);
  }
});

afterAll(async () => {
  await gateway.remove();
  await upstream.close();
  await issuer.close();
});

function ask(era: Era, who: Who, method: string, params: Loose = {}): Promise<Received> {
  const caller = callers.get(`${era} ${who}`);
  if (caller === undefined) throw new Error("nobody");
  return era === "legacy" ? legacyCall(caller, method, params) : modernCall(caller, method, params);
}

async function listed(era: Era, who: Who, method: string): Promise<readonly Loose[]> {
  const { json } = await ask(era, who, method);
  return Object.values(json["result"] as Loose).find(Array.isArray) as readonly Loose[];
}

async function names(era: Era, who: Who, method: string): Promise<readonly unknown[]> {
  return (await listed(era, who, method)).map((item) => item["uri"] ?? item["uriTemplate"] ?? item["name"]);
}

/** What the upstream was asked for during `work`: whoever has a result has it from there. */
async function reaching(work: () => Promise<unknown>): Promise<readonly unknown[]> {
  const before = used(upstream).length;
  await work();
  return used(upstream)
    .slice(before)
    .map(([method, name]) => [method, name]);
}

describe.each(eras)("a principal's own names for a server, in the %s era", (era) => {
  it("are what its lists show, and nobody else's", async () => {
    expect(await names(era, "reader", "tools/list")).toEqual(["look", "crm_drop"]);
    expect(await names(era, "lead", "tools/list")).toEqual(["crm_drop", "crm_get", "crm_rare"]);
    expect(await names(era, "stranger", "tools/list")).toEqual(["crm_get", "crm_rare"]);
    expect(await names(era, "reader", "prompts/list")).toEqual(["hello"]);
    expect(await names(era, "stranger", "prompts/list")).toEqual(["crm_greet"]);
  });

  it("come with titles and descriptions, the nearest word first", async () => {
    const [look] = await listed(era, "reader", "tools/list");
    expect(look).toMatchObject({ name: "look", title: "Look", description: "Looks it up." });
    const [get] = await listed(era, "stranger", "tools/list");
    expect(get).toMatchObject({ title: "The get", description: "Described by the server." });
    const [swapped] = await listed(era, "lead", "tools/list");
    expect(swapped).toMatchObject({ name: "crm_drop", description: "Described by the server." });
    const [open] = await listed(era, "reader", "resources/list");
    expect(open).toMatchObject({ uri: "docs://open", title: "Open to all" });
    expect((await listed(era, "reader", "prompts/list"))[0]).toMatchObject({ description: "Says hello." });
  });

  it("lead to the item whose they are, under its own name", async () => {
    expect(await reaching(() => ask(era, "reader", "tools/call", { name: "look", arguments: {} }))).toEqual([
      ["tools/call", "get"],
    ]);
    expect(await reaching(() => ask(era, "lead", "tools/call", { name: "crm_get", arguments: {} }))).toEqual([
      ["tools/call", "drop"],
    ]);
    expect(await reaching(() => ask(era, "reader", "prompts/get", { name: "hello" }))).toEqual([
      ["prompts/get", "greet"],
    ]);
    const ref = { type: "ref/prompt", name: "hello" };
    const completion = { ref, argument: { name: "a", value: "" } };
    expect(await reaching(() => ask(era, "reader", "completion/complete", completion))).toEqual([
      ["completion/complete", "greet"],
    ]);
  });

  it.each([
    ["reader", "tools/call", "crm_get"],
    ["reader", "tools/call", "crm_rare"],
    ["reader", "tools/call", "get"],
    ["stranger", "tools/call", "look"],
    ["lead", "tools/call", "look"],
    ["reader", "prompts/get", "crm_greet"],
  ] as const)(
    "of which %s has none for %s of %s are unknown, like a name that nobody has",
    async (who, method, name) => {
      const answers: string[] = [];
      const reached = await reaching(async () => {
        for (const asked of [name, "nobody_has"])
          answers.push((await ask(era, who, method, { name: asked, arguments: {} })).text.replaceAll(asked, "*"));
      });
      expect(reached).toEqual([]);
      const [one = "", other = "x"] = answers.map((text) => text.replaceAll(/"ref":"[^"]*"/g, ""));
      expect(one).toBe(other);
    },
  );

  it("change nothing of what one may do: a rule means the upstream's own", async () => {
    // Hidden from strangers is `drop`, under whatever name; under `crm_drop` a lead finds `get`.
    expect(await names(era, "stranger", "tools/list")).not.toContain("crm_drop");
    expect(await reaching(() => ask(era, "lead", "tools/call", { name: "crm_drop", arguments: {} }))).toEqual([
      ["tools/call", "get"],
    ]);
  });

  it("leave out what a presentation hides, and no template or link leads to it", async () => {
    expect(await names(era, "lead", "resources/list")).toEqual(["docs://open"]);
    expect(await names(era, "lead", "resources/templates/list")).toEqual([]);
    await ask(era, "lead", "tools/call", { name: "crm_drop", arguments: {} });
    await ask(era, "reader", "tools/call", { name: "look", arguments: {} });
    for (const uri of ["docs://inner/plan", "docs://inner/unlisted", "notes://7"]) {
      expect(await reaching(() => ask(era, "lead", "resources/read", { uri }))).toEqual([]);
      expect(await reaching(() => ask(era, "reader", "resources/read", { uri }))).toEqual([["resources/read", uri]]);
    }
  });
});

describe("instructions", () => {
  it.each([
    ["reader", "Words for readers.\n\nThe upstream's words."],
    ["lead", "The server's words.\n\nThe upstream's words."],
    ["stranger", "The server's words.\n\nThe upstream's words."],
  ] as const)("for %s are those of whatever applies", async (who, told) => {
    const { json } = await ask("modern", who, "server/discover");
    expect((json["result"] as Loose)["instructions"]).toBe(told);
  });
});

describe("evidence", () => {
  it("names the presentation, what was asked for, and whose it is", async () => {
    const ref = { type: "ref/prompt", name: "nobody" };
    await ask("modern", "reader", "tools/call", { name: "look", arguments: {} });
    await ask("modern", "stranger", "tools/call", { name: "crm_rare", arguments: {} });
    await ask("modern", "lead", "completion/complete", { ref, argument: { name: "a", value: "" } });
    // A refusal does not wait for its evidence.
    await until(() => gateway.audit().some(({ exposedName }) => exposedName === "nobody"));
    const events = gateway.audit();
    const item = { upstream: "crm", kind: "tool" };
    expect(events.filter(({ exposedName }) => exposedName === "look").at(-1)).toMatchObject({
      type: "returned",
      server: "s",
      presentation: "for-readers",
      item: { ...item, name: "get" },
    });
    const plain = events.filter(({ exposedName }) => exposedName === "crm_rare").at(-1);
    expect(plain).toMatchObject({ item: { ...item, name: "rare" } });
    expect(plain).not.toHaveProperty("presentation");
    expect(events.filter(({ exposedName }) => exposedName === "nobody").at(-1)).toMatchObject({
      type: "refused",
      presentation: "for-leads",
    });
  });
});
