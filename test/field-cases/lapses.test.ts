import { connect, createServer } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { startGatewayUnderTest, startIssuer, until } from "../journey/gateway-under-test.ts";
import { freePort } from "../setup/free-port.ts";
import type { GatewayOptions, GatewayUnderTest } from "../journey/gateway-under-test.ts";
import type { Loose, Received } from "../journey/http-client.ts";
import { errorCodeIn, legacyCall, modernCall, openSession, refusalIn } from "../journey/wire-client.ts";
import type { Caller } from "../journey/wire-client.ts";
import { startScriptedUpstream } from "../upstream/scripted-upstream.ts";
import type { ScriptedUpstream, ScriptedUpstreamOptions } from "../upstream/scripted-upstream.ts";

const closing: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function scripted(options: ScriptedUpstreamOptions = {}): Promise<ScriptedUpstream> {
  const upstream = await startScriptedUpstream(options);
  closing.push(() => upstream.close());
  return upstream;
}

async function gatewayFor(options: GatewayOptions): Promise<GatewayUnderTest> {
  const gateway = await startGatewayUnderTest(options);
  closing.push(() => gateway.remove());
  return gateway;
}

function names({ json }: Received): unknown[] {
  return ((json["result"] as Loose)["tools"] as Loose[]).map(({ name }) => name).sort();
}

const echo = (prefix: string): Loose => ({ name: `${prefix}echo`, arguments: {} });

function isSuccess({ json }: Received): boolean {
  const result = json["result"] as Loose | undefined;
  return result !== undefined && result["isError"] !== true;
}

describe("one upstream of several that forgets its sessions", () => {
  it("is initialized anew alone, unseen by the client, and when it is gone for good it alone fails", async () => {
    const [a, b] = [await scripted({ era: "legacy" }), await scripted({ era: "legacy" })];
    const gateway = await gatewayFor({ upstreams: { a: a.url, b: b.url }, servers: { both: { a: "a_", b: "b_" } } });
    const session = await openSession({ gateway, server: "both" });
    const call = (prefix: string): Promise<Received> => legacyCall(session, "tools/call", echo(prefix));
    for (const prefix of ["a_", "b_"]) expect(isSuccess(await call(prefix))).toBe(true);
    const before = [a.count("initialize"), b.count("initialize")];

    b.forgetSessions();
    for (const prefix of ["a_", "b_"]) expect(isSuccess(await call(prefix))).toBe(true);
    expect([a.count("initialize"), b.count("initialize")]).toEqual([before[0], before[1]! + 1]);

    await b.close();
    const failed = await call("b_");
    expect([failed.status, refusalIn(failed).code, refusalIn(failed).outcome]).toEqual([
      200,
      "UPSTREAM_UNREACHABLE",
      "failed",
    ]);
    expect(isSuccess(await call("a_"))).toBe(true);
    expect(names(await legacyCall(session, "tools/list"))).toEqual(["a_echo", "b_echo"]);
  });

  it("whether it grants sessions or none: the one always sees its id, the other never the header", async () => {
    const stateful = await scripted({ era: "legacy" });
    const stateless = await scripted({ era: "legacy", sessions: false });
    const upstreams = { s: stateful.url, n: stateless.url };
    const gateway = await gatewayFor({ upstreams, servers: { both: { s: "s_", n: "n_" } } });
    const caller = { gateway, server: "both" };
    for (let round = 0; round < 10; round += 1)
      for (const prefix of ["s_", "n_"])
        expect(isSuccess(await modernCall(caller, "tools/call", echo(prefix)))).toBe(true);
    const seen = (upstream: ScriptedUpstream): Set<string | undefined> =>
      new Set(
        upstream.received.filter(({ rpc }) => rpc["method"] === "tools/call").map((r) => r.header("mcp-session-id")),
      );
    expect([...seen(stateless)]).toEqual([undefined]);
    expect(seen(stateful).size).toBe(1);
    expect([...seen(stateful)][0]).toMatch(/^session-\d+$/);
  });
});

