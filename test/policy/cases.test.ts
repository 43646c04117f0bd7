import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import {
  caseEffects,
  caseFields,
  caseReasons,
  expectFields,
  itemFields,
  readCases,
} from "../../src/policy/read-cases.ts";
import type { CaseNames } from "../../src/policy/read-cases.ts";
import { principalFields } from "../../src/policy/read-principal.ts";
import { ruleSources } from "../../src/policy/rule-source.ts";
import { runCases } from "../../src/policy/run-cases.ts";
import { context, deny, load, rule } from "./given.ts";

const schema = JSON.parse(readFileSync(new URL("../../policies/cases.schema.json", import.meta.url), "utf8")) as {
  items: { properties: object };
  $defs: Record<string, { properties: Record<string, { enum?: string[] }> }>;
};
const validate = new Ajv2020({ strictRequired: false, strictTypes: false }).compile(schema);

const names: CaseNames = {
  issuers: [
    { alias: "corp", issuer: "https://login.example.com", tenant: "default" },
    { alias: "partner", issuer: "https://partner.example.com", tenant: undefined },
  ],
  claims: ["region"],
  held: (scopes) => (scopes.includes("crm:*") ? [...scopes, "crm:write"] : scopes),
  upstreams: context.upstreams,
  servers: context.servers,
};

const sound = {
  case: "c",
  principal: { issuer: "corp" },
  server: "support",
  item: { upstream: "crm", tool: "x" },
  expect: { effect: "allow" },
};
const without = (value: object, key: string): object =>
  Object.fromEntries(Object.entries(value).filter(([name]) => name !== key));
const faultsOf = (value: unknown): readonly string[] => {
  const read = readCases({ path: "c.yaml", value }, names);
  return read.ok ? [] : read.faults.map(({ path }) => path.slice("c.yaml#".length));
};

describe("the schema that editors use and the reader", () => {
  it("know the same fields", () => {
    const fieldsOf = (def: string): string[] => Object.keys(schema.$defs[def]?.properties ?? {});
    expect(Object.keys(schema.items.properties)).toEqual(caseFields);
    expect(fieldsOf("expect")).toEqual(expectFields);
    expect(fieldsOf("item")).toEqual(itemFields);
    expect(fieldsOf("principal").sort()).toEqual([...principalFields].sort());
    expect(schema.$defs["expect"]?.properties["effect"]?.enum).toEqual(caseEffects);
    expect(schema.$defs["expect"]?.properties["reason"]?.enum).toEqual(caseReasons);
  });

  it.each<[unknown]>([
    [[]],
    [[sound]],
    [[without(sound, "item")]],
    [[{ ...sound, args: { a: [1, null, { b: "c" }] }, at: "2026-03-04T10:00:00+01:00", era: "legacy" }]],
    [[{ ...sound, item: { upstream: "crm", clientFeature: "roots" } }]],
    [[{ ...sound, expect: { effect: "deny", reason: "no-rule-allows", listed: false, scopes: [], obligations: "a" } }]],
    [
      [
        {
          ...sound,
          principal: { issuer: "corp", groups: "corp:a", scopes: ["s"], claims: { region: ["eu"] }, kind: "service" },
        },
      ],
    ],
  ])("both accept %j", (value) => {
    expect(faultsOf(value)).toEqual([]);
    expect(validate(value)).toBe(true);
  });

  it.each<[string, unknown]>([
    ["", { cases: [] }],
    ["/0", ["c"]],
    ["/0/case", [{ ...sound, case: " " }]],
    ["/0/what", [{ ...sound, what: {} }]],
    ["/0/principal/roles", [{ ...sound, principal: { issuer: "corp", roles: [] } }]],
    ["/0/principal/kind", [{ ...sound, principal: { issuer: "corp", kind: "robot" } }]],
    ["/0/principal/groups", [{ ...sound, principal: { issuer: "corp", groups: [] } }]],
    ["/0/principal/claims", [{ ...sound, principal: { issuer: "corp", claims: "x" } }]],
    ["/0/server", [{ ...sound, server: 1 }]],
    ["/0/item", [{ ...sound, item: { upstream: "crm" } }]],
    ["/0/item", [{ ...sound, item: { upstream: "crm", tool: "a", prompt: "b" } }]],
    ["/0/args", [{ ...sound, args: [] }]],
    ["/0/at", [{ ...sound, at: "2026-03-04" }]],
    ["/0/at", [{ ...sound, at: "2026-03-04T10:00:00" }]],
    ["/0/era", [{ ...sound, era: "old" }]],
    ["/0/expect/effect", [{ ...sound, expect: {} }]],
    ["/0/expect/reason", [{ ...sound, expect: { effect: "deny", reason: "because" } }]],
    ["/0/expect/listed", [{ ...sound, expect: { effect: "deny", listed: "no" } }]],
    ["/0/expect/found", [{ ...sound, expect: { effect: "deny", found: 1 } }]],
  ])("both refuse what stands at %s in %j", (pointer, value) => {
    expect(faultsOf(value)).toContain(pointer);
    expect(validate(value)).toBe(false);
  });

  it.each<[string, unknown]>([
    ["/0/server", [{ ...sound, server: "nope" }]],
    ["/0/item/upstream", [{ ...sound, item: { upstream: "nope", tool: "x" } }]],
    ["/0/principal/issuer", [{ ...sound, principal: { issuer: "evil" } }]],
    ["/0/principal/issuer", [{ ...sound, principal: {} }]],
    ["/0/principal/groups", [{ ...sound, principal: { issuer: "corp", groups: "partner:a" } }]],
    ["/0/principal/claims/tier", [{ ...sound, principal: { issuer: "corp", claims: { tier: 1 } } }]],
    ["/0/at", [{ ...sound, at: "2026-13-04T10:00:00Z" }]],
    ["/0/args/n", [{ ...sound, args: { n: 2 ** 60 } }]],
  ])("the reader also refuses what the configuration does not know, at %s in %j", (pointer, value) => {
    expect(faultsOf(value)).toEqual([pointer]);
  });
});

