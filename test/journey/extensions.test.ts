import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { startScriptedUpstream } from "../upstream/scripted-upstream.ts";
import type { ScriptedUpstream } from "../upstream/scripted-upstream.ts";
import { startGatewayUnderTest, startIssuer } from "./gateway-under-test.ts";
import type { GatewayUnderTest, IssuerUnderTest } from "./gateway-under-test.ts";
import type { Loose, Received } from "./http-client.ts";
import { legacyHeaders, modernHeaders, modernMeta, post } from "./wire-client.ts";
import type { Caller } from "./wire-client.ts";

const ui = "io.modelcontextprotocol/ui";
const tasks = "io.modelcontextprotocol/tasks";
const other = "com.example/other";
const apps = { mimeTypes: ["text/html;profile=mcp-app"] };
const capabilitiesKey = "io.modelcontextprotocol/clientCapabilities";

const page = { resourceUri: "ui://weather/view.html", visibility: ["model", "app"] };
const tool = { name: "weather", inputSchema: { type: "object" }, _meta: { ui: page, "com.example/kept": [1] } };
const resource = {
  uri: "ui://weather/view.html",
  name: "view",
  mimeType: "text/html;profile=mcp-app",
  _meta: { ui: { csp: { connectDomains: ["https://api.example.com"] }, permissions: { camera: {} }, domain: "d" } },
};

let issuer: IssuerUnderTest;
const upstreams: ScriptedUpstream[] = [];
const gateways: GatewayUnderTest[] = [];

beforeAll(async () => {
  issuer = await startIssuer();
});

afterEach(async () => {
  for (const gateway of gateways.splice(0)) await gateway.remove();
  for (const upstream of upstreams.splice(0)) await upstream.close();
});

afterAll(() => issuer.close());

type Era = "legacy" | "modern";

async function up(era: Era, extensions: Loose, more: Loose = { resources: {} }): Promise<ScriptedUpstream> {
  const capabilities = { tools: {}, ...more, extensions };
  const upstream = await startScriptedUpstream({ era, tools: [tool], capabilities });
  upstream.script(({ rpc }, wire) => {
    const lists: Loose = {
      "resources/list": { resources: [resource] },
      "resources/templates/list": { resourceTemplates: [] },
      "resources/read": { contents: [{ ...resource, text: "<html>" }] },
    };
    const result = lists[String(rpc["method"])];
    if (result !== undefined) wire.json(200, { jsonrpc: "2.0", id: rpc["id"], result });
    return result !== undefined;
  });
  upstreams.push(upstream);
  return upstream;
}

async function start(behind: readonly ScriptedUpstream[], extensions?: readonly string[]): Promise<Caller> {
  const names = ["a", "b"].slice(0, behind.length);
  const parts = Object.fromEntries(names.map((name) => [name, { prefix: `${name}_`, uriPrefix: "x:" }]));
  const more = extensions === undefined ? {} : { extensions };
  const gateway = await startGatewayUnderTest({
    issuer,
    upstreams: Object.fromEntries(names.map((name, at) => [name, behind[at]!.url])),
    servers: {},
    config: { servers: { s: { upstreams: parts, ...more } } },
  });
  gateways.push(gateway);
  return { gateway, server: "s", token: await issuer.mint(gateway.resource("s")) };
}

const resultOf = ({ json }: Received): Loose => json["result"] as Loose;

interface Client {
  /** Capabilities of the server, as this client is told. */
  readonly told: Loose;
  readonly ask: (method: string, params?: Loose) => Promise<Loose>;
}

/** A client of either era that declares these extensions. */
async function client(era: Era, who: Caller, extensions: Loose): Promise<Client> {
  if (era === "modern") {
    const ask = async (method: string, params: Loose = {}): Promise<Loose> => {
      const name = params["name"] ?? params["uri"];
      const _meta = { ...modernMeta, [capabilitiesKey]: { extensions } };
      const headers = modernHeaders(who, method, typeof name === "string" ? name : undefined);
      return resultOf(await post(who, headers, { jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } }));
    };
    return { told: (await ask("server/discover"))["capabilities"] as Loose, ask };
  }
  const params = {
    protocolVersion: "2025-11-25",
    capabilities: { extensions },
    clientInfo: { name: "test", version: "1" },
  };
  const opened = await post(who, legacyHeaders(who), { jsonrpc: "2.0", id: 1, method: "initialize", params });
  const session = String(opened.headers["mcp-session-id"]);
  const ask = async (method: string, params: Loose = {}): Promise<Loose> =>
    resultOf(await post(who, legacyHeaders({ ...who, session }), { jsonrpc: "2.0", id: 1, method, params }));
  return { told: resultOf(opened)["capabilities"] as Loose, ask };
}

