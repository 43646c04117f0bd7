import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AuditEvent } from "../../src/audit/event.ts";
import { event, startScriptedUpstream } from "../upstream/scripted-upstream.ts";
import type { ScriptedUpstream } from "../upstream/scripted-upstream.ts";
import { startGatewayUnderTest } from "./gateway-under-test.ts";
import type { GatewayUnderTest } from "./gateway-under-test.ts";
import type { Loose, Received } from "./http-client.ts";
import {
  legacyCall,
  legacyHeaders,
  modernCall,
  modernHeaders,
  modernMeta,
  openSession,
  post,
  refusalIn,
} from "./wire-client.ts";
import type { Caller } from "./wire-client.ts";

const secret = "123-45-6789";
const person = {
  type: "object",
  properties: { name: { type: "string" }, ssn: { type: "string" } },
  required: ["name", "ssn"],
  additionalProperties: false,
};
const inputSchema = { type: "object" };
const tools: Loose[] = [
  {
    name: "find",
    inputSchema,
    outputSchema: {
      type: "object",
      properties: { rows: { type: "array", items: { $ref: "#/$defs/person" } } },
      required: ["rows"],
      $defs: { person },
    },
  },
  { name: "free", inputSchema },
  { name: "large", inputSchema },
];
const ada = { name: "Ada", ssn: secret };

const anyone = { anyone: true };
const rules: Loose[] = [
  { id: "all", effect: "allow", who: anyone, what: { anything: true } },
  {
    id: "no-ssn",
    effect: "constrain",
    who: anyone,
    what: { upstream: "up", tool: ["find", "free"] },
    removeFields: ["/rows/*/ssn"],
  },
  { id: "fixed", effect: "constrain", who: anyone, what: { upstream: "up", tool: "free" }, presets: { region: "eu" } },
  { id: "short", effect: "constrain", who: anyone, what: { upstream: "up", tool: "large" }, resultBytesMax: 200 },
  {
    id: "short-files",
    effect: "constrain",
    who: anyone,
    what: { upstream: "up", resource: "x://**" },
    resultBytesMax: 200,
  },
];

let upstream: ScriptedUpstream;
let gateway: GatewayUnderTest;
let answer: Loose;
const callers: Partial<Record<"legacy" | "modern", Caller>> = {};

