import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { event, startScriptedUpstream } from "../upstream/scripted-upstream.ts";
import type { Script, ScriptedUpstream } from "../upstream/scripted-upstream.ts";
import { startGatewayUnderTest } from "./gateway-under-test.ts";
import type { GatewayUnderTest } from "./gateway-under-test.ts";
import type { Loose } from "./http-client.ts";
import { openStream } from "./stream-client.ts";
import { legacyCall, legacyHeaders, modernCall, modernHeaders, modernMeta, openSession } from "./wire-client.ts";
import type { Caller } from "./wire-client.ts";

const hidden = "\u{200b}";
const levelKey = "io.modelcontextprotocol/logLevel";

let upstreams: Readonly<Record<"legacy" | "modern" | "mute", ScriptedUpstream>>;
let gateway: GatewayUnderTest;

/** Says one thing at every level whatever was asked for, one that is no message, answers, and goes on talking. */
const talk: Script = ({ rpc }, wire) => {
  const { id, method } = rpc;
  if (method === "logging/setLevel") {
    wire.json(200, { jsonrpc: "2.0", id, result: {} });
    return true;
  }
  if (method !== "tools/call") return false;
  const say = (params: Loose): void => {
    wire.chunk(event({ jsonrpc: "2.0", method: "notifications/message", params }));
  };
  wire.eventStream();
  for (const level of ["debug", "info", "warning", "error"]) say({ level, logger: `l${hidden}`, data: { at: level } });
  say({ level: "loud", data: 1 });
  say({ level: "error" });
  wire.chunk(event({ jsonrpc: "2.0", id, result: { content: [], resultType: "complete" } }));
  say({ level: "error", data: "too late" });
  wire.endChunks();
  return true;
};

beforeAll(async () => {
  const capabilities = { tools: {}, logging: {} };
  upstreams = {
    legacy: await startScriptedUpstream({ era: "legacy", capabilities }),
    modern: await startScriptedUpstream({ era: "modern", capabilities }),
    mute: await startScriptedUpstream({ era: "legacy" }),
  };
  for (const upstream of [upstreams.legacy, upstreams.modern]) upstream.script(talk);
  gateway = await startGatewayUnderTest({
    upstreams: Object.fromEntries(Object.entries(upstreams).map(([name, { url }]) => [name, url])),
    servers: { legacy: { legacy: "" }, modern: { modern: "" }, mute: { mute: "" } },
  });
});

afterAll(async () => {
  await gateway.remove();
  for (const upstream of Object.values(upstreams)) await upstream.close();
});

async function logsOfCall(client: string, server: string, level: string | undefined): Promise<readonly Loose[]> {
  const caller: Caller = { gateway, server };
  const session = client === "legacy" ? await openSession(caller) : undefined;
  if (session !== undefined && level !== undefined) await legacyCall(session, "logging/setLevel", { level });
  const _meta = session === undefined ? { ...modernMeta, ...(level === undefined ? {} : { [levelKey]: level }) } : {};
  const stream = await openStream({
    port: gateway.port,
    path: `/${server}/mcp`,
    method: "POST",
    headers: session === undefined ? modernHeaders(caller, "tools/call", "echo") : legacyHeaders(session),
    body: { jsonrpc: "2.0", id: 9, method: "tools/call", params: { name: "echo", arguments: {}, _meta } },
  });
  while (!stream.ended) await stream.received(stream.messages.length + 1);
  const messages = stream.messages.length > 0 ? stream.messages : [JSON.parse(stream.text) as Loose];
  expect(messages.at(-1)).toMatchObject({ id: 9, result: { content: [] } });
  return messages.slice(0, -1);
}

const levelsOf = (logs: readonly Loose[]): unknown[] => logs.map(({ params }) => (params as Loose)["level"]);

describe.each(
  ["legacy", "modern"].flatMap((client) => ["legacy", "modern"].map((server) => [client, server] as const)),
)("what a %s client hears of the log of a %s upstream during its call", (client, server) => {
  it.each<[string, string[]]>([
    ["debug", ["debug", "info", "warning", "error"]],
    ["warning", ["warning", "error"]],
    ["emergency", []],
  ])("from %s on is %j, before the answer, and nothing after it", async (level, heard) => {
    expect(levelsOf(await logsOfCall(client, server, level))).toEqual(heard);
  });

  it("is cleaned, and otherwise what the upstream said", async () => {
    const [first] = await logsOfCall(client, server, "error");
    expect(first).toEqual({
      jsonrpc: "2.0",
      method: "notifications/message",
      params: { level: "error", logger: "l", data: { at: "error" } },
    });
  });

  it(
    client === "legacy"
      ? "is what servers say by themselves, until it sets a level for its session"
      : "is nothing unless its request names a level",
    async () => {
      const heard = client === "legacy" ? ["info", "warning", "error"] : [];
      expect(levelsOf(await logsOfCall(client, server, undefined))).toEqual(heard);
    },
  );
});

describe("logging", () => {
  it.each<["legacy" | "modern" | "mute", boolean]>([
    ["legacy", true],
    ["modern", true],
    ["mute", false],
  ])("of a server before a %s upstream is declared to clients of both eras: %s", async (server, declared) => {
    const caller = { gateway, server };
    const init = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } };
    for (const answer of [await legacyCall(caller, "initialize", init), await modernCall(caller, "server/discover")]) {
      const capabilities = (answer.json["result"] as Loose)["capabilities"] as Loose;
      expect(Object.hasOwn(capabilities, "logging")).toBe(declared);
    }
  });
});
