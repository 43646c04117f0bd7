import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startScriptedUpstream } from "../upstream/scripted-upstream.ts";
import type { ScriptedUpstream } from "../upstream/scripted-upstream.ts";
import { startGatewayUnderTest } from "./gateway-under-test.ts";
import type { GatewayUnderTest } from "./gateway-under-test.ts";
import type { Loose, Received } from "./http-client.ts";
import {
  errorCodeIn,
  legacyCall,
  modernCall,
  modernHeaders,
  modernMeta,
  openSession,
  post,
  refusalIn,
} from "./wire-client.ts";
import type { Caller } from "./wire-client.ts";

const text = { type: "string" };
const tools: Loose[] = [
  {
    name: "search",
    inputSchema: {
      type: "object",
      properties: { query: text, region: { type: "string", "x-mcp-header": "Region" }, limit: { type: "integer" } },
      required: ["query", "region"],
      additionalProperties: false,
    },
  },
  { name: "open", inputSchema: { type: "object" } },
  { name: "narrow", inputSchema: { type: "object", properties: { region: { enum: ["us"] } } } },
  { name: "closed", inputSchema: { type: "object", properties: {}, additionalProperties: false } },
  { name: "clever", inputSchema: { type: "object", propertyNames: { pattern: "^r" } } },
  { name: "strict", inputSchema: { type: "object", properties: { a: text }, patternProperties: { "^x-": text } } },
  { name: "loose", inputSchema: { type: "object", properties: { a: text }, additionalProperties: false } },
  {
    name: "tied",
    inputSchema: { type: "object", properties: { a: text }, dependentSchemas: { a: { properties: { b: text } } } },
  },
  { name: "astray", inputSchema: { type: "object", anyOf: [{ $ref: "#/nowhere" }, {}] } },
  { name: "unbound", inputSchema: { type: "object", properties: { region: text } } },
];
const prompts: Loose[] = [
  {
    name: "greet",
    arguments: [
      { name: "tone", required: true },
      { name: "who", required: true },
    ],
  },
];

const anyone = { anyone: true };
const constrain = (id: string, what: Loose, more: Loose): Loose => ({
  id,
  effect: "constrain",
  who: anyone,
  what,
  ...more,
});
const preset = (tool: string): Loose =>
  constrain(`preset-${tool}`, { upstream: "up", tool }, { presets: { region: "eu" } });

const rules: Loose[] = [
  { id: "all", effect: "allow", who: anyone, what: { anything: true } },
  ...["search", "open", "narrow", "closed", "clever"].map(preset),
  constrain("preset-greet", { upstream: "up", prompt: "greet" }, { presets: { tone: "warm" } }),
  constrain("rejects", { upstream: "up", tool: "strict" }, { unknownArguments: "reject" }),
  constrain("strips", { upstream: "up", tool: ["loose", "tied", "astray"] }, { unknownArguments: "strip" }),
  {
    id: "never-us",
    effect: "deny",
    who: anyone,
    what: { upstream: "up", tool: "unbound" },
    when: 'has(args.region) && args.region != "eu"',
  },
  preset("unbound"),
];

let upstream: ScriptedUpstream;
let gateway: GatewayUnderTest;
const callers: Partial<Record<"legacy" | "modern", Caller>> = {};

beforeAll(async () => {
  upstream = await startScriptedUpstream({ tools, capabilities: { tools: {}, prompts: {}, completions: {} } });
  upstream.script(({ rpc }, wire) => {
    const results: Record<string, Loose> = {
      "prompts/list": { prompts },
      "prompts/get": { messages: [] },
      "completion/complete": { completion: { values: [] } },
    };
    const result = results[String(rpc["method"])];
    if (result === undefined) return false;
    wire.json(200, { jsonrpc: "2.0", id: rpc["id"], result: { resultType: "complete", ...result } });
    return true;
  });
  gateway = await startGatewayUnderTest({ upstreams: { up: upstream.url }, servers: { s: { up: "" } }, rules });
  callers.modern = { gateway, server: "s" };
  callers.legacy = await openSession(callers.modern);
});

afterAll(async () => {
  await gateway.remove();
  await upstream.close();
});

const sent = (method: string): Loose[] =>
  upstream.received.filter(({ rpc }) => rpc["method"] === method).map(({ rpc }) => rpc["params"] as Loose);

