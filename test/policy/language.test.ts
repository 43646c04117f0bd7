import { readFileSync, readdirSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { limits as defaultLimits } from "../../src/model/limits.ts";
import { compilePolicies } from "../../src/policy/compile.ts";
import type { PolicyContext } from "../../src/policy/compile.ts";
import { decide } from "../../src/policy/decide.ts";
import { documentFields, effects, ruleFields, whatFields, whoFields } from "../../src/policy/language.ts";
import { constrain, context, deny, faultsOf, question, rule } from "./given.ts";

const root = new URL("../../", import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), "utf8");
const schema = JSON.parse(read("policies/policy.schema.json")) as {
  properties: object;
  $defs: Record<string, { properties: Record<string, { enum?: string[] }> }>;
};
const validate = new Ajv2020({ strictRequired: false, strictTypes: false }).compile(schema);

function compile(value: unknown, more: Partial<PolicyContext> = {}): ReturnType<typeof compilePolicies> {
  return compilePolicies([{ path: "p.yaml", value }], { ...context, ...more });
}

const constrained = (rows: readonly [string, Record<string, unknown>][]): [string, unknown][] =>
  rows.map(([pointer, more]) => [`/rules/0${pointer}`, { policy: "p", rules: [constrain("c", more)] }]);
const numbered = (count: number): object =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`a${index}`, index]));
const one = (more: object): unknown => ({ policy: "p", rules: [rule("a", more as Record<string, unknown>)] });

