import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readArguments } from "../../src/cli/arguments.ts";
import { grant } from "../../src/cli/grant.ts";
import { token } from "../../src/cli/token.ts";
import { openGrantDesk } from "../../src/compose-grant-desk.ts";
import { noWitness } from "../../src/compose-grant-evidence.ts";
import { grantsOptions } from "../../src/compose-grants.ts";
import { openTokenRecords } from "../../src/compose-token-records.ts";
import { loadConfig } from "../../src/config/load.ts";
import { createRedisStore } from "../../src/store/redis.ts";
import { createGrantBook } from "../../src/upstream/grants/grant-book.ts";
import type { Person } from "../../src/upstream/grants/port.ts";
import { startConnectionBench } from "../journey/connection-bench.ts";
import type { ConnectionBench } from "../journey/connection-bench.ts";
import { until } from "../journey/gateway-under-test.ts";
import type { Loose } from "../journey/http-client.ts";
import { modernCall, refusalIn } from "../journey/wire-client.ts";
import { startRedis } from "../setup/redis.ts";
import type { RedisUnderTest } from "../setup/redis.ts";

let redis: RedisUnderTest;
let bench: ConnectionBench;

beforeAll(async () => {
  redis = await startRedis();
  // Lists are not read anew because of their age.
  const config = { limits: { catalogAgeMsMax: 600_000 } };
  bench = await startConnectionBench({ redisUrl: redis.url, auth: { headless: { alias: "robots" } }, config });
});

afterAll(async () => {
  await bench.close();
  await redis.stop();
});

interface Ran {
  readonly exit: number;
  readonly out: readonly string[];
  readonly err: string;
  /** Under which the replicas leave events. */
  readonly ref: string;
}

/** `sallyport …`, by the command line that an operator writes. */
async function run(line: string): Promise<Ran> {
  const [out, err]: [string[], string[]] = [[], []];
  const file = join(bench.gateway.folder, "sallyport.yaml");
  const command = readArguments(`${line} --config ${file}`.split(" "));
  const output = { out: (text: string) => void out.push(text), err: (text: string) => void err.push(text) };
  const { env } = bench.gateway;
  if (command.command !== "token" && command.command !== "grant") throw new Error(JSON.stringify(command));
  const exit =
    command.command === "token"
      ? await token(command, env, output, openTokenRecords)
      : await grant(command.order, env, output, openGrantDesk);
  return { exit, out, err: err.join("\n"), ref: /\(([0-9A-Z]{10})\)/.exec(err.join("\n"))?.[1] ?? "" };
}

/** A token of a service that may use the one tool of the upstream, and its id: the client that it acts through. */
async function serviceToken(): Promise<{ readonly token: string; readonly id: string }> {
  const made = await run("token create --service nightly --server s --item tool:crm/echo");
  return { token: made.out[0] ?? "", id: /Token (\S+) of/.exec(made.err)?.[1] ?? "" };
}

interface Answer {
  readonly code: string;
  readonly text: string;
}

async function call(by: string, name = "echo"): Promise<Answer> {
  const answer = await modernCall({ gateway: bench.gateway, server: "s", token: by }, "tools/call", {
    name,
    arguments: {},
  });
  const [block] = ((answer.json["result"] as Loose | undefined)?.["content"] ?? []) as Loose[];
  return { code: refusalIn(answer).code, text: String(block?.["text"]) };
}

async function toolsOf(by: string): Promise<readonly string[]> {
  const { json } = await modernCall({ gateway: bench.gateway, server: "s", token: by }, "tools/list");
  return ((json["result"] as { tools?: Loose[] } | undefined)?.tools ?? []).map(({ name }) => String(name));
}

/** Somebody connects the upstream to an account of theirs. */
async function connected(person: string): Promise<string> {
  const theirs = await bench.tokenOf(person);
  const { text } = await call(theirs, "connect_crm");
  await bench.connect(/http:\S+\/connect\/crm\?link=\S+/.exec(text)?.[0] ?? "", person);
  expect((await call(theirs)).code).toBe("");
  return theirs;
}

/** The same grant, as if another authorization server had given it before. */
async function leaveFormer(person: Person): Promise<void> {
  const path = join(bench.gateway.folder, "sallyport.yaml");
  const readFile = (name: string): string => readFileSync(name, "utf8");
  const loaded = loadConfig({ text: readFile(path), path, env: bench.gateway.env, readFile });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.faults));
  const { config } = loaded;
  const store = createRedisStore({ url: redis.url, commandTimeoutMs: config.limits.storeCommandTimeoutMs });
  try {
    await store.connection.ready(config.limits.storeConnectTimeoutMs);
    const log = { info: (): void => undefined };
    const book = createGrantBook(grantsOptions({ config, store, log, witness: noWitness }));
    const held = await book.read({ person, upstream: "crm", issuer: bench.provider.issuer });
    if (held === undefined) throw new Error("there is no grant");
    await book.put({ ...held.name, issuer: "https://former.example" }, held.grant);
  } finally {
    await store.close();
  }
}

const assign = (id: string, person = "ada"): Promise<Ran> =>
  run(`grant assign nightly --issuer robots --from ${person} --from-issuer own --upstream crm --client ${id}`);
const revoke = (): Promise<Ran> => run("grant revoke nightly --issuer robots --upstream crm");
const needed = "UPSTREAM_CONNECTION_REQUIRED";

