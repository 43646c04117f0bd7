import { afterEach, describe, expect, it } from "vitest";
import { limits } from "../../src/model/limits.ts";
import { startScriptedUpstream } from "../upstream/scripted-upstream.ts";
import type { ScriptedUpstream } from "../upstream/scripted-upstream.ts";
import { startGatewayUnderTest, until } from "./gateway-under-test.ts";
import type { GatewayUnderTest } from "./gateway-under-test.ts";
import { send } from "./http-client.ts";
import type { Loose, Received } from "./http-client.ts";
import { legacyHeaders, modernCall, modernHeaders, modernMeta, openSession, refusalIn } from "./wire-client.ts";

let upstream: ScriptedUpstream;
let gateway: GatewayUnderTest;

afterEach(async () => {
  await gateway.remove();
  await upstream.close();
});

const integer = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
const tools = [{ name: "echo", inputSchema: integer, outputSchema: integer }];
const hidden = "\u{200b}";

async function start(schema: Loose, config: Loose = {}): Promise<void> {
  upstream = await startScriptedUpstream({ tools });
  gateway = await startGatewayUnderTest({
    upstreams: { up: { url: upstream.url, addresses: "loopback", schema } },
    servers: { s: { up: "" } },
    config,
  });
}

/** The tool answers with `structured`, whatever it is asked. */
function answerWith(structured: unknown, text = "ok"): void {
  upstream.script(({ rpc }, wire) => {
    if (rpc["method"] !== "tools/call") return false;
    const result = { resultType: "complete", content: [{ type: "text", text }], structuredContent: structured };
    wire.json(200, { jsonrpc: "2.0", id: rpc["id"], result });
    return true;
  });
}

const echo = (n: unknown): Promise<Received> =>
  modernCall({ gateway, server: "s" }, "tools/call", { name: "echo", arguments: { n } });
const findings = (): string[] => gateway.audit().flatMap((event) => (event.findings ?? []).map(({ kind }) => kind));

describe("schemas of an upstream", () => {
  it.each([
    ["enforce", "ARGUMENTS_INVALID", 0],
    ["warn", "", 1],
    ["off", "", 0],
  ])("in mode %s treat arguments that break them as told", async (mode, code, noted) => {
    await start({ arguments: mode });
    answerWith({ n: 1 });
    expect(refusalIn(await echo("one")).code).toBe(code);
    expect(upstream.count("tools/call")).toBe(code === "" ? 1 : 0);
    await gateway.stop();
    expect(findings().filter((kind) => kind === "schema-violated").length > 0).toBe(noted > 0);
  });

  it.each([
    ["enforce", "RESULT_INVALID", 0],
    ["warn", "", 1],
    ["off", "", 0],
  ])("in mode %s treat results that break them as told", async (mode, code, noted) => {
    await start({ results: mode });
    answerWith({ n: "one" });
    const said = await echo(1);
    expect(refusalIn(said).code).toBe(code);
    expect(said.text.includes('"one"')).toBe(code === "");
    await gateway.stop();
    expect(findings().filter((kind) => kind === "schema-violated").length > 0).toBe(noted > 0);
  });

  it("withhold a result that lacks what the schema promises", async () => {
    await start({});
    answerWith(undefined);
    expect(refusalIn(await echo(1)).code).toBe("RESULT_INVALID");
  });
});

describe("hidden text in results", () => {
  it.each([
    ["clean", "visible"],
    ["observe", `visi${hidden}ble`],
  ])("with `content.results: %s` is delivered accordingly, and noted either way", async (results, text) => {
    await start({}, { content: { results } });
    answerWith({ n: 1 }, `visi${hidden}ble`);
    expect((await echo(1)).json).toMatchObject({ result: { content: [{ text }] } });
    await gateway.stop();
    expect(findings()).toContain("invisible-text-removed");
  });
});

describe("calls under way", () => {
  const hang = (): void => {
    upstream.script(({ rpc }) => rpc["method"] === "tools/call");
  };
  const body = (meta: Loose): string =>
    JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "echo", arguments: { n: 1 }, _meta: meta },
    });

  it("of one principal are bounded, and a modern client that leaves ends its call upstream and frees its slot", async () => {
    await start({});
    await echo(1);
    hang();
    const leave = new AbortController();
    const headers = modernHeaders({}, "tools/call", "echo");
    const open = Array.from({ length: limits.callsInFlightPerPrincipalMax }, () =>
      send({ port: gateway.port, path: "/s/mcp", headers, body: body(modernMeta), signal: leave.signal }).catch(
        () => undefined,
      ),
    );
    // The first call, which was answered, and all that now hang.
    const attempted = (): number => gateway.audit().filter(({ type }) => type === "attempted").length;
    await until(() => attempted() === 1 + limits.callsInFlightPerPrincipalMax);
    expect(refusalIn(await echo(1)).code).toBe("CONCURRENCY_LIMITED");
    leave.abort();
    await Promise.all(open);
    await until(() => upstream.abandoned.length > 0);
    answerWith({ n: 1 });
    await until(async () => refusalIn(await echo(1)).code === "");
  });

  it("of a legacy client go on when its connection is lost, and leave their outcome", async () => {
    await start({});
    const caller = await openSession({ gateway, server: "s" });
    await echo(1);
    let answer = (): void => undefined;
    upstream.script(({ rpc }, wire) => {
      if (rpc["method"] !== "tools/call") return false;
      answer = (): void => {
        wire.json(200, { jsonrpc: "2.0", id: rpc["id"], result: { content: [], structuredContent: { n: 1 } } });
      };
      return true;
    });
    const leave = new AbortController();
    const asked = upstream.count("tools/call");
    const lost = send({
      port: gateway.port,
      path: "/s/mcp",
      headers: legacyHeaders(caller),
      body: body({}),
      signal: leave.signal,
    });
    await until(() => upstream.count("tools/call") > asked);
    leave.abort();
    await lost.catch(() => undefined);
    // Time for the gateway to notice, and to do what it must not.
    await new Promise((resolve) => setTimeout(resolve, 150));
    answer();
    await until(() => gateway.audit().some(({ type, client }) => type === "returned" && client?.era === "legacy"));
    expect(upstream.abandoned).toEqual([]);
  });
});
