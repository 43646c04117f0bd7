import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readArguments } from "../../src/cli/arguments.ts";
import { token } from "../../src/cli/token.ts";
import { openTokenRecords } from "../../src/compose-token-records.ts";
import { startGatewayUnderTest, startIssuer, trusted, until } from "../journey/gateway-under-test.ts";
import type { GatewayUnderTest, IssuerUnderTest } from "../journey/gateway-under-test.ts";
import { modernCall, openSession, legacyCall, refusalIn } from "../journey/wire-client.ts";
import { startRedis } from "../setup/redis.ts";
import type { RedisUnderTest } from "../setup/redis.ts";
import { startScriptedUpstream } from "../upstream/scripted-upstream.ts";
import type { ScriptedUpstream } from "../upstream/scripted-upstream.ts";

let redis: RedisUnderTest;
let issuer: IssuerUnderTest;
let upstream: ScriptedUpstream;
let gateway: GatewayUnderTest;
let file: string;

const tools = ["get_customer", "delete_customer", "needs_scope"].map((name) => ({
  name,
  inputSchema: { type: "object" },
}));
const rules = [
  {
    id: "all",
    effect: "allow",
    who: { anyone: true },
    what: { upstream: "crm", tool: ["get_customer", "delete_customer"] },
  },
  {
    id: "scoped",
    effect: "allow",
    who: { anyone: true },
    what: { upstream: "crm", tool: "needs_scope" },
    stepUp: { scopes: { all: ["crm:write"] } },
  },
];

beforeAll(async () => {
  redis = await startRedis();
  issuer = await startIssuer();
  upstream = await startScriptedUpstream({ era: "both", tools });
  const scopes = { supported: ["crm:write"] };
  const config = {
    auth: { issuers: [trusted(issuer)], headless: { alias: "robots" } },
    servers: { crm: { scopes, upstreams: { crm: {} } }, other: { upstreams: { crm: {} } } },
  };
  gateway = await startGatewayUnderTest({
    upstreams: { crm: upstream.url },
    servers: {},
    rules,
    redisUrl: redis.url,
    config,
  });
  file = join(gateway.folder, "commands.yaml");
  const about = {
    publicUrl: gateway.publicUrl,
    upstreams: { crm: { url: upstream.url, addresses: "loopback" } },
    policies: "./policies",
    store: { redis: { url: "${env:REDIS_URL}" } },
    keys: { session: "${env:SESSION_KEY}" },
    ...config,
  };
  writeFileSync(file, JSON.stringify(about));
});

afterAll(async () => {
  await gateway.remove();
  await Promise.all([upstream.close(), issuer.close()]);
  await redis.stop();
});

interface Ran {
  readonly exit: number;
  readonly out: string[];
  readonly err: string[];
}

/** `sallyport token …`, by the command line that an operator writes. */
async function run(line: string): Promise<Ran> {
  const [out, err]: [string[], string[]] = [[], []];
  const command = readArguments(`token ${line} --config ${file}`.split(" "));
  if (command.command !== "token") return { exit: 2, out, err: [JSON.stringify(command)] };
  const env = (name: string): string | undefined => ({ REDIS_URL: redis.url, SESSION_KEY: "k".repeat(32) })[name];
  const output = { out: (text: string) => void out.push(text), err: (text: string) => void err.push(text) };
  return { exit: await token(command, env, output, openTokenRecords), out, err };
}

async function make(more = ""): Promise<{ readonly token: string; readonly id: string }> {
  const ran = await run(`create --service nightly --server crm --item tool:crm/get_customer${more}`);
  if (ran.exit !== 0) throw new Error(ran.err.join("\n"));
  return { token: ran.out[0] ?? "", id: /Token (\S+) of/.exec(ran.err[0] ?? "")?.[1] ?? "" };
}

/** A list, with what it shows or why it is refused. */
async function list(of: string, server = "crm"): Promise<unknown> {
  const answer = await modernCall({ gateway, server, token: of }, "tools/list");
  const shownTools = (answer.json["result"] as { tools?: { name: string }[] } | undefined)?.tools;
  return shownTools?.map(({ name }) => name) ?? `${answer.status} ${refusalIn(answer).code}`;
}

async function call(of: string, name: string): Promise<string> {
  const answer = await modernCall({ gateway, server: "crm", token: of }, "tools/call", { name, arguments: {} });
  return refusalIn(answer).code + ((answer.json["error"] as { message?: string } | undefined)?.message ?? "");
}

