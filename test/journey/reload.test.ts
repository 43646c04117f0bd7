import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AuditEvent } from "../../src/audit/event.ts";
import { limits } from "../../src/model/limits.ts";
import { startRedis } from "../setup/redis.ts";
import { startGatewayUnderTest, startIssuer, until } from "./gateway-under-test.ts";
import type { GatewayOptions, GatewayUnderTest, IssuerUnderTest } from "./gateway-under-test.ts";
import type { Loose } from "./http-client.ts";
import { startListeningUpstream, tool } from "./listening-bench.ts";
import type { ListeningUpstream } from "./listening-bench.ts";
import { openStream } from "./stream-client.ts";
import type { OpenStream } from "./stream-client.ts";
import { legacyHeaders, modernCall, modernHeaders, modernMeta, openSession } from "./wire-client.ts";
import type { Caller } from "./wire-client.ts";

type Rule = Readonly<Record<string, unknown>>;

let issuer: IssuerUnderTest;
let upstream: ListeningUpstream;

beforeAll(async () => {
  [issuer, upstream] = [await startIssuer(), await startListeningUpstream("legacy")];
  upstream.items.tool.push(tool("erase"));
});

afterAll(async () => {
  await upstream.close();
  await issuer.close();
});

function start(rules: readonly Rule[], more: Partial<GatewayOptions> = {}): Promise<GatewayUnderTest> {
  const { config = {}, ...rest } = more;
  return startGatewayUnderTest({
    issuer,
    upstreams: { alpha: upstream.url },
    servers: { alpha: { alpha: "" } },
    rules,
    config: { limits: { bundlePollMs: 100 }, ...config },
    ...rest,
  });
}

/** One rule for each of the people who may use the tool. */
function may(name: string, ...people: readonly string[]): Rule[] {
  return people.map((subject) => ({
    id: `${subject}-${name}`,
    effect: "allow",
    who: { issuer: "corp", subject },
    what: { upstream: "alpha", tool: name },
  }));
}

const echoForBoth = may("echo", "alice", "bob");
const broken: Rule[] = [{ id: "no-effect", who: { anyone: true }, what: { anything: true } }];

function write(gateway: GatewayUnderTest, rules: readonly Rule[]): void {
  writeFileSync(join(gateway.folder, "policies", "test.yaml"), JSON.stringify({ policy: "test", rules }));
}

async function callerAt(gateway: GatewayUnderTest, sub: string): Promise<Caller> {
  return { gateway, server: "alpha", token: await issuer.mint(gateway.resource("alpha"), { sub }) };
}

async function toolsOf(caller: Caller): Promise<unknown[]> {
  const answer = await modernCall(caller, "tools/list");
  return ((answer.json["result"] as Loose)["tools"] as Loose[]).map(({ name }) => name);
}

function readings(gateway: GatewayUnderTest): AuditEvent["bundle"][] {
  return gateway.audit().flatMap(({ bundle }) => (bundle === undefined ? [] : [bundle]));
}

async function verbosely(gateway: GatewayUnderTest): Promise<Loose> {
  return (await (await fetch(`${gateway.running.addresses.operations}/readyz?verbose`)).json()) as Loose;
}

async function listenedTo(caller: Caller): Promise<readonly OpenStream[]> {
  const params = { notifications: { toolsListChanged: true }, _meta: modernMeta };
  const at = { port: caller.gateway.port, path: "/alpha/mcp" };
  const modern = await openStream({
    ...at,
    headers: modernHeaders(caller, "subscriptions/listen"),
    body: { jsonrpc: "2.0", id: 1, method: "subscriptions/listen", params },
  });
  const headers = { ...legacyHeaders(await openSession(caller)), accept: "text/event-stream" };
  return [modern, await openStream({ ...at, headers })];
}

function changesOn(streams: readonly OpenStream[]): number[] {
  return streams.map(
    ({ messages }) => messages.filter(({ method }) => method === "notifications/tools/list_changed").length,
  );
}