describe("the schema that editors use and the compiler", () => {
  it("know the same fields", () => {
    expect(Object.keys(schema.properties)).toEqual(documentFields);
    expect(Object.keys(schema.$defs["rule"]?.properties ?? {})).toEqual(ruleFields);
    expect(Object.keys(schema.$defs["who"]?.properties ?? {})).toEqual(whoFields);
    expect(Object.keys(schema.$defs["what"]?.properties ?? {})).toEqual(whatFields);
    expect(schema.$defs["rule"]?.properties["effect"]?.enum).toEqual(effects);
  });

  const accepted: readonly unknown[] = [
    { policy: "p", rules: [] },
    { policy: "p", description: "For x.", rules: [rule("a")] },
    one({ who: { issuer: "corp", subject: ["a"], client: { any: ["c"] }, tenant: "t", kind: ["human"] } }),
    one({ who: { groups: { all: ["corp:a"] }, scopes: "r", claims: { a: 1, b: [true, "x"], c: { all: ["y"] } } } }),
    one({ what: { server: "data", upstream: ["crm"], tool: { any: ["a*"] } } }),
    one({ what: { resource: "x://y/**" } }),
    one({ what: { upstream: "crm", clientFeature: "elicitation" } }),
    one({ what: { clientFeature: ["elicitation_url", "sampling", "sampling_tools", "roots"] } }),
    one({ what: { clientFeature: { any: ["*"] } } }),
    one({ when: "true", stepUp: { scopes: { all: ["crm:write"] } }, message: "M", note: "N" }),
    { policy: "p", rules: [deny("d")] },
    ...[
      { limits: { rate: "10/min", per: "principal" } },
      { limits: { rate: "1/s", burst: 20, per: ["item", "principal"] } },
      {
        limits: [
          { quota: "1000/day", per: ["client"] },
          { concurrency: 3, per: ["server"] },
        ],
        message: "M",
      },
      { resultBytesMax: 1, when: "has(args.a)" },
      { deadlineMs: 2_147_483_647 },
      { audit: "required" },
      { replayFields: ["/a", "/b~1c/~0"] },
      { what: { tool: "a" }, presets: { a: null, b: [{ c: 1 }] }, unknownArguments: "strip" },
      { what: { upstream: "crm", prompt: "a" }, presets: { a: "b" } },
      { what: { tool: "a" }, removeFields: ["/a/*/b", "/*", "/"], deadlineMs: 1, note: "N" },
    ].map((more) => ({ policy: "p", rules: [constrain("c", more)] })),
    ...[
      { labels: "pii" },
      { upstream: "crm", labels: { all: ["pii", "eu"] }, annotations: { readOnly: true, tier: "gold" } },
      { tool: "a", digest: `sha256:${"0a".repeat(32)}` },
      { template: "x://{a}", digest: { any: [`sha256:${"0a".repeat(32)}`] } },
    ].map((what) => one({ what })),
  ];
  it.each(accepted.map((value) => [value]))("both accept %j", (value) => {
    expect(compile(value)).toMatchObject({ ok: true });
    expect(validate(value)).toBe(true);
  });

  const refused: readonly (readonly [pointer: string, value: unknown])[] = [
    ["", null],
    ["", []],
    ["/policy", { rules: [] }],
    ["/policy", { policy: "a b", rules: [] }],
    ["/rules", { policy: "p" }],
    ["/rules", { policy: "p", rules: {} }],
    ["/owner", { policy: "p", rules: [], owner: "x" }],
    ["/description", { policy: "p", rules: [], description: 1 }],
    ["/rules/0", { policy: "p", rules: ["a"] }],
    ["/rules/0/id", one({ id: "" })],
    ["/rules/0/effect", one({ effect: "permit" })],
    ["/rules/0/effect", one({ effect: "confirm" })],
    ["/rules/0/who", one({ who: {} })],
    ["/rules/0/who", one({ who: undefined })],
    ["/rules/0/who", one({ who: { anyone: true, kind: "human" } })],
    ["/rules/0/who/anyone", one({ who: { anyone: false } })],
    ["/rules/0/who/roles", one({ who: { roles: ["a"] } })],
    ["/rules/0/who/groups", one({ who: { groups: [] } })],
    ["/rules/0/who/groups", one({ who: { groups: {} } })],
    ["/rules/0/who/groups/0", one({ who: { groups: [1] } })],
    ["/rules/0/who/groups", one({ who: { groups: { any: ["corp:a"], all: ["corp:b"] } } })],
    ["/rules/0/who/tenant", one({ who: { tenant: { all: ["a"] } } })],
    ["/rules/0/who/kind", one({ who: { kind: "robot" } })],
    ["/rules/0/who/claims", one({ who: { claims: {} } })],
    ["/rules/0/who/claims/a", one({ who: { claims: { a: 0.5 } } })],
    ["/rules/0/who/claims/a", one({ who: { claims: { a: null } } })],
    ["/rules/0/what", one({ what: {} })],
    ["/rules/0/what", one({ what: { tool: "a", prompt: "a" } })],
    ["/rules/0/what", one({ what: { anything: true, tool: "a" } })],
    ["/rules/0/what/anything", one({ what: { anything: 1 } })],
    ["/rules/0/what", one({ what: { tool: "a", clientFeature: "roots" } })],
    ["/rules/0/what", one({ what: { prompt: "a", clientFeature: "roots" } })],
    ["/rules/0/what", one({ what: { resource: "a:b", clientFeature: "roots" } })],
    ["/rules/0/what", one({ what: { template: "a:b", clientFeature: "roots" } })],
    ["/rules/0/what/clientFeature", one({ what: { clientFeature: "elicitations" } })],
    ["/rules/0/what/clientFeature", one({ what: { clientFeature: ["roots", "sampling*"] } })],
    ["/rules/0/what/clientFeature", one({ what: { clientFeature: "**" } })],
    ["/rules/0/what/clientFeature", one({ what: { clientFeature: [] } })],
    ["/rules/0/what/clientFeature", one({ what: { clientFeature: { all: ["roots"] } } })],
    ["/rules/0/what/tool", one({ what: { tool: [] } })],
    ["/rules/0/what/tool", one({ what: { tool: { all: ["a"] } } })],
    ["/rules/0/when", one({ when: true })],
    ["/rules/0/when", one({ when: " " })],
    ["/rules/0/stepUp/scopes", one({ stepUp: { scopes: ["a"] } })],
    ["/rules/0/stepUp/scopes/all", one({ stepUp: { scopes: { all: [] } } })],
    ["/rules/0/stepUp/scopes/all", one({ stepUp: { scopes: { all: ["a b"] } } })],
    ["/rules/0/stepUp", one({ effect: "deny", stepUp: { scopes: { all: ["a"] } } })],
    ["/rules/0/message", one({ message: 1 })],
    ["/rules/0/what/labels", one({ what: { labels: [] } })],
    ["/rules/0/what/labels", one({ what: { labels: { a: true } } })],
    ["/rules/0/what/annotations", one({ what: { annotations: {} } })],
    ["/rules/0/what/annotations", one({ what: { annotations: ["a"] } })],
    ["/rules/0/what/annotations/a", one({ what: { annotations: { a: 1 } } })],
    ["/rules/0/what/annotations/a", one({ what: { annotations: { a: "" } } })],
    ["/rules/0/what/digest", one({ what: { tool: "a", digest: "0a" } })],
    ["/rules/0/what/digest", one({ what: { tool: "a", digest: `sha256:${"0A".repeat(32)}` } })],
    ["/rules/0/what/digest", one({ what: { resource: "a:b", digest: `sha256:${"0a".repeat(32)}` } })],
    ["/rules/0/what/digest", one({ what: { digest: `sha256:${"0a".repeat(32)}` } })],
    ["/rules/0", one({ effect: "constrain" })],
    ["/rules/0/limits", one({ limits: { rate: "1/s", per: "client" } })],
    ["/rules/0/presets", one({ effect: "deny", what: { tool: "a" }, presets: { a: 1 } })],
    ["/rules/0/audit", one({ audit: "required" })],
    ...constrained([
      ["/stepUp", { stepUp: { scopes: { all: ["a"] } } }],
      ["/message", { message: "M" }],
      ["/what", { what: { clientFeature: "roots" } }],
      ["/when", { what: { tool: "a" }, presets: { a: 1 }, when: "true" }],
      ["/when", { what: { tool: "a" }, unknownArguments: "pass", when: "true" }],
      ["/when", { what: { tool: "a" }, removeFields: ["/a"], when: "true" }],
      ["/presets", { presets: { a: 1 } }],
      ["/presets", { what: { upstream: "crm" }, presets: { a: 1 } }],
      ["/presets", { what: { resource: "a:b" }, presets: { a: 1 } }],
      ["/presets", { what: { tool: "a" }, presets: {} }],
      ["/presets", { what: { tool: "a" }, presets: ["a"] }],
      ["/presets", { what: { tool: "a" }, presets: numbered(65) }],
      ["/unknownArguments", { what: { prompt: "a" }, unknownArguments: "reject" }],
      ["/unknownArguments", { what: { tool: "a" }, unknownArguments: "drop" }],
      ["/removeFields", { what: { template: "a:b" }, removeFields: ["/a"] }],
      ["/removeFields", { what: { tool: "a" }, removeFields: [] }],
      ["/removeFields/0", { what: { tool: "a" }, removeFields: [""] }],
      ["/removeFields/1", { what: { tool: "a" }, removeFields: ["/a", "a"] }],
      ["/removeFields/0", { what: { tool: "a" }, removeFields: ["/a*"] }],
      ["/removeFields/0", { what: { tool: "a" }, removeFields: ["/~2"] }],
      ["/removeFields/0", { what: { tool: "a" }, removeFields: [`/${"a".repeat(1_024)}`] }],
      ["/removeFields", { what: { tool: "a" }, removeFields: Array.from({ length: 65 }, (_, at) => `/${at}`) }],
      ["/replayFields/0", { replayFields: ["/a/*"] }],
      ["/replayFields/0", { replayFields: [1] }],
      ["/resultBytesMax", { resultBytesMax: 0 }],
      ["/resultBytesMax", { resultBytesMax: 1.5 }],
      ["/deadlineMs", { deadlineMs: "30s" }],
      ["/deadlineMs", { deadlineMs: 2_147_483_648 }],
      ["/audit", { audit: true }],
      ["/limits", { limits: [] }],
      ["/limits", { limits: Array.from({ length: 65 }, () => ({ rate: "1/s", per: "client" })) }],
      ["/limits", { limits: "1/s" }],
      ["/limits", { limits: { per: "client" } }],
      ["/limits", { limits: { rate: "1/s", quota: "1/day", per: "client" } }],
      ["/limits/per", { limits: { rate: "1/s" } }],
      [
        "/limits/1/per",
        {
          limits: [
            { rate: "1/s", per: "item" },
            { rate: "1/s", per: [] },
          ],
        },
      ],
      ["/limits/per", { limits: { rate: "1/s", per: "tenant" } }],
      ["/limits/per", { limits: { rate: "1/s", per: ["item", "item"] } }],
      ["/limits/rate", { limits: { rate: "0/s", per: "item" } }],
      ["/limits/rate", { limits: { rate: "1/day", per: "item" } }],
      ["/limits/rate", { limits: { rate: 1, per: "item" } }],
      ["/limits/rate", { limits: { rate: "1000000000/s", per: "item" } }],
      ["/limits/quota", { limits: { quota: "1/h", per: "item" } }],
      ["/limits/concurrency", { limits: { concurrency: 0, per: "item" } }],
      ["/limits/burst", { limits: { rate: "1/s", burst: 0, per: "item" } }],
      ["/limits/burst", { limits: { quota: "1/day", burst: 1, per: "item" } }],
      ["/limits/every", { limits: { rate: "1/s", per: "item", every: 1 } }],
    ]),
  ];
  it.each(refused)("both refuse what stands at %s in %j", (pointer, value) => {
    const compiled = compile(value);
    const paths = compiled.ok ? [] : compiled.faults.map((fault) => fault.path);
    expect(paths).toContain(`p.yaml#${pointer}`);
    expect(validate(JSON.parse(JSON.stringify(value)))).toBe(false);
  });
});