describe("a headless token", () => {
  it("reaches the items it is bound to and nothing else that rules allow; what is outside looks absent", async () => {
    const { token: text } = await make();
    expect(text).toMatch(/^sp_[A-Za-z0-9_-]{43}$/);
    expect(await list(text)).toEqual(["get_customer"]);
    expect(await call(text, "get_customer")).toBe("");
    const outside = await call(text, "delete_customer");
    expect(outside).toBe((await call(text, "no_such_thing")).replace("no_such_thing", "delete_customer"));
    expect(upstream.ledger.filter((name) => name === "delete_customer")).toEqual([]);
    // Rules allow it to anybody else.
    const alice = await issuer.mint(gateway.resource("crm"));
    expect(await call(alice, "delete_customer")).toBe("");
  });

  it("does not make rules allow what they do not", async () => {
    const without = await make(" --item tool:crm/needs_scope");
    expect(await call(without.token, "needs_scope")).toContain("SCOPE_INSUFFICIENT");
    const holding = await make(" --item tool:crm/needs_scope --scope crm:write");
    expect(await call(holding.token, "needs_scope")).toBe("");
  });

  it("is a service in evidence, under its id, and its bytes stand nowhere", async () => {
    const made = await make();
    await list(made.token);
    const seen = (): unknown => gateway.audit().find(({ principal }) => principal?.clientId === made.id)?.principal;
    await until(() => seen() !== undefined);
    expect(seen()).toMatchObject({ issuer: "headless", kind: "service", subject: "nightly" });
    for (const text of [gateway.auditText(), gateway.log.join("\n"), await dump()]) {
      expect(text).not.toContain(made.token);
      expect(text).not.toContain(made.token.slice(3));
    }
  });

  it("is refused at another server", async () => {
    expect(await list((await make()).token, "other")).toBe("401 AUTH_AUDIENCE_MISMATCH");
  });

  it("is dead from the next request on once it is revoked, its session as well, and another of the service lives", async () => {
    const [one, other] = [await make(), await make()];
    const session = await openSession({ gateway, server: "crm", token: one.token });
    expect(await list(one.token)).toEqual(["get_customer"]);
    expect(await run(`revoke ${one.id}`)).toMatchObject({ exit: 0 });
    expect(await list(one.token)).toBe("401 AUTH_TOKEN_INACTIVE");
    expect((await legacyCall(session, "tools/list")).status).toBe(401);
    expect((await legacyCall({ ...session, token: other.token }, "tools/list")).status).toBe(404);
    expect(await list(other.token)).toEqual(["get_customer"]);
    expect(await run(`revoke ${one.id}`)).toMatchObject({ exit: 1, err: [`No: no token has the id ${one.id}.`] });
  });

  it("is refused when its service is denied", async () => {
    const { token: text } = await make();
    await redis.command("SET sallyport:default:denied-subject:headless:nightly 1");
    expect(await list(text)).toBe("401 AUTH_TOKEN_REVOKED");
    await redis.command("DEL sallyport:default:denied-subject:headless:nightly");
    expect(await list(text)).toEqual(["get_customer"]);
  });

  it.each([
    ["made up", `sp_${"A".repeat(43)}`, "401 AUTH_TOKEN_INACTIVE"],
    ["too short", `sp_${"A".repeat(42)}`, "401 AUTH_TOKEN_MALFORMED"],
    ["too long", `sp_${"A".repeat(44)}`, "401 AUTH_TOKEN_MALFORMED"],
  ])("that is %s is refused", async (_, text, expected) => {
    expect(await list(text)).toBe(expected);
  });

  it("is listed without its bytes", async () => {
    const made = await make();
    const { exit, out } = await run("list");
    expect(exit).toBe(0);
    const line = out.find((one) => one.startsWith(made.id));
    expect(line).toContain(`nightly  ${gateway.resource("crm")}  until `);
    expect(line).toContain("tool:crm/get_customer");
    expect(out.join("\n")).not.toContain("sp_");
  });
});

describe("making one", () => {
  it.each([
    ["--server nope --service a --item tool:crm/x", "nope is none of the servers crm, other"],
    ["--server crm --service a", "--item is given once to 200 times"],
    ["--server crm --service a --item crm/x", "crm/x is no KIND:UPSTREAM/NAME"],
    ["--server crm --service a --item tool:hr/x", "tool:hr/x is no KIND:UPSTREAM/NAME"],
    ["--server crm --service a --item tool:crm/", "tool:crm/ is no KIND:UPSTREAM/NAME"],
    ["--server crm --service a --item tool:crm/x --scope a", "a is none of the scopes that crm supports"],
    ["--server crm --service a --item tool:crm/x --days 0", "--days takes 1 to 366"],
    ["--server crm --service a --item tool:crm/x --days 367", "--days takes 1 to 366"],
    ["--server crm --service a --item tool:crm/x --days x", "--days takes 1 to 366"],
    ["--server crm --service a/b --item tool:crm/x", "--service takes"],
  ])("as %s is refused", async (line, expected) => {
    const { exit, out, err } = await run(`create ${line}`);
    expect([exit, out]).toEqual([1, []]);
    expect(err.join("\n")).toContain(expected);
  });

  it("for a year and a day is the most", async () => {
    expect((await make(" --days 366")).token).toMatch(/^sp_/);
  });
});

/** Every key of Redis with its value. */
async function dump(): Promise<string> {
  const client = new Redis(redis.url);
  const found: string[] = [];
  for (const key of await client.keys("*")) {
    const kind = await client.type(key);
    const values =
      kind === "string" ? [await client.get(key)] : kind === "zset" ? await client.zrange(key, "0", "-1") : [];
    found.push(key, ...values.filter((value) => value !== null));
  }
  await client.quit();
  expect(found.some((text) => text.includes("headless-token"))).toBe(true);
  return found.join("\n");
}