const rules = [
  rule("reads", { what: { upstream: "crm", tool: "x" }, when: "!has(args.n) || args.n < 5", message: "Less." }),
  rule("writes", { what: { upstream: "crm", tool: "y" }, stepUp: { scopes: { all: ["crm:write"] } } }),
  deny("keeps-out", { who: { tenant: "evil" } }),
  rule("slow", { effect: "constrain", what: { upstream: "crm", tool: "x" }, deadlineMs: 5 }),
];

function run(...values: readonly object[]): ReturnType<typeof runCases> {
  const read = readCases({ path: "c.yaml", value: values.map((value) => ({ ...sound, ...value })) }, names);
  if (!read.ok) throw new Error(JSON.stringify(read.faults));
  return runCases(load(rules), ruleSources([{ path: "p.yaml", value: { rules } }]), read.cases);
}

describe("a run of cases", () => {
  it.each<[string, object, readonly string[]]>([
    ["holds", { args: {}, expect: { effect: "allow", rule: "reads", listed: true, obligations: ["slow"] } }, []],
    ["another effect", { args: { n: 9 } }, ["effect: allow, deny"]],
    [
      "another rule, reason and listing",
      { args: { n: 9 }, expect: { effect: "deny", rule: "x", reason: "denied-by-rule", listed: false } },
      ["rule: x, reads", "reason: denied-by-rule, condition-false", "listed: no, yes"],
    ],
    [
      "obligations that are none",
      { args: {}, expect: { effect: "allow", obligations: [] } },
      ["obligations: none, slow"],
    ],
    [
      "the scopes of a step-up",
      { item: { upstream: "crm", tool: "y" }, args: {}, expect: { effect: "step-up", scopes: ["a"] } },
      ["scopes: a, crm:write"],
    ],
    [
      "a scope that another one covers",
      { principal: { issuer: "corp", scopes: "crm:*" }, item: { upstream: "crm", tool: "y" }, args: {} },
      [],
    ],
    ["arguments that are not known", { expect: { effect: "deny", reason: "condition-error", listed: true } }, []],
    ["no item", { item: undefined, principal: { issuer: "partner", tenant: "evil" }, expect: { effect: "deny" } }, []],
    ["no item, and allowed", { item: undefined, expect: { effect: "allow", rule: "x" } }, ["rule: x, none"]],
  ])("%s", (_law, value, expected) => {
    const asked = Object.entries(value).filter(([, part]) => part !== undefined);
    const base = "item" in value && value.item === undefined ? { ...sound, item: undefined } : sound;
    const whole = Object.fromEntries(
      Object.entries({ ...base, ...Object.fromEntries(asked) }).filter(([, part]) => part !== undefined),
    );
    const read = readCases({ path: "c.yaml", value: [whole] }, names);
    const cases = read.ok ? read.cases : [];
    const [result] = runCases(load(rules), ruleSources([{ path: "p.yaml", value: { rules } }]), cases).results;
    const told = result?.differences.map(({ field, expected: wanted, found }) => `${field}: ${wanted}, ${found}`);
    expect(told).toEqual(expected);
  });

  it("names the rules that decide no case and apply in none", () => {
    const unexercised = (...values: readonly object[]): readonly string[] =>
      run(...values).unexercised.map(({ id }) => id);
    expect(unexercised()).toEqual(["keeps-out", "reads", "slow", "writes"]);
    expect(unexercised({ args: {} })).toEqual(["keeps-out", "writes"]);
    expect(unexercised({ item: { upstream: "crm", tool: "y" }, args: {} })).toEqual(["keeps-out", "reads", "slow"]);
  });
});
