import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Fixture } from "./fixture-http.ts";
import { startLegacyFixture } from "./fixture-legacy.ts";
import { startModernFixture } from "./fixture-modern.ts";

/**
 * What a fixture offers beyond the scenarios of its own era: every tool asks in either era, so that the
 * scenarios of the one can be run in front of the other.
 */
describe.each([
  { era: "legacy", start: startLegacyFixture, mode: "legacy" as const },
  { era: "modern", start: startModernFixture, mode: { pin: "2026-07-28" } as const },
])("the $era fixture", ({ start, mode }) => {
  let fixture: Fixture;
  let client: Client;

  beforeAll(async () => {
    fixture = await start();
  });
  afterAll(() => fixture.close());
  afterEach(() => client.close());

  async function connect(capabilities: Record<string, object>): Promise<void> {
    client = new Client({ name: "fixture-test", version: "1" }, { capabilities, versionNegotiation: { mode } });
    if ("elicitation" in capabilities) {
      client.setRequestHandler("elicitation/create", ({ params }) => ({
        action: "accept",
        content: answersTo("requestedSchema" in params ? params.requestedSchema.properties : {}),
      }));
    }
    if ("sampling" in capabilities) {
      client.setRequestHandler("sampling/createMessage", () => ({
        role: "assistant",
        content: { type: "text", text: "Paris" },
        model: "m",
      }));
    }
    if ("roots" in capabilities) client.setRequestHandler("roots/list", () => ({ roots: [{ uri: "file:///here" }] }));
    await client.connect(new StreamableHTTPClientTransport(new URL(fixture.url)));
  }

  const everything = { elicitation: {}, sampling: {}, roots: {} };

  it.each([
    ["test_sampling", { prompt: "Say it" }, "LLM response: Paris"],
    ["test_elicitation", { message: "Who?" }, '"username":"given username"'],
    ["test_elicitation_sep1034_defaults", {}, "action=accept"],
    ["test_missing_capability", {}, "Paris"],
    ["test_input_required_result_elicitation", {}, "Hello, given name!"],
    ["test_input_required_result_sampling", {}, "Paris"],
    ["test_input_required_result_list_roots", {}, "file:///here"],
    ["test_input_required_result_request_state", {}, "state-ok"],
    ["test_input_required_result_multiple_inputs", {}, "Paris {"],
    ["test_input_required_result_multi_round", {}, '"step2":{"action":"accept"'],
    ["test_input_required_result_capabilities", {}, '"form":{"action":"accept"'],
  ])("asks what %s needs, and answers with it", async (name, args, text) => {
    await connect(everything);
    const result = await client.callTool({ name, arguments: args });
    expect(JSON.stringify(result.content)).toContain(JSON.stringify(text).slice(1, -1));
    expect(result.isError).not.toBe(true);
  });

  it("asks what a prompt needs", async () => {
    await connect(everything);
    const { messages } = await client.getPrompt({ name: "test_input_required_result_prompt" });
    expect(messages[0]?.content).toEqual({ type: "text", text: "Context: given context" });
  });

  it("asks no client that cannot answer", async () => {
    await connect({});
    const call = client.callTool({ name: "test_input_required_result_elicitation", arguments: {} });
    const outcome = await call.then(
      (result) => result.isError,
      () => true,
    );
    expect(outcome).toBe(true);
  });

  it("asks only what the client declared where it may choose", async () => {
    await connect({ sampling: {} });
    const result = await client.callTool({ name: "test_input_required_result_capabilities", arguments: {} });
    const text = JSON.stringify(result.content);
    expect(text).toContain("sample");
    expect(text).not.toContain("form");
  });

  it("adds a tool at one change and takes it away at the next", async () => {
    await connect({});
    const listed = async (): Promise<boolean> =>
      (await client.listTools(undefined, { cacheMode: "refresh" })).tools.some(
        ({ name }) => name === "test_passing_tool",
      );
    const seen = [await listed()];
    while (seen.length < 3) {
      await client.callTool({ name: "test_trigger_tool_change", arguments: {} });
      seen.push(await listed());
    }
    expect(seen).toEqual([false, true, false]);
  });
});

describe("a request state of the modern fixture", () => {
  const state = { name: "test_input_required_result_request_state" };
  const round = { name: "test_input_required_result_multi_round" };

  it.each([
    {
      what: "believed by the tool that gave it",
      from: state,
      to: state,
      alter: (text: string) => text,
      code: undefined,
    },
    { what: "not believed by another tool", from: state, to: round, alter: (text: string) => text, code: -32602 },
    { what: "not believed with its signature cut off", from: state, to: state, alter: unsigned, code: -32602 },
    { what: "not believed with another content", from: state, to: state, alter: altered, code: -32602 },
  ])("is $what", async ({ from, to, alter, code }) => {
    const fixture = await startModernFixture();
    try {
      const given = await call(fixture.url, from);
      const requestState = alter(String(given.result?.["requestState"]));
      const { error } = await call(fixture.url, { ...to, requestState });
      expect(error?.code).toBe(code);
    } finally {
      await fixture.close();
    }
  });

  function unsigned(text: string): string {
    return text.split(".", 1)[0] ?? "";
  }

  function altered(text: string): string {
    const [content = "", mac] = text.split(".");
    const other = Buffer.from(content, "base64url").toString().replace("{}", '{"confirm":{}}');
    return `${Buffer.from(other).toString("base64url")}.${String(mac)}`;
  }
});

interface Answer {
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number };
}

async function call(url: string, params: { readonly name: string; readonly requestState?: string }): Promise<Answer> {
  const prefix = "io.modelcontextprotocol/";
  const _meta = { [`${prefix}protocolVersion`]: "2026-07-28", [`${prefix}clientCapabilities`]: { elicitation: {} } };
  const headers = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
    "mcp-name": params.name,
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { ...params, _meta } });
  return (await fetch(url, { method: "POST", headers, body })).json() as Promise<Answer>;
}

function answersTo(properties: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(Object.keys(properties).map((name) => [name, `given ${name}`]));
}
