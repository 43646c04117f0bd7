import { afterEach, describe, expect, it } from "vitest";
import { startGatewayUnderTest } from "../journey/gateway-under-test.ts";
import type { GatewayUnderTest } from "../journey/gateway-under-test.ts";
import type { Loose } from "../journey/http-client.ts";
import { legacyCall, modernCall, openSession } from "../journey/wire-client.ts";
import { startScriptedUpstream } from "../upstream/scripted-upstream.ts";
import type { ScriptedUpstream } from "../upstream/scripted-upstream.ts";

const upstreams = new Map<string, ScriptedUpstream>();
let gateway: GatewayUnderTest | undefined;

afterEach(async () => {
  await gateway?.remove();
  gateway = undefined;
  for (const upstream of upstreams.values()) await upstream.close();
  upstreams.clear();
});

async function startTools(name: string, tools: readonly string[]): Promise<string> {
  const upstream = await startScriptedUpstream({ era: "modern", capabilities: { tools: {} } });
  const listed = tools.map((tool) => ({ name: tool, inputSchema: { type: "object" } }));
  upstream.script(({ rpc }, wire) => {
    const isList = rpc["method"] === "tools/list";
    if (!isList && rpc["method"] !== "tools/call") return false;
    const result = isList ? { tools: listed, ttlMs: 0, cacheScope: "private" } : { content: [] };
    wire.json(200, { jsonrpc: "2.0", id: rpc["id"], result: { resultType: "complete", ...result } });
    return true;
  });
  upstreams.set(name, upstream);
  return upstream.url;
}

async function startServer(
  parts: Readonly<Record<string, { prefix: string; tools: readonly string[] }>>,
): Promise<void> {
  const urls: Record<string, string> = {};
  for (const [name, { tools }] of Object.entries(parts)) urls[name] = await startTools(name, tools);
  const prefixes = Object.fromEntries(Object.entries(parts).map(([name, { prefix }]) => [name, prefix]));
  gateway = await startGatewayUnderTest({ upstreams: urls, servers: { s: prefixes } });
}

/** Every call that reached an upstream: which one, the name in the body, and the name in its header. */
function reached(): readonly unknown[] {
  return [...upstreams].flatMap(([name, { received }]) =>
    received
      .filter(({ rpc }) => rpc["method"] === "tools/call")
      .map((request) => [name, (request.rpc["params"] as Loose)["name"], request.header("mcp-name")]),
  );
}

const parts = {
  a: { prefix: "a_", tools: ["b_c", "a_a_b", "Foo", "foo"] },
  "a-b": { prefix: "a_b_", tools: ["d"] },
  x: { prefix: "", tools: ["a_b"] },
};

describe("a name that can be split at its separators in more than one way", () => {
  it.each([
    ["a_b_c", "a", "b_c"],
    ["a_b_d", "a-b", "d"],
    ["a_b", "x", "a_b"],
    ["a_a_a_b", "a", "a_a_b"],
    ["a_Foo", "a", "Foo"],
    ["a_foo", "a", "foo"],
  ])(
    "%s reaches %s under the server's own name %s, in body and header, from clients of both eras",
    async (name, upstream, own) => {
      await startServer(parts);
      const caller = { gateway: gateway!, server: "s" };
      await modernCall(caller, "tools/call", { name, arguments: {} });
      await legacyCall(await openSession(caller), "tools/call", { name, arguments: {} });
      expect(reached()).toEqual([1, 2].map(() => [upstream, own, own]));
    },
  );
});

it("two tools of two servers that come to bear one name are refused at the start, and no order decides", async () => {
  const { "a-b": twin, ...others } = parts;
  await expect(startServer({ ...others, "a-b": { ...twin, tools: ["c"] } })).rejects.toThrow(/a_b_c/);
});