describe("a policy does not load", () => {
  it.each([
    ["an unknown issuer", { who: { issuer: "evil" } }, "who/issuer"],
    ["a group without its issuer", { who: { groups: ["support"] } }, "who/groups"],
    ["a group of an unknown issuer", { who: { groups: ["evil:support"] } }, "who/groups"],
    ["a group without a name", { who: { groups: ["corp:"] } }, "who/groups"],
    ["an unknown upstream", { what: { upstream: "nope" } }, "what/upstream"],
    ["an unknown server", { what: { server: "nope" } }, "what/server"],
    ["a misplaced `**`", { what: { tool: "a**" } }, "what/tool"],
    ["dot segments in a pattern", { what: { resource: "file:///a/../b" } }, "what/resource"],
    ["encoded dot segments in a pattern", { what: { resource: "file:///a/%2e%2e/b" } }, "what/resource"],
    ["an encoded slash in a pattern", { what: { resource: "file:///a%2fb" } }, "what/resource"],
    ["undecodable text in a pattern", { what: { resource: "file:///%zz" } }, "what/resource"],
  ])("with %s", (_law, more, where) => {
    expect(faultsOf([rule("a", more)]).map((fault) => fault.path)).toEqual([`p.yaml#/rules/0/${where}`]);
  });

  it("with a claim that no issuer maps, where the mapped ones are known", () => {
    const value = { policy: "p", rules: [rule("a", { effect: "deny", who: { claims: { regoin: ["eu"] } } })] };
    const paths = (claims: readonly string[] | undefined): unknown => {
      const compiled = compile(value, { claims });
      return compiled.ok ? [] : compiled.faults.map((fault) => fault.path);
    };
    expect([paths(["region"]), paths([]), paths(["regoin"]), paths(undefined)]).toEqual([
      ["p.yaml#/rules/0/who/claims/regoin"],
      ["p.yaml#/rules/0/who/claims/regoin"],
      [],
      [],
    ]);
  });

  it.each([["confirm"], ["flag"]])("with the effect %s, which is refused by name", (effect) => {
    expect(faultsOf([rule("a", { effect })])[0]?.message).toBe(`the effect \`${effect}\` comes later`);
  });

  it.each([
    ["elicitaton", "no client has this feature: did you mean elicitation?"],
    ["sampling_tool", "no client has this feature: did you mean sampling_tools?"],
    ["Roots", "no client has this feature: did you mean roots?"],
    ["logging", "no client has this feature"],
  ])("with the client feature %s, and says which was meant", (feature, message) => {
    expect(faultsOf([rule("a", { what: { upstream: "crm", clientFeature: feature } })])).toEqual([
      {
        path: "p.yaml#/rules/0/what/clientFeature",
        found: JSON.stringify(feature),
        expected: "* or one of elicitation, elicitation_url, sampling, sampling_tools, roots",
        message,
      },
    ]);
  });

  it("and says everything that is wrong, in every file", () => {
    const compiled = compilePolicies(
      [
        {
          path: "a.yaml",
          value: { policy: "p", rules: [rule("a", { what: { upstream: "x" }, when: "args.a == 1" })] },
        },
        { path: "b.yaml", value: { policy: "p", rules: [rule("a")] } },
      ],
      context,
    );
    const paths = compiled.ok ? [] : compiled.faults.map((fault) => fault.path);
    expect(paths).toEqual([
      "a.yaml#/rules/0/what/upstream",
      "a.yaml#/rules/0/when",
      "b.yaml#/policy",
      "b.yaml#/rules/0/id",
    ]);
  });

  it("with more rules than the bound, and does with as many", () => {
    const limits = { ...defaultLimits, policyRulesMax: 2 };
    expect(faultsOf([rule("a"), rule("b")], { limits })).toEqual([]);
    expect(faultsOf([rule("a"), rule("b"), rule("c")], { limits })).toHaveLength(1);
  });

  it("when a YAML alias makes it its own ancestor", () => {
    const loop: Record<string, unknown> = { policy: "p" };
    loop["rules"] = loop;
    expect(compile(loop).ok).toBe(false);
  });
});