describe("of three upstreams one that serves, one that hangs and one that fails", () => {
  it("the list has what can be had, and what recovers joins it without a restart", async () => {
    const [fine, hangs, fails] = [await scripted(), await scripted(), await scripted()];
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    hangs.script(async () => {
      await released;
      return false;
    });
    fails.script((_request, wire) => {
      wire.respond(500, "text/html", "<h1>Oops</h1>");
      return true;
    });
    const gateway = await gatewayFor({
      upstreams: { fine: fine.url, hangs: hangs.url, fails: fails.url },
      servers: { all: { fine: "f_", hangs: "h_", fails: "x_" } },
    });
    const caller = { gateway, server: "all" };
    const listed = await modernCall(caller, "tools/list");
    expect(names(listed)).toEqual(["f_echo"]);
    // A partial list must not be kept as if it were the whole.
    expect((listed.json["result"] as Loose)["ttlMs"]).toBeLessThanOrEqual(5_000);
    release();
    await until(async () => names(await modernCall(caller, "tools/list")).includes("h_echo"));
    expect(isSuccess(await modernCall(caller, "tools/call", echo("h_")))).toBe(true);
    fails.script(undefined);
    await until(async () => names(await modernCall(caller, "tools/list")).length === 3);
  });

  it("with all of them down at the start: an error in either era, never an empty list, and then it works", async () => {
    const ports = [await freePort(), await freePort()];
    const [a, b] = ports.map((port) => `http://127.0.0.1:${port}/mcp`) as [string, string];
    const gateway = await gatewayFor({ upstreams: { a, b }, servers: { both: { a: "a_", b: "b_" } } });
    const caller = { gateway, server: "both" };
    const session = await openSession(caller);
    for (const method of ["tools/list", "prompts/list", "resources/list", "resources/templates/list"]) {
      for (const answer of [await modernCall(caller, method), await legacyCall(session, method)]) {
        expect([answer.status, errorCodeIn(answer), answer.json["result"]], method).toEqual([200, -32603, undefined]);
        expect(refusalIn(answer).code).toBe("CATALOG_UNAVAILABLE");
      }
    }
    const served = await startAt(ports[0]!);
    await until(async () => isSuccess(await modernCall(caller, "tools/list")));
    expect(names(await modernCall(caller, "tools/list"))).toEqual(["a_echo"]);
    expect(served.received.length).toBeGreaterThan(0);
  });
});

/** A scripted upstream reached through a port that was chosen before. */
async function startAt(port: number): Promise<ScriptedUpstream> {
  const upstream = await scripted();
  const relay = createServer((socket) => {
    const on = connect(upstream.port, "127.0.0.1");
    socket.pipe(on).pipe(socket);
    for (const end of [socket, on]) end.on("error", () => undefined);
  });
  await new Promise<void>((resolve) => relay.listen(port, "127.0.0.1", resolve));
  closing.push(
    () =>
      new Promise<void>(
        (resolve) =>
          void relay.close(() => {
            resolve();
          }),
      ),
  );
  return upstream;
}

