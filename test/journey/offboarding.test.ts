import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { offboard, readmit } from "../../src/cli/offboard.ts";
import { openOffboarding } from "../../src/compose-offboarding.ts";
import { startRedis } from "../setup/redis.ts";
import type { RedisUnderTest } from "../setup/redis.ts";
import { startGatewayUnderTest, startIssuer, until } from "./gateway-under-test.ts";
import { freePort } from "../setup/free-port.ts";
import type { GatewayUnderTest, IssuerUnderTest } from "./gateway-under-test.ts";
import { startListeningUpstream } from "./listening-bench.ts";
import type { ListeningUpstream } from "./listening-bench.ts";
import { openStream } from "./stream-client.ts";
import type { OpenStream } from "./stream-client.ts";
import {
  legacyCall,
  legacyHeaders,
  modernCall,
  modernHeaders,
  modernMeta,
  openSession,
  refusalIn,
} from "./wire-client.ts";
import type { Caller } from "./wire-client.ts";

let redis: RedisUnderTest;
let issuer: IssuerUnderTest;
let upstream: ListeningUpstream;
/** Two instances of one deployment, which look at their streams of their own accord as rarely as can be. */
let instances: readonly [GatewayUnderTest, GatewayUnderTest];
let publicPort: number;

function start(): Promise<GatewayUnderTest> {
  return startGatewayUnderTest({
    issuer,
    upstreams: { alpha: upstream.url },
    servers: { alpha: { alpha: "" } },
    config: { limits: { streamCommentMs: 25_000 } },
    redisUrl: redis.url,
    publicPort,
  });
}

beforeAll(async () => {
  [redis, issuer, upstream] = [await startRedis(), await startIssuer(), await startListeningUpstream("legacy")];
  publicPort = await freePort();
  instances = [await start(), await start()];
});

afterAll(async () => {
  for (const instance of instances) await instance.remove();
  await upstream.close();
  await issuer.close();
  await redis.stop();
});

async function callerAt(gateway: GatewayUnderTest, sub: string, clientId = "desktop"): Promise<Caller> {
  const token = await issuer.mint(gateway.resource("alpha"), { sub, client_id: clientId });
  return { gateway, server: "alpha", token };
}

function listenModern(caller: Caller): Promise<OpenStream> {
  const params = { notifications: { toolsListChanged: true }, _meta: modernMeta };
  return openStream({
    port: caller.gateway.port,
    path: "/alpha/mcp",
    method: "POST",
    headers: modernHeaders(caller, "subscriptions/listen"),
    body: { jsonrpc: "2.0", id: 1, method: "subscriptions/listen", params },
  });
}

function listenLegacy(caller: Caller): Promise<OpenStream> {
  const headers = { ...legacyHeaders(caller), accept: "text/event-stream" };
  return openStream({ port: caller.gateway.port, path: "/alpha/mcp", headers });
}

/** The command, and what it printed. */
async function command(
  carryOut: typeof offboard,
  subject: string,
  more: { readonly issuer?: string; readonly days?: number } = {},
): Promise<{ readonly code: number; readonly said: string }> {
  const lines: string[] = [];
  const [{ folder, env }] = instances;
  const order = {
    config: join(folder, "sallyport.yaml"),
    subject,
    issuer: "corp",
    tenant: undefined,
    days: 1,
    ...more,
  };
  const output = { out: (line: string) => void lines.push(line), err: (line: string) => void lines.push(line) };
  const code = await carryOut(order, env, output, openOffboarding);
  return { code, said: lines.join("\n") };
}