describe("policies that change while the gateway serves", () => {
  it("are in force without a restart, and those alone whose view changed are told", async () => {
    const gateway = await start(echoForBoth);
    const [alice, bob] = [await callerAt(gateway, "alice"), await callerAt(gateway, "bob")];
    expect([await toolsOf(alice), await toolsOf(bob)]).toEqual([["echo"], ["echo"]]);
    const [hers, his] = [await listenedTo(alice), await listenedTo(bob)];

    write(gateway, [...echoForBoth, ...may("erase", "alice")]);
    await until(() => changesOn(hers).every((count) => count > 0));
    expect([await toolsOf(alice), await toolsOf(bob)]).toEqual([["echo", "erase"], ["echo"]]);
    expect([changesOn(hers), changesOn(his)]).toEqual([
      [1, 1],
      [0, 0],
    ]);
    expect([...hers, ...his].map(({ ended }) => ended)).toEqual([false, false, false, false]);
    await gateway.remove();
  });

  it("stay as they were while the files are broken, and the gateway says so everywhere", async () => {
    const gateway = await start(echoForBoth);
    const alice = await callerAt(gateway, "alice");
    const { digests } = await verbosely(gateway);
    write(gateway, broken);
    await until(async () => (await verbosely(gateway))["stale"] === true);
    expect(await toolsOf(alice)).toEqual(["echo"]);
    expect(await verbosely(gateway)).toMatchObject({ ready: true, digests, stale: true, faults: 1 });
    expect(await gateway.metrics()).toMatch(/^sallyport_bundle_stale 1$/mu);
    expect(gateway.log.filter((line) => line.includes("bundle.fault"))).toHaveLength(1);

    write(gateway, may("erase", "alice"));
    await until(async () => (await verbosely(gateway))["stale"] === false);
    expect(await toolsOf(alice)).toEqual(["erase"]);
    await gateway.stop();
    expect(readings(gateway)).toMatchObject([
      { because: "start", did: "replaced", faults: 0 },
      { because: "change", did: "refused", faults: 1 },
      { because: "change", did: "replaced", before: digests, faults: 0 },
    ]);
    await gateway.remove();
  });

  it("are read at a signal, whether or not anybody looked at the files", async () => {
    const gateway = await start(echoForBoth, { config: { limits: { bundlePollMs: 3_600_000 } } });
    const alice = await callerAt(gateway, "alice");
    write(gateway, may("erase", "alice"));
    await gateway.running.reload();
    expect(await toolsOf(alice)).toEqual(["erase"]);
    await gateway.running.reload();
    await gateway.stop();
    expect(readings(gateway).map((reading) => reading?.because)).toEqual(["start", "signal"]);
    await gateway.remove();
  });

  it("change what a hierarchy of scopes stands for, also for tokens that are remembered", async () => {
    const needs = (scope: string): Rule => ({
      ...may("echo", "alice")[0],
      who: { issuer: "corp", subject: "alice", scopes: [scope] },
    });
    const gateway = await start([needs("other")]);
    const alice: Caller = {
      gateway,
      server: "alpha",
      token: await issuer.mint(gateway.resource("alpha"), { scope: "crm:*" }),
    };
    expect(await toolsOf(alice)).toEqual([]);
    write(gateway, [needs("crm:read")]);
    await gateway.running.reload();
    expect(await toolsOf(alice)).toEqual(["echo"]);
    await gateway.remove();
  });
});

describe("a start at which the policies are broken", () => {
  const refused = /no-effect|expected/u;

  it("is refused where nothing was in force before", async () => {
    await expect(start(broken)).rejects.toThrow(refused);
  });

  it("serves what was last in force and is kept in a file, and says so", async () => {
    const folder = mkdtempSync(join(tmpdir(), "sallyport-kept-"));
    const config = { lastGoodBundle: join(folder, "bundle"), limits: { bundlePollMs: 100 } };
    const before = await start(echoForBoth, { config });
    await before.remove();
    expect(readFileSync(config.lastGoodBundle, "utf8")).not.toContain("alice");

    const gateway = await start(broken, { config });
    expect(await toolsOf(await callerAt(gateway, "alice"))).toEqual(["echo"]);
    expect(await verbosely(gateway)).toMatchObject({ ready: true, stale: true, faults: 1 });
    expect(gateway.log.some((line) => line.includes("bundle.refused"))).toBe(true);
    // Once they are mended, they serve.
    write(gateway, may("erase", "alice"));
    await until(async () => (await verbosely(gateway))["stale"] === false);
    expect(await toolsOf(await callerAt(gateway, "alice"))).toEqual(["erase"]);
    await gateway.stop();
    expect(readings(gateway)[0]).toMatchObject({ because: "start", did: "restored", faults: 1 });
    await gateway.remove();
    rmSync(folder, { recursive: true });
  });

  it.each<[string, (path: string) => Partial<GatewayOptions>]>([
    ["another key sealed", () => ({ sessionKey: "another key, long enough to be one for sessions" })],
    [
      "somebody changed",
      (path) => {
        const text = readFileSync(path, "utf8");
        writeFileSync(path, text.slice(0, -6) + (text.endsWith("AAAAAA") ? "BBBBBB" : "AAAAAA"));
        return {};
      },
    ],
    [
      "does not fit the configuration any more",
      () => ({ upstreams: { beta: upstream.url }, servers: { beta: { beta: "" } } }),
    ],
  ])("is refused where what is kept is what %s", async (_, change) => {
    const folder = mkdtempSync(join(tmpdir(), "sallyport-kept-"));
    const config = { lastGoodBundle: join(folder, "bundle") };
    await (await start(echoForBoth, { config })).remove();
    await expect(start(broken, { config, ...change(config.lastGoodBundle) })).rejects.toThrow(refused);
    rmSync(folder, { recursive: true });
  });

  it("serves what another replica put in force, where they share a store", async () => {
    const redis = await startRedis();
    const before = await start(may("erase", "alice"), { redisUrl: redis.url });
    write(before, echoForBoth);
    await until(async () => (await toolsOf(await callerAt(before, "alice"))).includes("echo"));
    // Of the two records of what it took the place of, the head was written over and the piece goes soon.
    const going = `local n = 0 for _, key in ipairs(redis.call('KEYS', '*bundle*')) do if redis.call('PTTL', key) <= ${limits.formerBundleMs} then n = n + 1 end end return n`;
    await until(async () => (await redis.command(`EVAL "${going}" 0`)) === ":1");
    await before.remove();
    const gateway = await start(broken, { redisUrl: redis.url });
    expect(await toolsOf(await callerAt(gateway, "alice"))).toEqual(["echo"]);
    await gateway.remove();
    await redis.stop();
  });
});