describe("a policy warns", () => {
  it.each([
    ["of a subject without issuer", { who: { subject: "a" } }, "who/subject"],
    ["of names without upstream", { what: { tool: "a" } }, "what"],
    ["of features without upstream", { what: { clientFeature: "roots" } }, "what"],
  ])("%s", (_law, more, where) => {
    const compiled = compile(one(more));
    expect(compiled.ok && compiled.warnings.map((warning) => warning.path)).toEqual([`p.yaml#/rules/0/${where}`]);
  });
});

describe("the digest", () => {
  const first = { path: "1.yaml", value: { policy: "p", rules: [rule("a")] } };
  const second = { path: "2.yaml", value: { rules: [deny("b")], policy: "q" } };
  const digest = (...documents: { path: string; value: unknown }[]): string => {
    const compiled = compilePolicies(documents, context);
    return compiled.ok ? compiled.policy.digest : "";
  };

  it("does not depend on the order or the names of files, nor on the order of keys", () => {
    const renamed = { path: "9.yaml", value: { policy: "q", rules: [deny("b")] } };
    expect(digest(renamed, first)).toBe(digest(first, second));
    expect(digest(first)).toMatch(/^[0-9a-f]{64}$/);
  });

  it("changes with any word, notes included", () => {
    expect(digest({ path: "1.yaml", value: { policy: "p", rules: [rule("a", { note: "n" })] } })).not.toBe(
      digest(first),
    );
  });
});

