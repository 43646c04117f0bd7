import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readArguments } from "../../src/cli/arguments.ts";
import { offboard, readmit } from "../../src/cli/offboard.ts";
import { token } from "../../src/cli/token.ts";
import { openOffboarding } from "../../src/compose-offboarding.ts";
import { openTokenRecords } from "../../src/compose-token-records.ts";
import { startRedis } from "../setup/redis.ts";
import type { RedisUnderTest } from "../setup/redis.ts";
import { startScriptedUpstream } from "../upstream/scripted-upstream.ts";
import type { ScriptedUpstream } from "../upstream/scripted-upstream.ts";
import { startGatewayUnderTest, startIssuer, trusted, until } from "./gateway-under-test.ts";
import type { GatewayUnderTest, IssuerUnderTest } from "./gateway-under-test.ts";
import { legacyCall, modernCall, openSession, refusalIn } from "./wire-client.ts";

let redis: RedisUnderTest;
let issuer: IssuerUnderTest;
let upstream: ScriptedUpstream;
let gateways: GatewayUnderTest[];

beforeAll(async () => {
  [redis, issuer, upstream] = [await startRedis(), await startIssuer(), await startScriptedUpstream({ era: "both" })];
  gateways = [];
});

afterAll(async () => {
  for (const gateway of gateways) await gateway.remove();
  await upstream.close();
  await issuer.close();
  await redis.stop();
});

async function start(publicPort?: number, redisUrl: string | undefined = redis.url): Promise<GatewayUnderTest> {
  const gateway = await startGatewayUnderTest({
    upstreams: { alpha: upstream.url },
    servers: { alpha: { alpha: "" } },
    config: { auth: { issuers: [trusted(issuer)], ...(redisUrl === "" ? {} : { headless: { alias: "robots" } }) } },
    ...(redisUrl === "" ? {} : { redisUrl }),
    ...(publicPort === undefined ? {} : { publicPort }),
  });
  gateways.push(gateway);
  return gateway;
}

/** A command line as an operator writes it; what it printed, by line. */
async function run({ folder, env }: GatewayUnderTest, line: string): Promise<{ code: number; said: string[] }> {
  const said: string[] = [];
  const output = { out: (text: string) => void said.push(text), err: (text: string) => void said.push(text) };
  const command = readArguments(`${line} --config ${join(folder, "sallyport.yaml")}`.split(" "));
  const { command: named } = command;
  if (named === "token") return { code: await token(command, env, output, openTokenRecords), said };
  if (named !== "offboard" && named !== "readmit") throw new Error(JSON.stringify(command));
  const carryOut = named === "offboard" ? offboard : readmit;
  return { code: await carryOut(command.order, env, output, openOffboarding), said };
}

describe("offboarding", () => {
  it("ends sessions while no replica runs that could", async () => {
    const before = await start();
    const bearer = await issuer.mint(before.resource("alpha"), { sub: "ada" });
    const caller = await openSession({ gateway: before, server: "alpha", token: bearer });
    await before.stop();
    expect((await run(before, "offboard ada --issuer corp")).code).toBe(0);
    expect((await run(before, "readmit ada --issuer corp")).code).toBe(0);
    const after = await start(Number(new URL(before.publicUrl).port));
    const answer = await legacyCall({ ...caller, gateway: after }, "tools/list");
    expect([answer.status, refusalIn(answer).code]).toEqual([404, "SESSION_UNKNOWN"]);
  });

  it("every replica leaves an event of a token that a command makes or revokes, under the reference it prints", async () => {
    const gateway = await start();
    const { said } = await run(gateway, "token create --service nightly --server alpha --item tool:alpha/echo");
    const [, id = "", ref = ""] = /Token (\S+) of .*\((\S+)\)\.$/.exec(said[0] ?? "") ?? [];
    const { said: revoked } = await run(gateway, `token revoke ${id}`);
    const other = /reference (\S+)\.$/.exec(revoked[0] ?? "")?.[1] ?? "";
    const events = (): unknown[] => gateway.audit().filter(({ token: of }) => of?.id === id);
    await until(() => events().length === 2);
    expect(events()).toMatchObject([
      { type: "administration", ref, tenant: "default", token: { did: "created", id, service: "nightly" } },
      { type: "administration", ref: other, tenant: "default", token: { did: "revoked", id, service: "nightly" } },
    ]);
    expect(gateway.auditText()).not.toContain(said[2]);
  });

  it("revokes the headless tokens of a service, and of no other", async () => {
    const gateway = await start();
    const make = async (service: string): Promise<string> =>
      (await run(gateway, `token create --service ${service} --server alpha --item tool:alpha/echo`)).said[2] ?? "";
    const [nightly, hourly] = [await make("nightly"), await make("hourly")];
    const { said } = await run(gateway, "offboard nightly --issuer robots");
    expect(said.at(-1)).toBe("Revoked 1 headless token.");
    // The tokens are gone, not only denied.
    await run(gateway, "readmit nightly --issuer robots");
    const codes = [nightly, hourly].map(async (bearer) => {
      const answer = await modernCall({ gateway, server: "alpha", token: bearer }, "tools/list");
      return `${answer.status} ${refusalIn(answer).code}`;
    });
    expect(await Promise.all(codes)).toEqual(["401 AUTH_TOKEN_INACTIVE", "200 "]);
  });

  it("revokes no headless token of a service for a person of the same name", async () => {
    const gateway = await start();
    await run(gateway, "token create --service twin --server alpha --item tool:alpha/echo");
    expect((await run(gateway, "offboard twin --issuer corp")).said.at(-1)).toBe("Revoked 0 headless tokens.");
  });

  it("says that it cannot where the store is in the memory of the gateway", async () => {
    const gateway = await start(undefined, "");
    const { code, said } = await run(gateway, "offboard ada --issuer corp");
    expect([code, said[0]]).toEqual([1, expect.stringContaining("the store is in the memory of the gateway")]);
  });
});
