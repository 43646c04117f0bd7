import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startGatewayUnderTest, startIssuer } from "./gateway-under-test.ts";
import type { IssuerUnderTest } from "./gateway-under-test.ts";
import type { Loose, Received } from "./http-client.ts";
import { startTaskUpstream } from "./task-upstream.ts";
import { legacyCall, modernHeaders, modernMeta, openSession, post } from "./wire-client.ts";
import type { Caller } from "./wire-client.ts";

let issuer: IssuerUnderTest;
beforeAll(async () => {
  issuer = await startIssuer();
});
afterAll(() => issuer.close());

const uri = "test://made/7";
const capabilities = { extensions: { "io.modelcontextprotocol/tasks": {} } };

function modernAsk(caller: Caller, method: string, params: Loose): Promise<Received> {
  const _meta = { ...modernMeta, "io.modelcontextprotocol/clientCapabilities": capabilities };
  const name = String(params["taskId"] ?? params["name"] ?? params["uri"]);
  return post(caller, modernHeaders(caller, method, name), {
    jsonrpc: "2.0",
    id: 1,
    method,
    params: { ...params, _meta },
  });
}

const resultOf = ({ json }: Received): Loose => json["result"] as Loose;

describe.each(["legacy", "modern"] as const)("a resource that the result of a task names (%s)", (era) => {
  it("can be read once the result was fetched", async () => {
    const upstream = await startTaskUpstream(era);
    const gateway = await startGatewayUnderTest({
      issuer,
      upstreams: { up: upstream.url },
      servers: { s: { up: "" } },
    });
    const signedIn: Caller = { gateway, server: "s", token: await issuer.mint(gateway.resource("s")) };
    const caller = era === "legacy" ? await openSession(signedIn) : signedIn;
    const ask = era === "legacy" ? legacyCall : modernAsk;
    upstream.answer("resources/read", ({ rpc }, wire) => {
      const more = era === "modern" ? { resultType: "complete", ttlMs: 0, cacheScope: "private" } : {};
      wire.json(200, { jsonrpc: "2.0", id: rpc["id"], result: { contents: [{ uri, text: "made" }], ...more } });
    });
    const begun = await ask(caller, "tools/call", {
      name: "slow",
      arguments: {},
      ...(era === "legacy" ? { task: {} } : {}),
    });
    const taskId = (resultOf(begun)["taskId"] ?? (resultOf(begun)["task"] as Loose)["taskId"]) as string;
    Object.assign(upstream.last(), {
      status: "completed",
      result: { content: [{ type: "resource_link", uri, name: "made" }] },
    });
    expect((await ask(caller, "resources/read", { uri })).json["error"]).toMatchObject({ data: { uri } });
    const fetched = await ask(caller, era === "legacy" ? "tasks/result" : "tasks/get", { taskId });
    expect(JSON.stringify(resultOf(fetched))).toContain(uri);
    expect(resultOf(await ask(caller, "resources/read", { uri }))).toMatchObject({ contents: [{ uri, text: "made" }] });
    await gateway.remove();
    await upstream.close();
  });
});
