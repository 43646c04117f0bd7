import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { startGatewayUnderTest } from "../journey/gateway-under-test.ts";
import type { GatewayUnderTest } from "../journey/gateway-under-test.ts";
import type { Received } from "../journey/http-client.ts";
import { legacyHeaders, modernHeaders, modernMeta, openSession, post } from "../journey/wire-client.ts";
import type { Caller } from "../journey/wire-client.ts";
import { startScriptedUpstream } from "../upstream/scripted-upstream.ts";
import type { ReceivedRequest, ScriptedUpstream } from "../upstream/scripted-upstream.ts";
import { createPerson } from "../../deploy/quickstart/person.ts";
import { connect } from "./sdk-clients.ts";

type Loose = Record<string, unknown>;

const eras = ["legacy", "modern"] as const;
type Era = (typeof eras)[number];

/** Every era of client in front of every era of server. */
const hops = eras.flatMap((client) => eras.map((server) => ({ client, server })));

const icons = [{ src: "https://example.com/icon.png", mimeType: "image/png", sizes: ["48x48"], "x-tint": "dark" }];

const tool = {
  name: "measure",
  title: "Measure",
  description: "Measures.",
  inputSchema: {
    type: "object",
    properties: { n: { type: "integer", "x-unit": "kg" }, region: { type: "string", "x-mcp-header": "Region" } },
    "x-schema-note": [1, { deep: true }],
  },
  outputSchema: { type: "object", properties: { n: { type: "integer" } }, "x-note": null },
  annotations: { readOnlyHint: true, "x-audience": "auditors" },
  execution: { taskSupport: "forbidden" },
  icons,
  _meta: { "example.com/owner": { team: "scales" } },
  "x-vendor": { nested: ["survives", 0, false, null] },
};
const prompt = { name: "ask", arguments: [{ name: "topic", required: true, "x-hint": "short" }], icons, "x-vendor": 1 };
const resource = { uri: "scale://manual", name: "manual", size: 12, annotations: { priority: 0.5 }, "x-vendor": 2 };
const template = { uriTemplate: "scale://log/{day}", name: "log", _meta: { "example.com/a": 1 }, "x-vendor": 3 };
const lists: Readonly<Record<string, Loose>> = {
  "tools/list": { tools: [tool] },
  "prompts/list": { prompts: [prompt] },
  "resources/list": { resources: [resource] },
  "resources/templates/list": { resourceTemplates: [template] },
};

const upstreams = new Map<Era, ScriptedUpstream>();
let gateway: GatewayUnderTest;
/** What the servers answer to everything but lists, as JSON text. */
let resultText = "{}";

beforeAll(async () => {
  for (const era of eras) {
    const upstream = await startScriptedUpstream({ era, capabilities: { tools: {}, prompts: {}, resources: {} } });
    upstream.script(({ rpc }, wire) => {
      const { id, method } = rpc as { id?: unknown; method?: string };
      const listed = lists[method ?? ""];
      const isCall = ["tools/call", "prompts/get", "resources/read"].includes(method ?? "");
      if (listed === undefined && !isCall) return false;
      const result = listed === undefined ? resultText : JSON.stringify(listed);
      const complete = era === "modern" ? result.replace(/\}$/, ',"resultType":"complete"}') : result;
      wire.respond(200, "application/json", `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${complete}}`);
      return true;
    });
    upstreams.set(era, upstream);
  }
  gateway = await startGatewayUnderTest({
    upstreams: Object.fromEntries(eras.map((era) => [era, upstreams.get(era)!.url])),
    servers: Object.fromEntries(eras.map((era) => [era, { [era]: "" }])),
  });
});

afterEach(() => {
  resultText = "{}";
});

afterAll(async () => {
  await gateway.remove();
  for (const upstream of upstreams.values()) await upstream.close();
});

