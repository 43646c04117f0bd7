import { Agent } from "node:http";
import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { startScriptedUpstream } from "../upstream/scripted-upstream.ts";
import { startGatewayUnderTest, until } from "./gateway-under-test.ts";
import { readResponse } from "./http-client.ts";
import type { Loose } from "./http-client.ts";
import { modernCall, refusalIn } from "./wire-client.ts";

describe("a gateway that drains", () => {
  it("finishes the call under way, keeps its evidence, refuses what comes late as DRAINING, and then is gone", async () => {
    const upstream = await startScriptedUpstream();
    const gateway = await startGatewayUnderTest({
      upstreams: { alpha: upstream.url },
      servers: { alpha: { alpha: "" } },
      config: { limits: { drainMs: 600_000 } },
    });
    // Connections that are kept alive must not keep a gateway that is done.
    const agent = new Agent({ keepAlive: true });
    const caller = { gateway, server: "alpha", agent };
    await modernCall(caller, "tools/list");
    let answerNow: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (answerNow = resolve));
    upstream.script(async ({ rpc }) => {
      if (rpc["method"] === "tools/call") await held;
      return false;
    });

    const underWay = modernCall(caller, "tools/call", { name: "echo", arguments: { n: 1 } });
    await until(() => upstream.count("tools/call") === 1);
    // This connection stands, and its request is half sent, when the gateway begins to drain.
    const transcript: Buffer[] = [];
    const late = connect(gateway.port, "127.0.0.1");
    late.on("data", (bytes) => transcript.push(bytes));
    const lateEnded = new Promise((resolve) => late.once("close", resolve));
    await new Promise((resolve) => late.write(`POST /alpha/mcp HTTP/1.1\r\nHost: ${gateway.host}\r\n`, resolve));

    const stopped = gateway.stop();
    late.write("Content-Length: 2\r\n\r\n{}");
    await until(() => transcript.length > 0);
    const refused = readResponse(Buffer.concat(transcript).toString("latin1"));
    expect([refused.status, refusalIn(refused).code]).toEqual([503, "DRAINING"]);
    expect(refused.headers["retry-after"]).toBe("2");
    expect(refused.headers.connection).toBe("close");

    answerNow();
    const finished = await underWay;
    expect((finished.json["result"] as Loose)["content"]).toEqual([{ type: "text", text: '{"n":1}' }]);
    await stopped;
    await lateEnded;
    const types = gateway.audit().map(({ type }) => type);
    expect(types.filter((type) => type === "attempted" || type === "returned")).toEqual(["attempted", "returned"]);
    expect(gateway.audit().find(({ type }) => type === "strangers")?.refusal?.code).toBe("DRAINING");
    await expect(modernCall({ gateway, server: "alpha" }, "tools/list")).rejects.toThrow(/ECONNREFUSED/);
    agent.destroy();
    await gateway.remove();
    await upstream.close();
  });

  it("cuts off what is still under way after drainMs, with its outcome kept", async () => {
    const upstream = await startScriptedUpstream();
    const gateway = await startGatewayUnderTest({
      upstreams: { alpha: upstream.url },
      servers: { alpha: { alpha: "" } },
      config: { limits: { drainMs: 50 } },
    });
    const caller = { gateway, server: "alpha" };
    await modernCall(caller, "tools/list");
    upstream.script(({ rpc }) => rpc["method"] === "tools/call");
    const cut = modernCall(caller, "tools/call", { name: "echo", arguments: {} });
    const failed = expect(cut).rejects.toThrow(/ECONNRESET|socket hang up/);
    await until(() => upstream.count("tools/call") === 1);
    await gateway.stop();
    await failed;
    const last = gateway.audit().filter(({ method }) => method === "tools/call");
    expect(last.map(({ type, outcome }) => [type, outcome])).toEqual([
      ["attempted", undefined],
      ["unknown", "unknown"],
    ]);
    await gateway.remove();
    await upstream.close();
  });
});
