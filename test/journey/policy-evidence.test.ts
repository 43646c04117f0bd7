import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { policy } from "../../src/cli/policy.ts";
import { readPolicyArguments } from "../../src/cli/policy-arguments.ts";
import { shownItems } from "../../src/compose-shown-items.ts";
import { captured } from "../cli/workspace.ts";
import { startScriptedUpstream } from "../upstream/scripted-upstream.ts";
import type { ScriptedUpstream } from "../upstream/scripted-upstream.ts";
import { startGatewayUnderTest, startIssuer, trusted } from "./gateway-under-test.ts";
import type { GatewayUnderTest, IssuerUnderTest } from "./gateway-under-test.ts";
import { modernCall } from "./wire-client.ts";

const names = ["read", "write", "regional", "secret", "stepped"];
const what = (tool: string): object => ({ upstream: "crm", tool });
const anyone = { anyone: true };
const rules = [
  { id: "a-read", effect: "allow", who: anyone, what: what("read") },
  { id: "b-write", effect: "allow", who: anyone, what: what("write"), when: "has(args.n) && args.n < 10" },
  { id: "c-region", effect: "allow", who: { claims: { region: "eu" } }, what: what("regional") },
  {
    id: "d-gold",
    effect: "deny",
    who: anyone,
    what: what("read"),
    when: 'has(principal.claims.tier) && principal.claims.tier == "none"',
  },
  {
    id: "e-stepped",
    effect: "allow",
    who: anyone,
    what: what("stepped"),
    stepUp: { scopes: { all: ["crm:write"] } },
  },
  { id: "f-out", effect: "deny", who: { subject: "mallory", issuer: "corp" }, what: { server: "desk" } },
];

let issuer: IssuerUnderTest;
let upstream: ScriptedUpstream;
let gateway: GatewayUnderTest;

beforeAll(async () => {
  issuer = await startIssuer();
  const inputSchema = { type: "object" };
  upstream = await startScriptedUpstream({ tools: names.map((name) => ({ name, inputSchema })) });
  gateway = await startGatewayUnderTest({
    issuer,
    upstreams: { crm: upstream.url },
    servers: { desk: { crm: "crm_" } },
    rules,
    config: { auth: { issuers: [{ ...trusted(issuer), claims: { region: "region", tier: "tier" } }] } },
  });
  const people = [
    { sub: "ada", region: "eu" },
    { sub: "bob", region: "us", tier: "none" },
    { sub: "eve", scope: "crm:*" },
    { sub: "mallory" },
  ];
  for (const claims of people) {
    const caller = { gateway, server: "desk", token: await issuer.mint(gateway.resource("desk"), claims) };
    await modernCall(caller, "tools/list");
    for (const name of names)
      for (const args of [{}, { n: 5 }, { n: 50, text: "x".repeat(2_000) }])
        await modernCall(caller, "tools/call", { name: `crm_${name}`, arguments: args });
  }
  await gateway.stop();
});

afterAll(async () => {
  await gateway.remove();
  await upstream.close();
  await issuer.close();
});

interface Diffed {
  readonly code: number;
  readonly counts: Record<string, number>;
  readonly groups: readonly { change: string; principal: { subject: string }; item: string }[];
}

async function diffTo(after: readonly object[], option = ""): Promise<Diffed> {
  const folder = join(gateway.folder, `after-${Math.random()}`);
  mkdirSync(folder);
  writeFileSync(join(folder, "after.yaml"), JSON.stringify({ policy: "after", rules: after }));
  const line = `diff -c ${gateway.folder}/sallyport.yaml ${option}--to ${folder} --audit ${gateway.folder}/audit.jsonl`;
  const read = readPolicyArguments([...line.split(" "), "--json"]);
  if (read.command !== "policy") throw new Error(line);
  const output = captured();
  const code = await policy({ order: read.order }, { env: gateway.env, output, now: Date.now, shownItems });
  return { code, ...(JSON.parse(output.stdout.join("")) as Omit<Diffed, "code">) };
}

const before = (): string => `--from ${gateway.folder}/policies `;

describe("decisions that a gateway recorded", () => {
  it("come out the same under the same policies: none gains or loses", async () => {
    const decisions = gateway
      .audit()
      .filter(({ type, decision, item }) => type !== "attempted" && (decision !== undefined || item !== undefined));
    expect(decisions.length).toBeGreaterThan(50);
    for (const option of ["", before()]) {
      const { code, counts } = await diffTo(rules, option);
      expect([code, counts]).toEqual([
        0,
        { same: decisions.length, gain: 0, lose: 0, changed: 0, undecidable: 0, unread: 0, unlisted: 0 },
      ]);
    }
  });

  it("name the claims that rules read, and keep those alone", () => {
    const kept = gateway.audit().flatMap(({ principal, claims }) => (principal?.subject === "bob" ? [claims] : []));
    expect(new Set(kept.map((one) => JSON.stringify(one)))).toEqual(
      new Set(['{"held":{"region":"us","tier":"none"},"named":["region","tier"]}']),
    );
  });

  it("tell who gains by a rule for what was hidden from them", async () => {
    const opened = [...rules, { id: "g", effect: "allow", who: anyone, what: what("secret") }];
    const { code, groups } = await diffTo(opened, before());
    expect(code).toBe(1);
    const told = groups.map(({ change, principal, item }) => `${change} ${principal.subject} ${item}`);
    // Who is kept out of the server altogether gains nothing by an allow.
    expect([...new Set(told)].sort()).toEqual([
      "gain ada tool secret of crm",
      "gain bob tool secret of crm",
      "gain eve tool secret of crm",
    ]);
  });

  it("tell who loses by a rule on arguments that were read, and what nobody can tell", async () => {
    const tighter = rules.map((rule) =>
      rule.id === "b-write" ? { ...rule, when: "has(args.n) && args.n < 3" } : rule,
    );
    const lost = await diffTo(tighter, before());
    expect(lost.counts).toMatchObject({ lose: 3, gain: 0, undecidable: 0 });
    const unread = rules.map((rule) => (rule.id === "a-read" ? { ...rule, when: "!has(args.text)" } : rule));
    // Of calls without any arguments it is known that there was no text.
    expect((await diffTo(unread, before())).counts).toMatchObject({ lose: 0, gain: 0, undecidable: 4 });
  });

  it("know a scope by the one that covers it, whichever of them rules name now", async () => {
    const other = rules.map((rule) =>
      rule.id === "e-stepped" ? { ...rule, stepUp: { scopes: { all: ["crm:delete"] } } } : rule,
    );
    const { groups } = await diffTo(other, before());
    expect(groups.map(({ change, principal }) => `${change} ${principal.subject}`)).toEqual([
      "changed ada",
      "changed bob",
    ]);
  });
});
