import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { offboard } from "../../src/cli/offboard.ts";
import { openOffboarding } from "../../src/compose-offboarding.ts";
import { startRedis } from "../setup/redis.ts";
import type { RedisUnderTest } from "../setup/redis.ts";
import { everyFeature, openCall, openSessionWith, respond } from "./asked-client.ts";
import { startConnectionBench } from "./connection-bench.ts";
import type { ConnectionBench } from "./connection-bench.ts";
import { startIssuer, until } from "./gateway-under-test.ts";
import type { IssuerUnderTest } from "./gateway-under-test.ts";
import type { Loose } from "./http-client.ts";
import { openStream } from "./stream-client.ts";
import type { OpenStream } from "./stream-client.ts";
import { legacyCall, modernCall, modernHeaders, modernMeta, openSession, post, refusalIn } from "./wire-client.ts";
import type { Caller } from "./wire-client.ts";

let redis: RedisUnderTest;
let issuer: IssuerUnderTest;
let bench: ConnectionBench;

beforeAll(async () => {
  redis = await startRedis();
  // Lists are not read anew because of their age, and streams do not look at theirs.
  issuer = await startIssuer();
  const config = { limits: { catalogAgeMsMax: 600_000 } };
  bench = await startConnectionBench({ redisUrl: redis.url, issuer, config });
});

afterAll(async () => {
  await bench.close();
  await issuer.close();
  await redis.stop();
});

async function callerOf(person: string): Promise<Caller> {
  return { gateway: bench.gateway, server: "s", token: await bench.tokenOf(person) };
}

async function toolsOf(caller: Caller): Promise<readonly string[]> {
  const { json } = await modernCall(caller, "tools/list");
  return ((json["result"] as { tools?: Loose[] } | undefined)?.tools ?? []).map(({ name }) => String(name));
}

function textOf(answer: Loose): string {
  const [block] = ((answer["result"] as Loose | undefined)?.["content"] ?? []) as Loose[];
  return String(block?.["text"]);
}

const linkIn = (text: string): string => /http:\S+\/connect\/crm\?link=\S+/.exec(text)?.[0] ?? `no link in ${text}`;

/** A modern call of a client that opens pages, first or with what it brings back. */
async function callAsking(caller: Caller, more: Loose = {}): Promise<Loose> {
  const capabilities = { "io.modelcontextprotocol/clientCapabilities": { elicitation: { url: {} } } };
  const params = { name: "echo", arguments: {}, ...more, _meta: { ...modernMeta, ...capabilities } };
  const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
  return (await post(caller, modernHeaders(caller, "tools/call", "echo"), body)).json["result"] as Loose;
}

function listen(caller: Caller): Promise<OpenStream> {
  const params = { notifications: { toolsListChanged: true }, _meta: modernMeta };
  return openStream({
    port: caller.gateway.port,
    path: "/s/mcp",
    method: "POST",
    headers: modernHeaders(caller, "subscriptions/listen"),
    body: { jsonrpc: "2.0", id: 1, method: "subscriptions/listen", params },
  });
}

const changes = ({ messages }: OpenStream): number =>
  messages.filter(({ method }) => method === "notifications/tools/list_changed").length;