interface Call {
  readonly method: string;
  /** JSON text, so that a test decides each digit. */
  readonly params?: string;
  readonly name?: string;
  readonly id?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** One request of a client of one era to the server of one era; id and parameters travel as they are spelled. */
async function ask(
  hop: { client: Era; server: Era },
  { method, params = "{}", name, id = "1", headers }: Call,
): Promise<Received> {
  const caller: Caller = { gateway, server: hop.server };
  if (hop.client === "legacy") {
    const session = await openSession(caller);
    return post(
      session,
      legacyHeaders(session),
      `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}`,
    );
  }
  const meta = `"_meta":${JSON.stringify(modernMeta)}`;
  const withMeta = params === "{}" ? `{${meta}}` : params.replace(/\}$/, `,${meta}}`);
  const text = `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${withMeta}}`;
  return post(caller, { ...modernHeaders(caller, method, name), ...headers }, text);
}

function lastReceived(server: Era, method: string): ReceivedRequest {
  const found = upstreams.get(server)!.received.filter(({ rpc }) => rpc["method"] === method);
  return found.at(-1)!;
}

const callParams = (args: string): Call => ({
  method: "tools/call",
  name: "measure",
  params: `{"name":"measure","arguments":${args}}`,
});

describe.each(hops)("a $client client in front of a $server server", (hop) => {
  const measured = '{"content":[{"type":"text","text":"done"}],"structuredContent":{"n":1}}';

  it.each(["0", "-1", '"0"', '""', '"a-b"', '"\\u00fc"', "9007199254740991"])(
    "gets the answer under id %s",
    async (id) => {
      resultText = measured;
      const { status, json } = await ask(hop, { ...callParams('{"n":1}'), id });
      expect(status).toBe(200);
      expect(json["id"]).toStrictEqual(JSON.parse(id));
      expect(json).toHaveProperty("result.structuredContent", { n: 1 });
    },
  );

  it("never lets the server see the client's id", async () => {
    resultText = measured;
    await ask(hop, { ...callParams('{"n":1}'), id: '"the-clients-own"' });
    expect(lastReceived(hop.server, "tools/call").body).not.toContain("the-clients-own");
  });

  it.each(["9007199254740993", "-9007199254740993", "18446744073709551615", "123456789012345678901234567890"])(
    "carries the integer %s both ways, digit by digit",
    async (digits) => {
      resultText = `{"content":[{"type":"text","text":"done"}],"structuredContent":{"n":${digits}},"_meta":{"example.com/n":${digits}}}`;
      const answer = await ask(hop, callParams(`{"n":${digits}}`));
      expect(lastReceived(hop.server, "tools/call").body).toContain(`"n":${digits}`);
      expect(answer.text).toContain(`"structuredContent":{"n":${digits}}`);
      expect(answer.text).toContain(`"example.com/n":${digits}`);
    },
  );

  it.each([
    ["tools/list", "tools", tool],
    ["prompts/list", "prompts", prompt],
    ["resources/list", "resources", resource],
    ["resources/templates/list", "resourceTemplates", template],
  ])("sees of %s all that the server defines, keys nobody knows included", async (method, key, definition) => {
    const { json } = await ask(hop, { method });
    expect((json["result"] as Loose)[key]).toEqual([definition]);
  });

  it("gets of a tool's result content of unknown kinds, unknown keys and _meta", async () => {
    const result = {
      content: [
        { type: "text", text: "done", annotations: { audience: ["user"] }, "x-block": 1 },
        { type: "hologram", data: "AAAA", "x-depth": 3 },
        { type: "resource_link", uri: "scale://log/1", name: "log 1" },
      ],
      structuredContent: { n: 1, extra: { kept: [] } },
      isError: false,
      _meta: { "example.com/trace": "t-1" },
      "x-result": true,
    };
    resultText = JSON.stringify(result);
    const { json } = await ask(hop, callParams('{"n":1}'));
    expect(json["result"]).toMatchObject(result);
  });

  it("gets a binary resource byte by byte, and one that a template carries", async () => {
    const blob = Buffer.from(Array.from({ length: 256 }, (_, at) => at)).toString("base64");
    for (const uri of ["scale://manual", "scale://log/monday"]) {
      const result = { contents: [{ uri, mimeType: "application/octet-stream", blob, "x-key": "kept" }] };
      resultText = JSON.stringify(result);
      const { json } = await ask(hop, { method: "resources/read", name: uri, params: `{"uri":"${uri}"}` });
      expect(json["result"]).toMatchObject(result);
      expect(lastReceived(hop.server, "resources/read").rpc).toMatchObject({ params: { uri } });
    }
  });

  it("gets a prompt for its arguments", async () => {
    const result = { messages: [{ role: "user", content: { type: "text", text: "About salt?" }, "x-m": 1 }], "x-p": 2 };
    resultText = JSON.stringify(result);
    const params = '{"name":"ask","arguments":{"topic":"salt"}}';
    const { json } = await ask(hop, { method: "prompts/get", name: "ask", params });
    expect(json["result"]).toMatchObject(result);
    expect(lastReceived(hop.server, "prompts/get").rpc).toMatchObject({ params: { arguments: { topic: "salt" } } });
  });

  it("gets results in the form of its own revision", async () => {
    resultText = measured;
    const { json } = await ask(hop, callParams('{"n":1}'));
    const result = json["result"] as Loose;
    expect(result["resultType"]).toBe(hop.client === "modern" ? "complete" : undefined);
    const list = (await ask(hop, { method: "tools/list" })).json["result"] as Loose;
    expect(list["cacheScope"]).toBe(hop.client === "modern" ? "private" : undefined);
    expect(typeof list["ttlMs"]).toBe(hop.client === "modern" ? "number" : "undefined");
  });

  it("hands the server the caller's own _meta, and none of its hop", async () => {
    resultText = measured;
    const params = '{"name":"measure","arguments":{"n":1},"_meta":{"example.com/mine":{"a":1}}}';
    const { client } = hop;
    const both = JSON.stringify({ ...modernMeta, "example.com/mine": { a: 1 } });
    const text = client === "legacy" ? params : params.replace('{"example.com/mine":{"a":1}}', both);
    const caller: Caller = { gateway, server: hop.server };
    const session = client === "legacy" ? await openSession(caller) : caller;
    const headers = client === "legacy" ? legacyHeaders(session) : modernHeaders(caller, "tools/call", "measure");
    await post(session, headers, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${text}}`);
    const { _meta: meta = {} } = lastReceived(hop.server, "tools/call").rpc["params"] as { _meta?: Loose };
    expect(meta["example.com/mine"]).toEqual({ a: 1 });
    const about = meta["io.modelcontextprotocol/clientInfo"] as Loose | undefined;
    expect(about?.["name"]).toBe(hop.server === "modern" ? "sallyport" : undefined);
  });
});

describe("an argument that a tool wants in a header", () => {
  it("is put there by client v2 and checked and put there anew by the gateway", async () => {
    resultText = '{"content":[{"type":"text","text":"done"}],"structuredContent":{"n":1}}';
    const client = await connect("v2 pinned", gateway.resource("modern"), createPerson({ username: "", password: "" }));
    await client.listTools();
    await client.callTool("measure", { n: 1, region: "Zürich" });
    await client.close();
    const received = lastReceived("modern", "tools/call");
    expect(received.header("mcp-param-region")).toBe(`=?base64?${Buffer.from("Zürich").toString("base64")}?=`);
    expect(received.header("mcp-name")).toBe("measure");
  });

  it("is refused when header and body differ", async () => {
    const before = upstreams.get("modern")!.count("tools/call");
    const call = { ...callParams('{"n":1,"region":"north"}'), headers: { "mcp-param-region": "south" } };
    const { status, json } = await ask({ client: "modern", server: "modern" }, call);
    expect(status).toBe(400);
    expect(json).toMatchObject({ error: { code: -32020, data: { refusal: "HEADER_MISMATCH" } } });
    expect(upstreams.get("modern")!.count("tools/call")).toBe(before);
  });
});