describe("shipped policies and the manual", () => {
  const files = readdirSync(new URL("policies/", root)).filter((name) => /^[^.]+\.yaml$/.test(name));
  const manual = [...read("docs/policy.md").matchAll(/```yaml\n([^]*?)```/g)].map((match) => match[1] ?? "");

  const shipped = parse(read("test/policy/examples/sallyport.yaml")) as {
    auth: { issuers: { alias: string }[] };
    upstreams: object;
    servers: object;
  };
  const names: PolicyContext = {
    issuerAliases: shipped.auth.issuers.map(({ alias }) => alias),
    upstreams: Object.keys(shipped.upstreams),
    servers: Object.keys(shipped.servers),
  };

  it.each([
    ...files.map((name) => [read(`policies/${name}`), names] as const),
    ...manual.map((text) => [text, context] as const),
  ])("compile: %s", (text, known) => {
    const value: unknown = parse(text);
    const document = Array.isArray(value) ? { policy: "p", rules: value as unknown[] } : value;
    expect(compile(document, known)).toMatchObject({ ok: true });
    expect(validate(document)).toBe(true);
  });

  it("are there", () => {
    expect(files).toContain("support.yaml");
    expect(manual.length).toBeGreaterThan(3);
  });

  it.each([
    ["a lead without the scope steps up", ["corp:support-lead"], { fields: ["phone"] }, "step-up"],
    ["a lead who changes a name is denied", ["corp:support-lead"], { fields: ["name"] }, "deny"],
    ["support without the lead is denied", ["corp:support"], { fields: ["phone"] }, "deny"],
  ])("support.yaml: %s", (_law, groups, args, effect) => {
    const compiled = compile(parse(read("policies/support.yaml")));
    if (!compiled.ok) throw new Error("support.yaml does not compile");
    const asked = question({ name: "update_customer", who: { groups }, args });
    expect(decide(compiled.policy, asked).effect).toBe(effect);
  });
});
