import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { startRedis } from "../setup/redis.ts";
import type { RedisUnderTest } from "../setup/redis.ts";
import { startScriptedUpstream } from "../upstream/scripted-upstream.ts";
import type { Script, ScriptedUpstream } from "../upstream/scripted-upstream.ts";
import { startGatewayUnderTest, startIssuer, until } from "./gateway-under-test.ts";
import type { GatewayOptions, GatewayUnderTest, IssuerUnderTest } from "./gateway-under-test.ts";
import type { Loose, Received } from "./http-client.ts";
import { errorCodeIn, legacyCall, modernCall, openSession, refusalIn } from "./wire-client.ts";
import type { Caller } from "./wire-client.ts";

const allow = { id: "all", effect: "allow", who: { anyone: true }, what: { anything: true } };
const tools = ["echo", "other"].map((name) => ({ name, inputSchema: { type: "object" } }));

const servePrompts: Script = ({ rpc }, wire) => {
  if (!String(rpc["method"]).startsWith("prompts/")) return false;
  const result = rpc["method"] === "prompts/list" ? { prompts: [{ name: "greet" }] } : { messages: [] };
  wire.json(200, { jsonrpc: "2.0", id: rpc["id"], result: { resultType: "complete", ...result } });
  return true;
};

let issuer: IssuerUnderTest;
let redis: RedisUnderTest;
let upstream: ScriptedUpstream;
let gateways: GatewayUnderTest[] = [];

beforeAll(async () => {
  issuer = await startIssuer();
  redis = await startRedis();
  upstream = await startScriptedUpstream({ tools, capabilities: { tools: {}, prompts: {} } });
  upstream.script(servePrompts);
});

afterEach(async () => {
  upstream.script(servePrompts);
  for (const gateway of gateways) await gateway.remove();
  gateways = [];
});

afterAll(async () => {
  await upstream.close();
  await issuer.close();
  await redis.stop();
});

let serial = 0;

/** A gateway whose one constrain rule has an id of its own, so that tests do not count together. */
async function start(limits: unknown, more: Partial<GatewayOptions> = {}, rule: Loose = {}): Promise<GatewayUnderTest> {
  serial += 1;
  const what = { upstream: "up", tool: "echo" };
  const few = { id: `few-${serial}`, effect: "constrain", who: { anyone: true }, what, limits, ...rule };
  return open([allow, few], more);
}

async function open(rules: readonly Loose[], more: Partial<GatewayOptions> = {}): Promise<GatewayUnderTest> {
  const gateway = await startGatewayUnderTest({
    issuer,
    upstreams: { up: upstream.url },
    servers: { s: { up: "" } },
    rules,
    ...more,
  });
  gateways.push(gateway);
  return gateway;
}

async function callerOf(gateway: GatewayUnderTest, sub = "ada", client = "desk"): Promise<Caller> {
  const token = await issuer.mint(gateway.resource("s"), { sub, client_id: client });
  return { gateway, server: "s", token };
}

const echo = (caller: Caller, name = "echo"): Promise<Received> =>
  modernCall(caller, "tools/call", { name, arguments: {} });
const codes = async (answers: readonly Promise<Received>[]): Promise<string[]> =>
  (await Promise.all(answers)).map((answer) => refusalIn(answer).code);

describe("a tool that policy limits", () => {
  it("is told in a text that a model can act on: the rule's words, the seconds to wait, the reference", async () => {
    const gateway = await start({ rate: "1/h", per: "principal" }, {}, { message: "Exports are few." });
    const ada = await callerOf(gateway);
    expect(await codes([echo(ada)])).toEqual([""]);
    const before = upstream.ledger.length;
    const refused = await echo(ada);
    const { content, isError } = refused.json["result"] as { content: [{ text: string }]; isError: boolean };
    expect([refused.status, isError]).toEqual([200, true]);
    const { ref } = refusalIn(refused);
    expect(content[0].text).toMatch(
      new RegExp(`^Too many calls in a short time\\. Exports are few\\. Wait 3[56]\\d\\d seconds, .* ref ${ref}\\)$`),
    );
    expect(upstream.ledger).toHaveLength(before);
    expect(await codes([echo(await callerOf(gateway, "bob")), echo(ada, "other")])).toEqual(["", ""]);
    expect(await codes([echo(await callerOf(gateway, "ada", "phone"))])).toEqual(["RATE_LIMITED"]);
    await expect.poll(() => gateway.audit().some((event) => event.ref === ref)).toBe(true);
    const event = gateway.audit().find((one) => one.ref === ref);
    expect(event).toMatchObject({ type: "refused", constrained: [`few-${serial}`], refusal: { code: "RATE_LIMITED" } });
  });

  it("is still listed", async () => {
    const gateway = await start({ quota: "1/day", per: "principal" });
    const ada = await callerOf(gateway);
    await echo(ada);
    expect(refusalIn(await echo(ada)).code).toBe("QUOTA_EXHAUSTED");
    const listed = (await modernCall(ada, "tools/list")).json["result"] as { tools: Loose[] };
    expect(listed.tools.map((tool) => tool["name"])).toEqual(["echo", "other"]);
  });

  it("counts for a legacy client as for a modern one", async () => {
    const gateway = await start({ quota: "2/day", per: "item" });
    const ada = await callerOf(gateway);
    const session = await openSession(ada);
    const legacy = (): Promise<Received> => legacyCall(session, "tools/call", { name: "echo", arguments: {} });
    expect(refusalIn(await legacy()).code).toBe("");
    expect(refusalIn(await echo(ada)).code).toBe("");
    expect([refusalIn(await legacy()).code, refusalIn(await echo(ada)).code]).toEqual([
      "QUOTA_EXHAUSTED",
      "QUOTA_EXHAUSTED",
    ]);
  });

  it("is counted once for all its limits or not at all: a use that one refuses takes nothing from the others", async () => {
    const gateway = await start([
      { quota: "2/day", per: "server" },
      { rate: "1/h", per: "principal" },
    ]);
    const [ada, bob] = [await callerOf(gateway), await callerOf(gateway, "bob")];
    expect(refusalIn(await echo(ada)).code).toBe("");
    for (let n = 0; n < 5; n += 1) expect(refusalIn(await echo(ada)).code).toBe("RATE_LIMITED");
    expect(refusalIn(await echo(bob)).code).toBe("");
    expect(refusalIn(await echo(await callerOf(gateway, "eve"))).code).toBe("QUOTA_EXHAUSTED");
  });

  it("is counted in the metrics by kind and server, not by principal", async () => {
    const gateway = await start({ rate: "1/h", per: "principal" });
    const ada = await callerOf(gateway);
    for (let n = 0; n < 3; n += 1) await echo(ada);
    expect(await gateway.metrics()).toMatch(/^sallyport_limited_total\{server="s",kind="rate"\} 2$/m);
  });
});