describe.each(["legacy", "modern"] as const)("what policy presets, for a %s client", (era) => {
  const ask = (method: string, params: Loose = {}): Promise<Received> =>
    (era === "legacy" ? legacyCall : modernCall)(callers[era]!, method, params);
  const call = (name: string, args?: Loose): Promise<Received> =>
    ask("tools/call", args === undefined ? { name } : { name, arguments: args });
  const shown = async (name: string): Promise<Loose | undefined> => {
    const result = (await ask("tools/list")).json["result"] as { tools: Loose[] };
    return result.tools.find((tool) => tool["name"] === name);
  };

  it("is not shown", async () => {
    expect((await shown("search"))?.["inputSchema"]).toEqual({
      type: "object",
      properties: { query: text, limit: { type: "integer" } },
      required: ["query"],
      additionalProperties: false,
    });
    const listed = (await ask("prompts/list")).json["result"] as { prompts: Loose[] };
    expect(listed.prompts[0]?.["arguments"]).toEqual([{ name: "who", required: true }]);
  });

  it.each([
    ["search", { query: "q" }, { query: "q", region: "eu" }],
    ["open", { other: 1 }, { other: 1, region: "eu" }],
    ["open", undefined, { region: "eu" }],
    ["unbound", {}, { region: "eu" }],
  ])("of %s called with %j is what the upstream gets", async (name, args, arrived) => {
    const answer = await call(name, args);
    expect(refusalIn(answer).code).toBe("");
    expect(sent("tools/call").at(-1)?.["arguments"]).toEqual(arrived);
  });

  it.each([
    ["search", { query: "q", region: "eu" }],
    ["search", { query: "q", region: "us" }],
    ["open", { region: null }],
    ["unbound", { region: "eu" }],
  ])("of %s may not be sent, whatever its value (%j)", async (name, args) => {
    const before = upstream.ledger.length;
    const answer = await call(name, args);
    expect(refusalIn(answer).code).toBe("ARGUMENTS_INVALID");
    expect(JSON.stringify(answer.json)).toContain("region");
    expect(upstream.ledger).toHaveLength(before);
  });

  it.each(["narrow", "closed"])("that does not fit %s is the operator's fault, and nothing is sent", async (name) => {
    const before = upstream.ledger.length;
    expect(refusalIn(await call(name, {})).code).toBe("PRESET_UNFIT");
    expect(upstream.ledger).toHaveLength(before);
  });

  it("of which the schema cannot be told apart withholds the tool, and says so to who may see it", async () => {
    expect(await shown("clever")).toBeUndefined();
    expect(refusalIn(await call("clever", {})).code).toBe("PRESET_UNFIT");
  });

  it("is among the arguments of a prompt, of which the client sends the others", async () => {
    await ask("prompts/get", { name: "greet", arguments: { who: "Ada" } });
    expect(sent("prompts/get").at(-1)?.["arguments"]).toEqual({ who: "Ada", tone: "warm" });
    expect(errorCodeIn(await ask("prompts/get", { name: "greet", arguments: {} }))).toBe(-32602);
    const refused = await ask("prompts/get", { name: "greet", arguments: { who: "Ada", tone: "warm" } });
    expect([errorCodeIn(refused), refusalIn(refused).code]).toEqual([-32602, "ARGUMENTS_INVALID"]);
  });

  it("is not completed, neither itself nor as what is known, and is known to the upstream", async () => {
    const ref = { type: "ref/prompt", name: "greet" };
    const before = sent("completion/complete").length;
    const who = { name: "who", value: "A" };
    for (const params of [
      { ref, argument: { name: "tone", value: "w" } },
      { ref, argument: who, context: { arguments: { tone: "warm" } } },
    ])
      expect(refusalIn(await ask("completion/complete", params)).code).toBe("ARGUMENTS_INVALID");
    expect(sent("completion/complete")).toHaveLength(before);
    await ask("completion/complete", { ref, argument: who });
    expect(sent("completion/complete").at(-1)).toMatchObject({
      argument: who,
      context: { arguments: { tone: "warm" } },
    });
  });

  it("unknown arguments are refused by name, or taken away with a finding, as policy says", async () => {
    const refused = await call("strict", { a: "1", "x-b": "2", c: "3" });
    expect(refusalIn(refused).code).toBe("ARGUMENTS_INVALID");
    expect(JSON.stringify(refused.json)).toContain("no argument c here");
    expect(refusalIn(await call("strict", { a: "1", "x-b": "2" })).code).toBe("");
    expect((await shown("strict"))?.["inputSchema"]).toMatchObject({ additionalProperties: false });
    const stripped = await call("loose", { a: "1", "b/c": 2 });
    expect(refusalIn(stripped).code).toBe("");
    expect(sent("tools/call").at(-1)?.["arguments"]).toEqual({ a: "1" });
    await expect
      .poll(() => gateway.audit().at(-1)?.findings)
      .toEqual([{ kind: "argument-removed", where: "/b~1c", detail: "unknown argument", count: 1 }]);
  });

  it("what the schema names in any part is taken away from nobody, and a tool of which nobody can tell is withheld", async () => {
    expect(refusalIn(await call("tied", { a: "1", b: "2", c: "3" })).code).toBe("");
    expect(sent("tools/call").at(-1)?.["arguments"]).toEqual({ a: "1", b: "2" });
    expect(await shown("astray")).toBe(undefined);
  });
});

describe("evidence of a call with presets", () => {
  it("names the rules that shaped it", async () => {
    await modernCall(callers.modern!, "tools/call", { name: "search", arguments: { query: "q" } });
    await expect.poll(() => gateway.audit().at(-1)?.constrained).toEqual(["preset-search"]);
  });
});

describe("the header of a preset argument", () => {
  it("need not be sent, and goes to the upstream with the preset's value", async () => {
    await modernCall(callers.modern!, "tools/call", { name: "search", arguments: { query: "q" } });
    expect(upstream.received.at(-1)?.header("mcp-param-region")).toBe("eu");
  });

  it("that the client sends all the same goes nowhere", async () => {
    const caller = callers.modern!;
    const headers = { ...modernHeaders(caller, "tools/call", "search"), "mcp-param-region": "us" };
    const params = { name: "search", arguments: { query: "q" }, _meta: modernMeta };
    const before = upstream.ledger.length;
    await post(caller, headers, { jsonrpc: "2.0", id: 1, method: "tools/call", params });
    expect(upstream.ledger).toHaveLength(before + 1);
    expect(upstream.received.at(-1)?.header("mcp-param-region")).toBe("eu");
  });
});
