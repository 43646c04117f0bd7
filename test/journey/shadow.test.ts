import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AuditEvent } from "../../src/audit/event.ts";
import { startGatewayUnderTest, startIssuer, until } from "./gateway-under-test.ts";
import type { GatewayUnderTest, IssuerUnderTest } from "./gateway-under-test.ts";
import type { Loose } from "./http-client.ts";
import { startListeningUpstream, tool } from "./listening-bench.ts";
import type { ListeningUpstream } from "./listening-bench.ts";
import { someone, startLocked } from "./lock-scene.ts";
import { modernCall } from "./wire-client.ts";
import type { Caller } from "./wire-client.ts";

type Rule = Readonly<Record<string, unknown>>;

let issuer: IssuerUnderTest;
let upstream: ListeningUpstream;
let folder: string;
let gateway: GatewayUnderTest;

const echo = { upstream: "alpha", tool: "echo" };
const person = (subject: string): Rule => ({ issuer: "corp", subject });

/** In force: Alice and Bob may echo, and Bob no more than that. */
const inForce: Rule[] = [
  { id: "alice-echoes", effect: "allow", who: person("alice"), what: echo },
  { id: "bob-echoes", effect: "allow", who: person("bob"), what: echo },
  { id: "carol-echoes", effect: "allow", who: person("carol"), what: echo },
  { id: "dave-echoes", effect: "allow", who: person("dave"), what: echo },
];

/** Tried out: Alice no longer, Bob erases too, Carol with a scope, Dave as before by another rule. */
const triedOut: Rule[] = [
  { id: "alice-not", effect: "deny", who: person("alice"), what: echo },
  { id: "bob-does-all", effect: "allow", who: person("bob"), what: { upstream: "alpha", tool: "*" } },
  { id: "carol-steps", effect: "allow", who: person("carol"), what: echo, stepUp: { scopes: { all: ["more"] } } },
  { id: "dave-again", effect: "allow", who: person("dave"), what: echo },
];

function tryOut(rules: readonly Rule[]): void {
  writeFileSync(join(folder, "next.yaml"), JSON.stringify({ policy: "next", rules }));
}

beforeAll(async () => {
  [issuer, upstream] = [await startIssuer(), await startListeningUpstream("modern")];
  upstream.items.tool.push(tool("erase"));
  folder = mkdtempSync(join(tmpdir(), "sallyport-shadow-"));
  tryOut(triedOut);
  gateway = await startGatewayUnderTest({
    issuer,
    upstreams: { alpha: upstream.url },
    servers: { alpha: { alpha: "" } },
    rules: inForce,
    config: { shadow: { policies: folder }, limits: { bundlePollMs: 100 } },
  });
});

afterAll(async () => {
  await gateway.remove();
  await upstream.close();
  await issuer.close();
  rmSync(folder, { recursive: true });
});

async function caller(sub: string): Promise<Caller> {
  return { gateway, server: "alpha", token: await issuer.mint(gateway.resource("alpha"), { sub }) };
}

/** What the evidence of the latest outcome says of the policies that are tried out. */
async function shadowOf(outcome: Promise<unknown>, at = gateway): Promise<AuditEvent["shadow"]> {
  const before = at.audit().length;
  await outcome;
  await until(() => at.audit().length > before && at.audit().at(-1)?.type !== "attempted");
  return at.audit().at(-1)?.shadow;
}

async function counted(change: string): Promise<number> {
  const line = new RegExp(`^sallyport_shadow_decisions_total\\{change="${change}"\\} (\\d+)$`, "mu");
  return Number(line.exec(await gateway.metrics())?.[1] ?? 0);
}