describe("a grant that is assigned to a service", () => {
  it("is the one that the service's calls are made with, until it is revoked; its former owner connects again", async () => {
    const [ada, service] = [await connected("ada"), await serviceToken()];
    expect((await call(service.token)).code).toBe(needed);
    expect(await toolsOf(ada)).toEqual(["echo"]);
    const accessTokens = [...bench.provider.live];

    const assigned = await assign(service.id);
    expect(assigned.exit).toBe(0);
    await until(async () => (await call(service.token)).code === "");
    // The same grant: nothing was asked of the upstream's authorization server.
    expect([...bench.provider.live]).toEqual(accessTokens);
    expect((await call(ada)).code).toBe(needed);
    // What was listed to them with it is not served on.
    await until(async () => (await toolsOf(ada)).includes("connect_crm"));

    const before = bench.provider.seen.filter(({ path }) => path === "/revoke").length;
    const revoked = await revoke();
    expect([revoked.exit, revoked.err]).toEqual([0, expect.stringContaining("and revoked there too")]);
    expect(bench.provider.seen.filter(({ path }) => path === "/revoke")).toHaveLength(before + 1);
    const refused = await call(service.token);
    expect(refused.code).toBe(needed);
    // Nobody can sign in as a service.
    expect(refused.text).not.toContain("link=");
    expect((await revoke()).err).toBe("No: nightly has no grant at crm.");

    const grants = (ref: string): unknown[] =>
      bench.gateway.audit().flatMap((event) => (event.ref === ref && event.grant !== undefined ? [event.grant] : []));
    await until(() => grants(assigned.ref).length === 2 && grants(revoked.ref).length === 1);
    const about = { upstream: "crm", server: bench.provider.issuer };
    expect(grants(assigned.ref)).toMatchObject([
      { ...about, did: "assigned", issuer: "headless", subject: "nightly", clientId: service.id },
      { ...about, did: "revoked", issuer: bench.gateway.publicUrl, subject: "ada", reason: "assigned" },
    ]);
    expect(grants(revoked.ref)).toMatchObject([{ ...about, did: "revoked", issuer: "headless", subject: "nightly" }]);
  });

  it("is good for the tokens that were named, and for another one once it is admitted", async () => {
    await connected("bob");
    const [one, next] = [await serviceToken(), await serviceToken()];
    expect((await assign(one.id, "bob")).exit).toBe(0);
    await until(async () => (await call(one.token)).code === "");
    expect((await call(next.token)).code).toBe(needed);
    expect((await run(`grant admit nightly --issuer robots --upstream crm --client ${next.id}`)).exit).toBe(0);
    await until(async () => (await call(next.token)).code === "");
    expect((await call(one.token)).code).toBe("");
    await revoke();
  });

  it("is listed without anything of its tokens, under its new owner alone", async () => {
    await connected("ada");
    const { id } = await serviceToken();
    expect((await run("grant list nightly --issuer robots")).out).toEqual([]);
    await assign(id);
    const { exit, out } = await run("grant list nightly --issuer robots");
    expect([exit, out]).toEqual([0, [expect.stringMatching(/^nightly of headless {2}crm {2}from http:/)]]);
    expect(out[0]).toContain(`clients: ${id}`);
    for (const text of [...bench.provider.live]) expect(out[0]).not.toContain(text);
    expect((await run("grant list ada --issuer own")).out).toEqual([]);
    await revoke();
  });

  it("is ended together with what is left of a former authorization server's", async () => {
    await connected("ada");
    const { id } = await serviceToken();
    await assign(id);
    await leaveFormer({ tenant: "default", issuer: "headless", subject: "nightly" });
    const listed = (await run("grant list nightly --issuer robots")).out;
    expect(listed.filter((line) => line.includes("from https://former.example"))).toHaveLength(1);
    expect(listed).toHaveLength(2);
    expect((await revoke()).exit).toBe(0);
    expect((await run("grant list nightly --issuer robots")).out).toEqual([]);
  });

  it("does not take the place of one that the service has", async () => {
    await connected("ada");
    await connected("bob");
    const { id, token: text } = await serviceToken();
    await assign(id);
    expect((await assign(id, "bob")).err).toBe("No: nightly has a grant at crm already: revoke it first.");
    await until(async () => (await call(text)).code === "");
    expect((await run("grant list bob --issuer own")).out).toHaveLength(1);
    await revoke();
  });
});

it("a configuration without a shared store has nothing that a command could reach", async () => {
  const file = join(bench.gateway.folder, "memory.yaml");
  const user = { url: bench.upstream.url, addresses: "loopback", credential: { type: "user" } };
  const users = [{ username: "ada", password: "${env:PASSWORD}" }];
  const config = {
    publicUrl: bench.gateway.publicUrl,
    auth: { builtIn: { alias: "own", users } },
    upstreams: { crm: user },
    servers: { s: { upstreams: { crm: {} }, issuer: "own" } },
    policies: "./policies",
    store: { memory: true },
  };
  writeFileSync(file, JSON.stringify(config));
  const lines: string[] = [];
  const output = { out: (line: string) => void lines.push(line), err: (line: string) => void lines.push(line) };
  const order = { config: file, subject: "ada", issuer: "own", tenant: undefined, wanted: { does: "list" } } as const;
  expect(await grant(order, bench.gateway.env, output, openGrantDesk)).toBe(1);
  expect(lines.at(-1)).toMatch(/^No: the store is in the memory of the gateway/);
});