describe("an upstream that people connect to their own accounts", () => {
  it("is one tool before, and its tools afterwards, for that person and client alone; open streams are told", async () => {
    const [ada, bob] = [await callerOf("ada"), await callerOf("bob")];
    expect([await toolsOf(ada), await toolsOf(bob)]).toEqual([["connect_crm"], ["connect_crm"]]);
    const streams = [await listen(ada), await listen(bob)];
    await until(() => streams.every(({ messages }) => messages.length > 0));
    const asked = await modernCall(ada, "tools/call", { name: "connect_crm", arguments: {} });
    expect([refusalIn(asked).code, (asked.json["result"] as Loose)["isError"]]).toEqual([
      "UPSTREAM_CONNECTION_REQUIRED",
      true,
    ]);
    const link = linkIn(textOf(asked.json));
    expect((await bench.connect(link, "bob")).status).toBe(403);
    expect((await bench.connect(link, "ada")).text).toContain("<h1>Connected</h1>");
    await until(() => streams.some((stream) => changes(stream) > 0));
    expect([await toolsOf(ada), await toolsOf(bob)]).toEqual([["echo"], ["connect_crm"]]);
    expect(streams.map(changes)).toEqual([1, 0]);
    const done = await modernCall(ada, "tools/call", { name: "echo", arguments: {} });
    expect([refusalIn(done).code, bench.upstream.ledger.length]).toEqual(["", 1]);
    // Another client of hers has no consent yet.
    const other = await callerOf("ada");
    expect(await toolsOf(other)).toEqual(["connect_crm"]);
    for (const stream of streams) stream.close();
  });

  it("is asked for, and used once connected, by a modern client that opens pages", async () => {
    const caller = await callerOf("bob");
    const asked = await callAsking(caller);
    // Not listed before it is connected: the tool that the client knows from before leads there in words.
    expect(textOf({ result: asked })).toContain("/connect/crm?link=");
    const page = await callConnect(caller);
    const request = (page["inputRequests"] as Loose)["connect"] as { params: Loose };
    expect(request.params).toMatchObject({
      mode: "url",
      url: expect.stringContaining("/connect/crm?link=") as unknown,
    });
    const back = callConnect(caller, {
      inputResponses: { connect: { action: "accept" } },
      requestState: page["requestState"],
    });
    await bench.connect(String(request.params["url"]), "bob");
    expect(textOf({ result: await back })).toContain("Customer records is connected.");
    expect(textOf({ result: await callAsking(caller) })).not.toContain("link=");
  });

  async function callConnect(caller: Caller, more: Loose = {}): Promise<Loose> {
    const capabilities = { "io.modelcontextprotocol/clientCapabilities": { elicitation: { url: {} } } };
    const params = { name: "connect_crm", arguments: {}, ...more, _meta: { ...modernMeta, ...capabilities } };
    const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
    return (await post(caller, modernHeaders(caller, "tools/call", "connect_crm"), body)).json["result"] as Loose;
  }

  it("is asked for, and used once connected, by a legacy client that opens pages", async () => {
    const caller = await openSessionWith(await callerOf("ada"), everyFeature);
    const call = await openCall(caller, { name: "connect_crm", arguments: {} });
    const [asked] = await call.asked();
    const params = asked?.["params"] as Loose;
    await respond(caller, asked?.["id"], { result: { action: "accept" } });
    await bench.connect(String(params["url"]), "ada");
    expect(textOf(await call.answer())).toContain("Customer records is connected.");
    const told = call.stream.messages.find(({ method }) => method === "notifications/elicitation/complete");
    expect((told?.["params"] as Loose)["elicitationId"]).toBe(params["elicitationId"]);
  });

  it("is connected anew, with the scope that a call lacks, before the call is carried out", async () => {
    const caller = await callerOf("bob");
    const page = await modernCall(caller, "tools/call", { name: "connect_crm", arguments: {} });
    await bench.connect(linkIn(textOf(page.json)), "bob");
    for (const token of bench.provider.live) bench.lacking.add(token);
    const before = bench.upstream.ledger.length;
    const session = await openSessionWith(caller, everyFeature);
    const call = await openCall(session, { name: "echo", arguments: {} });
    const [asked] = await call.asked();
    const params = asked?.["params"] as Loose;
    expect(params["message"]).toMatch(/^The connection that you made does not permit this call\. /);
    await respond(session, asked?.["id"], { result: { action: "accept" } });
    await bench.connect(String(params["url"]), "bob");
    expect(((await call.answer())["result"] as Loose)["isError"]).toBeUndefined();
    expect(bench.upstream.ledger).toHaveLength(before + 1);
    const scopes = bench.provider.seen
      .filter(({ path }) => path === "/authorize")
      .map(({ params: sent }) => sent["scope"]);
    expect(scopes.at(-1)).toBe("crm:write");
    bench.lacking.clear();
  });

  it("is one tool again, at once and for open streams, when its person revokes the connection", async () => {
    const caller = await callerOf("bob");
    const page = await modernCall(caller, "tools/call", { name: "connect_crm", arguments: {} });
    await bench.connect(linkIn(textOf(page.json)), "bob");
    expect(await toolsOf(caller)).toEqual(["echo"]);
    const stream = await listen(caller);
    await until(() => stream.messages.length > 0);
    await bench.revoke("bob");
    await until(() => changes(stream) > 0);
    expect(await toolsOf(caller)).toEqual(["connect_crm"]);
    stream.close();
  });

  it("has no page for people of an issuer that cannot sign in here, who are told so", async () => {
    const token = await issuer.mint(bench.gateway.resource("s"), { sub: "ada" });
    const caller = { gateway: bench.gateway, server: "s", token };
    const answer = await modernCall(caller, "tools/call", { name: "connect_crm", arguments: {} });
    expect(textOf(answer.json)).toContain("Nobody can sign in here to connect it for this account");
    expect(answer.text).not.toContain("link=");
  });

  it("keeps links out of evidence and log", () => {
    const told = bench.gateway.auditText() + bench.gateway.log.join("");
    expect(told).toContain("UPSTREAM_CONNECTION_REQUIRED");
    expect(told).not.toContain("link=");
    const asked = bench.gateway.audit().flatMap((event) => (event.asked === undefined ? [] : [event.asked]));
    expect(asked).toContainEqual({
      feature: "elicitation_url",
      outcome: "accepted",
      upstream: "crm",
      by: "gateway",
    });
  });

  it("loses the grant of whoever is offboarded, at its own authorization server too", async () => {
    const caller = await openSession(await callerOf("ada"));
    expect((await legacyCall(caller, "tools/list")).status).toBe(200);
    const before = bench.provider.seen.filter(({ path }) => path === "/revoke").length;
    const { folder, env } = bench.gateway;
    const order = { config: join(folder, "sallyport.yaml"), subject: "ada", issuer: "own", tenant: undefined, days: 1 };
    const said: string[] = [];
    const output = { out: (line: string) => void said.push(line), err: (line: string) => void said.push(line) };
    expect(await offboard(order, env, output, openOffboarding)).toBe(0);
    expect(said).toContain("Ended 1 grant at upstreams; 1 revoked there too.");
    expect(bench.provider.seen.filter(({ path }) => path === "/revoke")).toHaveLength(before + 1);
  });
});