describe("policies that are tried out", () => {
  it.each<[string, string, AuditEvent["shadow"]]>([
    ["alice", "echo", { policy: expect.any(String) as string, change: "lose", effect: "deny", rule: "alice-not" }],
    [
      "carol",
      "echo",
      { policy: expect.any(String) as string, change: "changed", effect: "step-up", rule: "carol-steps" },
    ],
    ["dave", "echo", undefined],
    // Hidden, hence unknown, under what is in force.
    ["bob", "erase", { policy: expect.any(String) as string, change: "gain" }],
    ["alice", "erase", undefined],
    ["bob", "nothing of the kind", undefined],
  ])("say of a call by %s of %s what they would do, and do nothing", async (who, name, shadow) => {
    const by = await caller(who);
    const before = shadow === undefined ? 0 : await counted(shadow.change);
    const call = modernCall(by, "tools/call", { name, arguments: {} });
    expect(await shadowOf(call)).toEqual(shadow);
    const isAnswered = (await call).json["result"] !== undefined;
    expect(isAnswered).toBe(name === "echo");
    if (shadow !== undefined) expect(await counted(shadow.change)).toBe(before + 1);
  });

  it.each<[string, AuditEvent["shadow"]]>([
    ["alice", { policy: expect.any(String) as string, change: "lose", gained: 0, lost: 1 }],
    ["bob", { policy: expect.any(String) as string, change: "gain", gained: 1, lost: 0 }],
    ["carol", undefined],
  ])("say of a list of %s what would come and go, and show what is in force", async (who, shadow) => {
    const list = modernCall(await caller(who), "tools/list");
    expect(await shadowOf(list)).toEqual(shadow);
    const { tools } = (await list).json["result"] as { tools: Loose[] };
    expect(tools.map(({ name }) => name)).toEqual(["echo"]);
  });

  it("count what they would do alike", async () => {
    const before = await counted("same");
    await modernCall(await caller("dave"), "tools/call", { name: "echo", arguments: {} });
    expect(await counted("same")).toBe(before + 1);
  });

  it("are read again when they change, and are none while they are broken", async () => {
    tryOut([{ id: "broken" }]);
    await until(() => gateway.log.some((line) => line.includes("bundle.doubtful")));
    const alice = await caller("alice");
    const call = (): Promise<unknown> => modernCall(alice, "tools/call", { name: "echo", arguments: {} });
    expect(await shadowOf(call())).toBeUndefined();
    tryOut([{ ...triedOut[0], id: "alice-really-not" }]);
    await until(async () => (await shadowOf(call()))?.rule === "alice-really-not");
  });
});

describe("a catalog lock that is tried out", () => {
  it("says what it would hold back, and what it would let through", async () => {
    const aside = mkdtempSync(join(tmpdir(), "sallyport-shadow-lock-"));
    const what = { upstream: "alpha", tool: ["echo", "export", "other"] };
    const rules = [{ id: "all", effect: "allow", who: { anyone: true }, what }];
    const tried = join(aside, "tried.lock.json");
    writeFileSync(join(aside, "next.yaml"), JSON.stringify({ policy: "next", rules }));
    const scene = await startLocked({ rules, config: { shadow: { policies: aside, catalogLock: tried } } });
    const whole = readFileSync(scene.lockPath, "utf8");
    const without = JSON.parse(whole) as { upstreams: { alpha: { tools: Record<string, unknown> } } };
    delete without.upstreams.alpha.tools["export"];
    const ada = await someone(scene, "modern");
    const inForceAnd = async (lock: string, candidate: string): Promise<readonly AuditEvent["shadow"][]> => {
      writeFileSync(scene.lockPath, lock);
      writeFileSync(tried, candidate);
      await scene.gateway.running.reload();
      await until(() => scene.gateway.audit().at(-1)?.bundle !== undefined);
      const call = await shadowOf(ada.ask("tools/call", { name: "export", arguments: {} }), scene.gateway);
      return [call, await shadowOf(ada.ask("tools/list"), scene.gateway)];
    };
    const policy = expect.any(String) as string;
    expect(await inForceAnd(whole, JSON.stringify(without))).toEqual([
      { policy, change: "lose", effect: "deny" },
      { policy, change: "lose", gained: 0, lost: 1 },
    ]);
    expect(await inForceAnd(JSON.stringify(without), whole)).toEqual([
      { policy, change: "gain" },
      { policy, change: "gain", gained: 1, lost: 0 },
    ]);
    await scene.close();
    rmSync(aside, { recursive: true });
  });
});