describe("an HTTP client that many principals share", () => {
  it("keeps no cookie of one for the next, and hands none to clients", async () => {
    const upstream = await scripted();
    upstream.script(({ rpc }, wire) => {
      if (rpc["method"] !== "tools/call") return false;
      const { who } = (rpc["params"] as Loose)["arguments"] as Loose;
      const result = { content: [], resultType: "complete" };
      const headers = [
        `Set-Cookie: sid=${String(who)}; Path=/`,
        "Server: secret/1.0",
        "Strict-Transport-Security: max-age=9",
      ];
      wire.json(200, { jsonrpc: "2.0", id: rpc["id"], result }, headers);
      return true;
    });
    const issuer = await startIssuer();
    closing.push(() => issuer.close());
    const gateway = await gatewayFor({ issuer, upstreams: { u: upstream.url }, servers: { u: { u: "" } } });
    const callerOf = async (sub: string): Promise<Caller> => {
      return { gateway, server: "u", token: await issuer.mint(gateway.resource("u"), { sub }) };
    };
    for (const who of ["alice", "bob", "alice"]) {
      const answer = await modernCall(await callerOf(who), "tools/call", { name: "echo", arguments: { who } });
      expect(isSuccess(answer)).toBe(true);
      for (const header of ["set-cookie", "server", "strict-transport-security"])
        expect(answer.headers[header]).toBeUndefined();
    }
    expect(upstream.received.filter((request) => request.header("cookie") !== undefined)).toEqual([]);
  });

  it("opens no more connections than it may under 500 calls, and what finds no place in the queue is told so", async () => {
    const upstream = await scripted();
    const [connectionsMax, queueMax, calls] = [20, 100, 500];
    let most = 0;
    const held: (() => void)[] = [];
    upstream.script(async ({ rpc }) => {
      if (rpc["method"] !== "tools/call") return false;
      most = Math.max(most, upstream.openConnections);
      await new Promise<void>((resolve) => held.push(resolve));
      return false;
    });
    const issuer = await startIssuer();
    closing.push(() => issuer.close());
    const gateway = await gatewayFor({
      issuer,
      upstreams: { u: { url: upstream.url, connectionsMax, queueMax } },
      servers: { u: { u: "" } },
    });
    const callers = await Promise.all(
      Array.from({ length: 10 }, async (_, at): Promise<Caller> => {
        return { gateway, server: "u", token: await issuer.mint(gateway.resource("u"), { sub: `person ${at}` }) };
      }),
    );
    const answers = Array.from({ length: calls }, (_, at) => modernCall(callers[at % 10]!, "tools/call", echo("")));
    let settled = 0;
    for (const answer of answers) void answer.then(() => (settled += 1));
    await until(() => settled === calls - connectionsMax - queueMax);
    const release = setInterval(() => {
      for (const go of held.splice(0)) go();
    }, 5);
    const codes = (await Promise.all(answers)).map((answer) => (isSuccess(answer) ? "ok" : refusalIn(answer).code));
    clearInterval(release);
    const tally = Object.fromEntries(
      [...new Set(codes)].map((code) => [code, codes.filter((one) => one === code).length]),
    );
    expect(tally).toEqual({ ok: connectionsMax + queueMax, UPSTREAM_QUEUE_FULL: calls - connectionsMax - queueMax });
    expect(upstream.ledger).toHaveLength(connectionsMax + queueMax);
    // Beside the calls' own: those for probes and lists, which must not wait behind them.
    expect(most).toBeLessThanOrEqual(connectionsMax + 4);
  });
});

describe("an upstream that does not answer ping", () => {
  it.each([
    ["-32601", 200],
    ["-32600", 400],
    ["-32601", 404],
    ["none", 401],
  ])("(error %s under %i) stays listed and callable, and no client's ping depends on it", async (code, status) => {
    const upstream = await scripted({ era: "legacy" });
    upstream.script(({ rpc }, wire) => {
      if (rpc["method"] !== "ping") return false;
      if (code === "none") wire.respond(status, "text/plain", "who are you?");
      else wire.json(status, { jsonrpc: "2.0", id: rpc["id"], error: { code: Number(code), message: "no ping" } });
      return true;
    });
    const gateway = await gatewayFor({ upstreams: { u: upstream.url }, servers: { u: { u: "" } } });
    const session = await openSession({ gateway, server: "u" });
    for (let round = 0; round < 3; round += 1) {
      expect((await legacyCall(session, "ping")).json).toEqual({ jsonrpc: "2.0", id: 1, result: {} });
      expect(names(await legacyCall(session, "tools/list"))).toEqual(["echo"]);
      expect(isSuccess(await legacyCall(session, "tools/call", echo("")))).toBe(true);
    }
    expect(upstream.count("initialize")).toBeLessThanOrEqual(2);
  });
});