describe("somebody who is offboarded", () => {
  it("is refused at every replica from the next request on, with a token that was good a moment ago", async () => {
    const callers = await Promise.all(instances.map((gateway) => callerAt(gateway, "ada")));
    for (const caller of callers) expect((await modernCall(caller, "tools/list")).status).toBe(200);
    expect(await command(offboard, "ada")).toMatchObject({
      code: 0,
      said: expect.stringContaining("Denied ada of ") as unknown,
    });
    for (const caller of callers) {
      const answer = await modernCall(caller, "tools/list");
      expect([answer.status, refusalIn(answer).code]).toEqual([401, "AUTH_TOKEN_REVOKED"]);
    }
  });

  it("loses open streams of every client and both eras, wherever they are, and nobody else does", async () => {
    const first = await openSession(await callerAt(instances[0], "bob"));
    const second = await callerAt(instances[1], "bob", "other-client");
    const stranger = await callerAt(instances[1], "eve");
    const theirs = [await listenLegacy(first), await listenModern(second)];
    const others = await listenModern(stranger);
    await until(() => theirs.every(({ status }) => status === 200) && others.messages.length > 0);
    await command(offboard, "bob");
    await Promise.all(theirs.map(({ over }) => over));
    expect(others.ended).toBe(false);
    expect((await modernCall(stranger, "tools/list")).status).toBe(200);
    others.close();
    // Before the streams look at themselves, which would end them too.
  }, 15_000);

  it("has no session of before when let in again", async () => {
    const caller = await openSession(await callerAt(instances[0], "cleo"));
    const other = await openSession(await callerAt(instances[1], "cleo", "other-client"));
    expect((await command(offboard, "cleo")).code).toBe(0);
    expect(await command(readmit, "cleo")).toMatchObject({ code: 0 });
    for (const one of [caller, other]) {
      const answer = await legacyCall(one, "tools/list");
      expect([answer.status, refusalIn(answer).code]).toEqual([404, "SESSION_UNKNOWN"]);
    }
    expect((await modernCall(await callerAt(instances[0], "cleo"), "tools/list")).status).toBe(200);
  });

  it("is in the evidence of every replica, under the reference that the command said", async () => {
    const refIn = (said: string): string => /[0-9A-Z]{10}/.exec(said)?.[0] ?? "";
    const told = [await command(offboard, "ivo"), await command(readmit, "ivo")].map(({ said }) => refIn(said));
    const events = (at: GatewayUnderTest): unknown[] =>
      at.audit().flatMap(({ ref, tenant, access }) => (access?.subject === "ivo" ? [{ ref, tenant, ...access }] : []));
    await until(() => instances.every((at) => events(at).length === 2));
    const about = { tenant: "default", issuer: issuer.origin, subject: "ivo" };
    for (const at of instances)
      expect(events(at)).toEqual([
        { ref: told[0], did: "denied", ...about },
        { ref: told[1], did: "admitted", ...about },
      ]);
  });

  it("is told from the same name at another issuer", async () => {
    const { code, said } = await command(offboard, "dora", { issuer: "elsewhere" });
    expect([code, said]).toEqual([1, "No: elsewhere is none of the issuers corp."]);
    expect((await modernCall(await callerAt(instances[0], "dora"), "tools/list")).status).toBe(200);
  });

  it.each([0, 3_651, NaN])("is not denied for %s days", async (days) => {
    expect((await command(offboard, "fay", { days })).said).toBe("No: --days takes 1 to 3650.");
    expect((await modernCall(await callerAt(instances[0], "fay"), "tools/list")).status).toBe(200);
  });

  it("was not denied, when nobody denied them", async () => {
    expect(await command(readmit, "gus")).toMatchObject({
      code: 1,
      said: expect.stringContaining("was not denied") as unknown,
    });
  });

  it("loses sessions at upstreams with those of the gateway", async () => {
    const caller = await openSession(await callerAt(instances[1], "hal"));
    const before = new Set(upstream.sessions);
    await legacyCall(caller, "tools/call", { name: "echo", arguments: {} });
    const opened = [...upstream.sessions].filter((session) => !before.has(session));
    expect(opened).toHaveLength(1);
    await command(offboard, "hal");
    await until(() => opened.every((session) => !upstream.sessions.has(session)));
  });
});