describe("a prompt that policy limits", () => {
  it("is refused with a JSON-RPC error that says so", async () => {
    const what = { upstream: "up", prompt: "greet" };
    const gateway = await start({ quota: "1/day", per: "principal" }, {}, { what });
    const ada = await callerOf(gateway);
    expect(refusalIn(await modernCall(ada, "prompts/get", { name: "greet" })).code).toBe("");
    const refused = await modernCall(ada, "prompts/get", { name: "greet" });
    expect([refused.status, errorCodeIn(refused), refusalIn(refused).code]).toEqual([200, -32603, "QUOTA_EXHAUSTED"]);
  });
});

describe("calls under way", () => {
  /** Holds every call until it is let go. */
  function holding(): { readonly held: () => number; letGo: () => void } {
    const waiting: (() => void)[] = [];
    upstream.script((request, wire) => {
      const { rpc } = request;
      if (rpc["method"] !== "tools/call") return servePrompts(request, wire);
      waiting.push(() => {
        wire.json(200, { jsonrpc: "2.0", id: rpc["id"], result: { resultType: "complete", content: [] } });
      });
      return true;
    });
    return {
      held: () => waiting.length,
      letGo: () => {
        waiting.splice(0).forEach((answer) => {
          answer();
        });
      },
    };
  }

  it("are so many at once, at all replicas together, and the next goes once one has ended", async () => {
    const held = holding();
    const shared = { redisUrl: redis.url };
    const one = await start({ concurrency: 2, per: "server" }, shared);
    const other = await startGatewayUnderTest({
      issuer,
      upstreams: { up: upstream.url },
      servers: { s: { up: "" } },
      rules: [
        allow,
        {
          id: `few-${serial}`,
          effect: "constrain",
          who: { anyone: true },
          what: { upstream: "up", tool: "echo" },
          limits: { concurrency: 2, per: "server" },
        },
      ],
      ...shared,
    });
    gateways.push(other);
    const [ada, bob] = [await callerOf(one), await callerOf(other, "bob")];
    const first = [echo(ada), echo(bob)];
    await until(() => held.held() === 2);
    expect(await codes([echo(ada), echo(bob)])).toEqual(["CONCURRENCY_LIMITED", "CONCURRENCY_LIMITED"]);
    held.letGo();
    expect(await codes(first)).toEqual(["", ""]);
    const next = echo(bob);
    await until(() => held.held() === 1);
    held.letGo();
    expect(await codes([next])).toEqual([""]);
  });
});

describe("two replicas on one store", () => {
  it("let exactly a quota through under load", async () => {
    const rules = [
      allow,
      {
        id: "q",
        effect: "constrain",
        who: { anyone: true },
        what: { upstream: "up", tool: "echo" },
        limits: { quota: "60/day", per: "principal" },
      },
    ];
    const both = [await open(rules, { redisUrl: redis.url }), await open(rules, { redisUrl: redis.url })];
    const callers = [await callerOf(both[0]!), await callerOf(both[1]!)];
    const before = upstream.ledger.length;
    const told: string[] = [];
    for (let round = 0; round < 10; round += 1)
      told.push(...(await codes(Array.from({ length: 16 }, (_, n) => echo(callers[n % 2]!)))));
    expect(told.filter((code) => code === "")).toHaveLength(60);
    expect(told.filter((code) => code === "QUOTA_EXHAUSTED")).toHaveLength(100);
    expect(upstream.ledger.length - before).toBe(60);
  });
});

describe("a store that is gone", () => {
  const unlimited = "other";
  const anybody = async (gateway: GatewayUnderTest): Promise<Caller> => Promise.resolve({ gateway, server: "s" });

  it("refuses what policy limits and nothing else, and limits it again once it is back", async () => {
    const own = await startRedis();
    const auth = { auth: { none: true } };
    const gateway = await start({ quota: "1/day", per: "server" }, { redisUrl: own.url, config: auth });
    const caller = await anybody(gateway);
    expect(await codes([echo(caller, unlimited)])).toEqual([""]);
    const before = upstream.ledger.length;
    await own.kill();
    const refused = await echo(caller);
    expect([refused.status, refusalIn(refused).code]).toEqual([503, "STORE_UNAVAILABLE"]);
    expect(refused.headers["retry-after"]).toBe("2");
    expect(upstream.ledger).toHaveLength(before);
    expect(await codes([echo(caller, unlimited)])).toEqual([""]);
    await own.restart();
    await until(async () => refusalIn(await echo(caller)).code === "");
    expect(refusalIn(await echo(caller)).code).toBe("QUOTA_EXHAUSTED");
    await own.stop();
  });
});