/** The extensions that an upstream was told of for the client behind a call. */
function heard(upstream: ScriptedUpstream, era: Era): unknown {
  const method = era === "modern" ? "tools/call" : "initialize";
  const { params } = upstream.received.filter(({ rpc }) => rpc["method"] === method).at(-1)!.rpc as { params: Loose };
  const capabilities = era === "modern" ? (params["_meta"] as Loose)[capabilitiesKey] : params["capabilities"];
  return (capabilities as Loose)["extensions"];
}

const pairings: readonly (readonly [Era, Era])[] = [
  ["legacy", "legacy"],
  ["legacy", "modern"],
  ["modern", "legacy"],
  ["modern", "modern"],
];

describe.each(pairings)("MCP Apps for a %s client of a %s server", (clientEra, serverEra) => {
  it("are declared to the client, and arrive whole but for names", async () => {
    const upstream = await up(serverEra, { [ui]: {} });
    const { told, ask } = await client(clientEra, await start([upstream]), { [ui]: apps });
    expect(told["extensions"]).toEqual({ [ui]: {} });
    const { tools } = (await ask("tools/list")) as { tools: Loose[] };
    expect(tools).toMatchObject([{ name: "a_weather", _meta: tool._meta }]);
    const { resources } = (await ask("resources/list")) as { resources: Loose[] };
    expect(resources).toEqual([resource]);
    const { contents } = (await ask("resources/read", { uri: page.resourceUri })) as { contents: Loose[] };
    expect(contents).toEqual([{ ...resource, text: "<html>" }]);
  });

  it("of the client are declared to the server, where the server's era asks who calls", async () => {
    const upstream = await up(serverEra, { [ui]: {} });
    const { ask } = await client(clientEra, await start([upstream]), { [ui]: apps, [other]: {} });
    await ask("tools/call", { name: "a_weather", arguments: {} });
    // A modern client has no session of its own, so a legacy server hears of no capability of it.
    const told = clientEra === "modern" && serverEra === "legacy" ? undefined : { [ui]: apps };
    expect(heard(upstream, serverEra)).toEqual(told);
  });
});

describe("extensions", () => {
  const cases: readonly [law: string, listed: readonly string[] | undefined, has: Loose, expected: unknown][] = [
    ["that are not listed are not told of", undefined, { [other]: { deep: 1 }, [ui]: {} }, { [ui]: {} }],
    ["that are listed are told of as they are", [other], { [other]: { deep: 1 }, [ui]: {} }, { [other]: { deep: 1 } }],
    ["are none where the list is empty", [], { [other]: {}, [ui]: {} }, undefined],
    ["that nobody has are not made up", [other], {}, undefined],
    ["of a wrong shape are none", [other], { [other]: true }, undefined],
    ["are none for a listing of tasks, which are carried or not", [tasks], { [tasks]: {} }, undefined],
  ];
  it.each(cases)("%s, in either direction", async (_law, listed, has, expected) => {
    const upstream = await up("legacy", has);
    const { told, ask } = await client("legacy", await start([upstream], listed), has);
    expect(told["extensions"]).toEqual(expected);
    await ask("tools/call", { name: "a_weather", arguments: {} });
    expect(heard(upstream, "legacy")).toEqual(expected);
  });

  it.each([
    ["the same", { a: 1, b: 2 }, { b: 2, a: 1 }, { a: 1, b: 2 }],
    ["different ones", { a: 1 }, { a: 2 }, {}],
  ])("of two servers with %s settings are told of with those that hold for both", async (_law, one, two, expected) => {
    const behind = [await up("modern", { [other]: one }, {}), await up("modern", { [other]: two }, {})];
    const { told } = await client("modern", await start(behind, [other]), {});
    expect(told["extensions"]).toEqual({ [other]: expected });
  });
});
