import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startScriptedUpstream } from "../upstream/scripted-upstream.ts";
import type { ScriptedUpstream } from "../upstream/scripted-upstream.ts";
import { startRedis } from "../setup/redis.ts";
import { startGatewayUnderTest, until } from "./gateway-under-test.ts";
import type { GatewayOptions, GatewayUnderTest } from "./gateway-under-test.ts";
import type { Loose, Received } from "./http-client.ts";
import { modernCall, refusalIn } from "./wire-client.ts";

const anyone = { anyone: true };
const allow = { id: "all", effect: "allow", who: anyone, what: { anything: true } };
const constrain = (id: string, more: Loose): Loose => ({
  id,
  effect: "constrain",
  who: anyone,
  what: { upstream: "up", tool: "echo" },
  ...more,
});

let upstream: ScriptedUpstream;
let gateway: GatewayUnderTest;

beforeEach(async () => {
  const tools = ["echo", "other"].map((name) => ({ name, inputSchema: { type: "object" } }));
  upstream = await startScriptedUpstream({ tools });
});

afterEach(async () => {
  await gateway.remove();
  await upstream.close();
});

async function start(rules: readonly Loose[], more: Partial<GatewayOptions> = {}): Promise<void> {
  gateway = await startGatewayUnderTest({
    upstreams: { up: upstream.url },
    servers: { s: { up: "" } },
    rules: [allow, ...rules],
    ...more,
  });
}

const call = (name: string, args: Loose = {}): Promise<Received> =>
  modernCall({ gateway, server: "s" }, "tools/call", { name, arguments: args });

describe("a deadline of policy", () => {
  it.each([
    ["the upstream's own is longer", {}],
    ["the item's own is longer", { deadlines: [{ tool: "echo", callMs: 60_000 }] }],
  ])("ends the call where %s, and no other call", async (_which, configured) => {
    const url = upstream.url;
    const upstreams = { up: Object.keys(configured).length === 0 ? url : { url, ...configured } };
    await start([constrain("soon", { deadlineMs: 50 })], { upstreams });
    const answers: (() => void)[] = [];
    upstream.script(({ rpc }, wire) => {
      if (rpc["method"] !== "tools/call") return false;
      answers.push(() => {
        wire.json(200, { jsonrpc: "2.0", id: rpc["id"], result: { resultType: "complete", content: [] } });
      });
      return true;
    });
    const other = call("other");
    expect(refusalIn(await call("echo")).code).toBe("UPSTREAM_TIMED_OUT");
    await until(() => answers.length === 2);
    for (const answer of answers) answer();
    expect(refusalIn(await other).code).toBe("");
  });
});

describe("evidence that policy requires", () => {
  it("is kept before the call is forwarded, or it is not forwarded, where the gateway only does its best", async () => {
    const redis = await startRedis();
    const audit = { mode: "best-effort", sinks: [{ redis: {} }] };
    await start([constrain("kept", { audit: "required" })], { redisUrl: redis.url, config: { audit } });
    expect(refusalIn(await call("echo")).code).toBe("");
    expect(await redis.command("XLEN sallyport:audit")).not.toBe(":0");
    // The store answers, but the stream cannot be written to.
    await redis.command("DEL sallyport:audit");
    await redis.command("SET sallyport:audit something-else");
    const before = upstream.ledger.length;
    const refused = await call("echo");
    expect([refused.status, refusalIn(refused).code]).toEqual([503, "AUDIT_UNAVAILABLE"]);
    expect(refusalIn(await call("other")).code).toBe("");
    expect(upstream.ledger.slice(before)).toEqual(["other"]);
    await redis.command("DEL sallyport:audit");
    await until(async () => refusalIn(await call("echo")).code === "");
    await redis.stop();
  });
});

describe("evidence of a call that policy constrains", () => {
  it("has the fields that rules name and that their conditions read, and the rules that applied", async () => {
    await start([
      constrain("names", { replayFields: ["/ticket", "/absent"] }),
      constrain("reads", { when: "has(args.count) && args.count > 1", deadlineMs: 60_000 }),
      constrain("never", { when: "has(args.count) && args.count > 100", deadlineMs: 60_000 }),
    ]);
    const args = { ticket: "OPS-1", count: 5, other: "kept to itself" };
    await call("echo", args);
    await expect.poll(() => gateway.audit().at(-1)?.type).toBe("returned");
    const { read, constrained } = gateway.audit().at(-1)!;
    expect(read).toEqual({ "/ticket": "OPS-1", "/count": 5 });
    expect(constrained).toEqual(["names", "reads"]);
    await call("other", args);
    await expect.poll(() => gateway.audit().at(-1)?.exposedName).toBe("other");
    expect(gateway.audit().at(-1)).not.toHaveProperty("constrained");
  });
});