/** Speaks of the secret in everything that goes before the answer. */
beforeAll(async () => {
  upstream = await startScriptedUpstream({ tools, capabilities: { tools: {}, resources: {}, logging: {} } });
  upstream.script(({ rpc }, wire) => {
    const id = rpc["id"];
    if (rpc["method"] === "resources/list") {
      wire.json(200, {
        jsonrpc: "2.0",
        id,
        result: { resultType: "complete", resources: [{ uri: "x://a", name: "a" }] },
      });
      return true;
    }
    if (rpc["method"] !== "tools/call" && rpc["method"] !== "resources/read") return false;
    const progressToken = ((rpc["params"] as Loose)["_meta"] as Loose | undefined)?.["progressToken"];
    wire.eventStream();
    if (progressToken !== undefined) {
      const params = { progressToken, progress: 1, total: 2, message: secret, more: secret };
      wire.chunk(event({ jsonrpc: "2.0", method: "notifications/progress", params }));
      const logged = { level: "error", data: secret };
      wire.chunk(event({ jsonrpc: "2.0", method: "notifications/message", params: logged }));
    }
    wire.chunk(event({ jsonrpc: "2.0", id, ...answer }));
    wire.endChunks();
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

const answerWith = (result: Loose): void => {
  answer = { result: { resultType: "complete", ...result } };
};

describe.each(["legacy", "modern"] as const)("a tool whose fields policy removes, for a %s client", (era) => {
  const ask = (method: string, params: Loose = {}): Promise<Received> =>
    (era === "legacy" ? legacyCall : modernCall)(callers[era]!, method, params);
  const call = (name: string): Promise<Received> => ask("tools/call", { name, arguments: {} });

  it("does not promise them, and delivers what it promises", async () => {
    const listed = (await ask("tools/list")).json["result"] as { tools: Loose[] };
    const shown = listed.tools.find((tool) => tool["name"] === "find")?.["outputSchema"];
    expect(JSON.stringify(shown)).not.toContain("ssn");
    answerWith({
      structuredContent: { rows: [ada, ada] },
      content: [{ type: "text", text: JSON.stringify({ rows: [ada, ada] }) }],
    });
    const { json, text } = await call("find");
    expect(json["result"]).toMatchObject({
      structuredContent: { rows: [{ name: "Ada" }, { name: "Ada" }] },
      content: [{ type: "text", text: '{"rows":[{"name":"Ada"},{"name":"Ada"}]}' }],
    });
    expect(text).not.toContain(secret);
  });

  it("is still held to the rest of its schema", async () => {
    answerWith({ structuredContent: { rows: [{ ssn: secret }] }, content: [] });
    const refused = await call("find");
    expect(refusalIn(refused).code).toBe("RESULT_INVALID");
    expect(refused.text).not.toContain(secret);
  });

  it.each<[string, Loose]>([
    ["a text that is no JSON", { content: [{ type: "text", text: `It is ${secret}.` }] }],
    ["JSON without structured content", { content: [{ type: "text", text: JSON.stringify({ rows: [ada] }) }] }],
    ["an error of the tool", { content: [{ type: "text", text: `No ${secret}.` }], isError: true }],
    ["an embedded resource", { content: [{ type: "resource", resource: { uri: "x://y", text: secret } }] }],
    ["metadata and members of its own", { content: [], _meta: { note: secret }, note: secret }],
  ])("delivers no removed value as %s", async (_how, result) => {
    answerWith(result);
    const answered = await call("free");
    expect(answered.json["result"]).toBeDefined();
    expect(answered.text).not.toContain(secret);
  });

  it("delivers no words of an upstream's error", async () => {
    answer = { error: { code: 4711, message: `no customer ${secret}`, data: { ssn: secret } } };
    const failed = await call("free");
    expect(failed.json["error"]).toEqual({
      code: 4711,
      message: expect.stringContaining("left out") as string,
    });
    expect(failed.text).not.toContain(secret);
  });

  it("delivers no words along the way, of which other tools deliver all", async () => {
    const meta = { progressToken: "p", "io.modelcontextprotocol/logLevel": "debug" };
    const streamed = (name: string): Promise<Received> => {
      const caller = callers[era]!;
      const headers = era === "legacy" ? legacyHeaders(caller) : modernHeaders(caller, "tools/call", name);
      const params = { name, arguments: {}, _meta: era === "legacy" ? meta : { ...modernMeta, ...meta } };
      return post(caller, headers, { jsonrpc: "2.0", id: 1, method: "tools/call", params });
    };
    answerWith({ content: [] });
    const freed = await streamed("free");
    expect(freed.text).toContain('"progress":1');
    expect(freed.text).toContain('"total":2');
    expect(freed.text).not.toContain(secret);
    expect((await streamed("large")).text.split(secret).length).toBe(4);
  });

  it("leaves findings that name fields and blocks, and not what they held", async () => {
    answerWith({ structuredContent: { rows: [ada] }, content: [{ type: "text", text: secret }] });
    const removed = (): AuditEvent[] =>
      gateway.audit().filter((event) => event.findings?.some(({ kind }) => kind === "content-left-out") === true);
    const before = removed().length;
    await call("find");
    await expect.poll(() => removed().length).toBeGreaterThan(before);
    const { findings, constrained } = removed().at(-1)!;
    expect(findings?.map(({ kind, where, detail }) => [kind, where, detail])).toEqual([
      ["field-removed", "/structuredContent", "/rows/*/ssn"],
      ["content-left-out", "/content/0", "may repeat a removed field"],
    ]);
    expect(constrained).toEqual(["no-ssn"]);
    expect(gateway.auditText()).not.toContain(secret);
  });

  it("a result that is larger than policy lets through is withheld, and one that is not is not", async () => {
    answerWith({ content: [{ type: "text", text: "x".repeat(300) }] });
    const refused = await call("large");
    expect(refusalIn(refused)).toMatchObject({ code: "RESULT_TOO_LARGE", outcome: "failed" });
    expect(refused.text).not.toContain("xxx");
    answerWith({ content: [{ type: "text", text: "x" }] });
    expect(refusalIn(await call("large")).code).toBe("");
    answerWith({ contents: [{ uri: "x://a", text: "x".repeat(300) }] });
    expect(refusalIn(await ask("resources/read", { uri: "x://a" })).code).toBe("RESULT_TOO_LARGE");
    answer = { error: { code: 4711, message: "no", data: "x".repeat(300) } };
    expect(refusalIn(await call("large")).code).toBe("RESULT_TOO_LARGE");
  });
});

describe("a call that is asked for input, of a tool whose fields policy removes", () => {
  const form = { mode: "form", message: "Which?", requestedSchema: { type: "object", properties: {} } };
  const capabilities = { elicitation: { form: {} } };
  const call = (more: Loose = {}): Promise<Received> => {
    const _meta = { ...modernMeta, "io.modelcontextprotocol/clientCapabilities": capabilities };
    const params = { name: "free", arguments: { q: 1 }, ...more, _meta };
    const caller = callers.modern!;
    return post(caller, modernHeaders(caller, "tools/call", "free"), {
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params,
    });
  };

  it("is told what was judged and nothing besides, and goes on with the same presets", async () => {
    const inputRequests = { which: { method: "elicitation/create", params: form } };
    answer = {
      result: { resultType: "input_required", inputRequests, requestState: "state", note: secret, _meta: { secret } },
    };
    const asked = await call();
    const { requestState, ...offered } = asked.json["result"] as Loose;
    expect(offered).toMatchObject({
      resultType: "input_required",
      inputRequests: { which: { method: "elicitation/create" } },
    });
    expect(asked.text).not.toContain(secret);
    answerWith({ content: [{ type: "text", text: secret }] });
    const inputResponses = { which: { action: "accept", content: {} } };
    const resumed = await call({ requestState, inputResponses });
    expect(resumed.json["result"]).toMatchObject({ resultType: "complete" });
    expect(resumed.text).not.toContain(secret);
    const sent = upstream.received.filter(({ rpc }) => rpc["method"] === "tools/call").slice(-2);
    for (const { rpc } of sent) expect(rpc["params"]).toMatchObject({ arguments: { q: 1, region: "eu" } });
    expect(sent[1]?.rpc["params"]).toMatchObject({ requestState: "state", inputResponses });
  });
});
