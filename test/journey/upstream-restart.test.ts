import { afterEach, expect, test } from "vitest";
import { startScriptedUpstream } from "../upstream/scripted-upstream.ts";
import type { ScriptedUpstream } from "../upstream/scripted-upstream.ts";
import { startGatewayUnderTest } from "./gateway-under-test.ts";
import type { GatewayUnderTest } from "./gateway-under-test.ts";
import type { Loose, Received } from "./http-client.ts";
import { legacyCall, openSession, refusalIn } from "./wire-client.ts";
import type { Caller } from "./wire-client.ts";

let gateway: GatewayUnderTest;
let upstream: ScriptedUpstream;

afterEach(async () => {
  await gateway.remove();
  await upstream.close();
});

const names = Array.from({ length: 20 }, (_, at) => `tool-${at}`);
const tools = names.map((name) => ({ name, inputSchema: { type: "object" } }));
const options = { era: "legacy", tools } as const;

async function start(upstreamConfig: Loose = {}): Promise<Caller> {
  upstream = await startScriptedUpstream(options);
  gateway = await startGatewayUnderTest({
    upstreams: { up: { url: upstream.url, addresses: "loopback", ...upstreamConfig } },
    servers: { s: { up: "" } },
  });
  return openSession({ gateway, server: "s" });
}

async function restart(): Promise<void> {
  const { port } = upstream;
  await upstream.close();
  upstream = await startScriptedUpstream({ ...options, port });
}

function callAll(caller: Caller): Promise<Received[]> {
  return Promise.all(names.map((name, id) => legacyCall(caller, "tools/call", { name, arguments: {} }, id)));
}

test("an upstream restarted between calls costs one initialize: 20 parallel calls succeed and are executed once", async () => {
  const caller = await start();
  await legacyCall(caller, "tools/call", { name: "tool-0", arguments: {} });
  await restart();
  const answers = await callAll(caller);
  expect(answers.map(({ json }) => json["id"])).toEqual(names.map((_, id) => id));
  expect(answers.filter(({ json }) => json["result"] !== undefined && refusalIn({ json }).code === "")).toHaveLength(
    20,
  );
  expect([...upstream.ledger].sort()).toEqual([...names].sort());
  expect(upstream.count("initialize")).toBe(1);
});

test("an upstream that is down is suspended: calls are refused at once, lists go on from what was read last", async () => {
  const caller = await start({ breaker: { failures: 3, pauseMs: 60_000 } });
  await legacyCall(caller, "tools/call", { name: "tool-0", arguments: {} });
  await upstream.close();
  for (let at = 0; at < 3; at += 1) await legacyCall(caller, "tools/call", { name: "tool-1", arguments: {} });
  const refused = await legacyCall(caller, "tools/call", { name: "tool-2", arguments: {} });
  expect(refused.status).toBe(200);
  expect(refusalIn(refused)).toMatchObject({ code: "UPSTREAM_SUSPENDED", outcome: "failed" });
  const listed = await legacyCall(caller, "tools/list");
  expect((listed.json["result"] as { tools: unknown[] }).tools).toHaveLength(20);
  expect(await gateway.metrics()).toContain('sallyport_upstream_suspended{upstream="up"} 1');
});

test("a tool that may be silent for long is waited for, while others of its upstream are not", async () => {
  const caller = await start({
    timeouts: { firstByteMs: 500 },
    deadlines: [{ tool: "tool-1*", firstByteMs: 60_000 }],
  });
  const held: (() => void)[] = [];
  upstream.script((request, wire) => {
    if (request.rpc["method"] !== "tools/call") return false;
    const { name } = request.rpc["params"] as { name: string };
    const result = { content: [{ type: "text", text: name }] };
    held.push(() => {
      wire.json(200, { jsonrpc: "2.0", id: request.rpc["id"], result });
    });
    return true;
  });
  const patient = legacyCall(caller, "tools/call", { name: "tool-10", arguments: {} });
  const hasty = await legacyCall(caller, "tools/call", { name: "tool-2", arguments: {} });
  expect(refusalIn(hasty).code).toBe("UPSTREAM_TIMED_OUT");
  for (const answer of held) answer();
  expect((await patient).text).toContain("tool-10");
});
