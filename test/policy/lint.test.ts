import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/model/json.ts";
import { compilePolicies } from "../../src/policy/compile.ts";
import { decide } from "../../src/policy/decide.ts";
import { lintPolicy } from "../../src/policy/lint.ts";
import type { LintContext } from "../../src/policy/lint.ts";
import type { KnownItem } from "../../src/policy/lint-catalog.ts";
import { ruleSources } from "../../src/policy/rule-source.ts";
import { anyAllow, anyContext, anyDeny, anyQuestion, numbered } from "./arbitrary.ts";
import { context, deny, load, rule } from "./given.ts";

const servers = new Map([
  ["support", ["crm", "tickets"]],
  ["data", ["warehouse"]],
]);
const sound: LintContext = { servers, lockedUpstreams: new Set(context.upstreams) };

function linted(rules: readonly unknown[], more: Partial<LintContext> = {}): readonly string[] {
  const documents = [{ path: "p.yaml", value: { policy: "p", rules } }];
  const names = { ...context, upstreams: [...context.upstreams, "unserved"] };
  const compiled = compilePolicies(documents, names);
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.faults));
  const findings = lintPolicy(compiled.policy, ruleSources(documents), { ...sound, ...more });
  return findings.map(({ id, path }) => `${id} ${path.slice("p.yaml#/rules/".length)}`);
}

type Fields = Readonly<Record<string, unknown>>;
const tool = (name: string | readonly string[], more: object = {}): Fields => ({ what: { tool: name, ...more } });
const who = (fields: object): Fields => ({ who: fields });
const group = (...groups: string[]): object => ({ groups: groups.map((one) => `corp:${one}`) });

describe("a rule that another one makes useless", () => {
  it.each<[string, readonly unknown[], readonly string[]]>([
    ["a deny of everything", [rule("a", tool("x")), deny("d")], ["shadowed-by-deny 0"]],
    ["a deny of the same", [rule("a", tool("x")), deny("d", tool("x"))], ["shadowed-by-deny 0"]],
    ["a deny of the pattern", [rule("a", tool("get_x")), deny("d", tool("get_*"))], ["shadowed-by-deny 0"]],
    ["a deny of a wider pattern", [rule("a", tool("get_x_*")), deny("d", tool("get_*"))], ["shadowed-by-deny 0"]],
    ["a deny of a narrower one", [rule("a", tool("get_*")), deny("d", tool("get_x_*"))], []],
    ["a deny of some of the names", [rule("a", tool(["x", "y"])), deny("d", tool("x"))], []],
    ["a deny of deeper names", [rule("a", tool("a/*")), deny("d", tool("a/**"))], ["shadowed-by-deny 0"]],
    ["an allow of deeper names", [rule("a", tool("a/**")), deny("d", tool("a/*"))], []],
    ["a deny under a condition", [rule("a", tool("x")), deny("d", { when: "has(args.x)" })], []],
    [
      "a deny under the same condition",
      [rule("a", { ...tool("x"), when: "has(args.x)" }), deny("d", { when: "has(args.x)" })],
      ["shadowed-by-deny 0"],
    ],
    ["a deny of others", [rule("a", who(group("a"))), deny("d", who(group("b")))], []],
    ["a deny of more groups", [rule("a", who(group("a"))), deny("d", who(group("a", "b")))], ["shadowed-by-deny 0"]],
    ["a deny of one of either", [rule("a", who(group("a", "b"))), deny("d", who({ groups: { all: ["corp:a"] } }))], []],
    ["a deny of fewer groups", [rule("a", who(group("a", "b"))), deny("d", who(group("a")))], []],
    [
      "a deny of one of all groups",
      [rule("a", who({ groups: { all: ["corp:a", "corp:b"] } })), deny("d", who(group("b")))],
      ["shadowed-by-deny 0"],
    ],
    [
      "a deny of who holds both",
      [rule("a", who(group("a"))), deny("d", who({ groups: { all: ["corp:a", "corp:b"] } }))],
      [],
    ],
    [
      "a deny of a claim",
      [rule("a", who({ claims: { r: ["eu", "us"] } })), deny("d", who({ claims: { r: ["eu", "us", "uk"] } }))],
      ["shadowed-by-deny 0"],
    ],
    ["a deny of another kind", [rule("a", tool("x")), deny("d", { what: { prompt: "x" } })], []],
    ["a deny of one upstream", [rule("a", tool("x")), deny("d", { what: { upstream: "crm" } })], []],
    ["a deny of labels", [rule("a", tool("x")), deny("d", { what: { labels: "pii" } })], []],
    [
      "a deny of either form of a URI",
      [rule("a", { what: { resource: "x://h/a%20b" } }), deny("d", { what: { resource: "x://h/a b" } })],
      ["shadowed-by-deny 0"],
    ],
    ["a wider allow", [rule("a", tool("get_x_*")), rule("b", tool("get_*"))], ["covered-rule 0"]],
    ["an allow by pattern of what is named", [rule("a", tool("get_x")), rule("b", tool("get_*"))], []],
    [
      "an allow that asks for more scopes",
      [rule("a", tool("x")), rule("b", { ...tool("x"), stepUp: { scopes: { all: ["s"] } } })],
      ["covered-rule 1"],
    ],
    ["a wider deny", [deny("a", tool("x")), deny("b")], ["covered-rule 0"]],
    [
      "a deny of every port that is written, where the other needs none",
      [deny("a", { what: { resource: "https://h:443/x" } }), deny("b", { what: { resource: "https://h:*/x" } })],
      [],
    ],
    ["the same rule twice", [rule("a", { note: "n" }), rule("b", { message: "m" })], ["same-rule 1"]],
    ["the same in other words", [rule("a", tool("x*")), rule("b", tool(["x*"]))], ["covered-rule 1"]],
    [
      "the same constrain twice",
      ["c", "d"].map((id) => rule(id, { effect: "constrain", ...tool("x"), deadlineMs: 5 })),
      ["same-rule 1"],
    ],
  ])("%s", (_law, rules, expected) => {
    expect(linted(rules)).toEqual(expected);
  });
});

describe("a rule that never matches", () => {
  it.each<[string, Fields, readonly string[]]>([
    ["a server without the upstream", { what: { server: "data", upstream: "crm" } }, ["never-matches 0/what"]],
    ["one of the servers has it", { what: { server: ["data", "support"], upstream: "crm" } }, []],
    ["an upstream of no server", { what: { upstream: "unserved" } }, ["never-matches 0/what"]],
    ["groups of two issuers", { who: { groups: { all: ["corp:a", "partner:b"] } } }, ["never-matches 0/who/groups"]],
    ["either group of two issuers", { who: { groups: ["corp:a", "partner:b"] } }, []],
    ["a group of another issuer", { who: { issuer: "corp", groups: ["partner:b"] } }, ["never-matches 0/who/groups"]],
    ["a group of one of the issuers", { who: { issuer: ["corp", "partner"], groups: ["partner:b"] } }, []],
  ])("%s", (_law, more, expected) => {
    expect(linted([rule("a", more)])).toEqual(expected);
  });
});

it("a scope in `who` of an allow should be a step-up, and of a deny may stand", () => {
  const scopes = { who: { scopes: "r" } };
  expect(linted([rule("a", { ...scopes, ...tool("x") }), deny("d", { ...scopes, ...tool("y") })])).toEqual([
    "scope-in-who 0/who/scopes",
  ]);
});

describe("without a catalog lock", () => {
  const open = { lockedUpstreams: new Set<string>() };
  it.each<[string, readonly unknown[], readonly string[]]>([
    ["patterns are one finding", [rule("a", tool("x*")), rule("b", tool("y*"))], ["pattern-without-lock 0/what"]],
    ["so is naming no item", [rule("a", { what: { upstream: "crm" } })], ["pattern-without-lock 0/what"]],
    ["exact names are none", [rule("a", tool("x"))], []],
    ["resources are not locked", [rule("a", { what: { resource: "x://**" } })], []],
    ["a deny by pattern is none", [deny("d", tool("x*"))], []],
    ["a digest names a definition", [rule("a", tool("x*", { digest: `sha256:${"a".repeat(64)}` }))], []],
  ])("%s", (_law, rules, expected) => {
    expect(linted(rules, open)).toEqual(expected);
  });
});

const inputSchema: JsonObject = {
  type: "object",
  properties: {
    limit: { type: "integer" },
    state: { enum: ["open", "closed"] },
    name: { type: ["string", "null"] },
    deep: { type: "object", properties: { flag: { type: "boolean" } } },
    free: {},
  },
};
const items: readonly KnownItem[] = [
  { upstream: "crm", kind: "tool", name: "find", inputSchema },
  { upstream: "crm", kind: "tool", name: "find_all", inputSchema: { ...inputSchema, allOf: [{}] } },
  { upstream: "crm", kind: "prompt", name: "hello" },
];
const known = { known: { items: () => items } };

describe("with known definitions", () => {
  it.each<[string, object, readonly string[]]>([
    ["a name that no tool has", { upstream: "crm", tool: "fnd" }, ["matches-nothing-known 0/what/tool"]],
    ["a pattern that no tool has", { upstream: "crm", tool: ["find", "get_*"] }, ["matches-nothing-known 0/what/tool"]],
    ["a pattern that one has", { upstream: "crm", tool: "fi*" }, []],
    ["a name at any upstream", { tool: "find" }, []],
    ["a name that only an unknown upstream could have", { upstream: "tickets", tool: "fnd" }, []],
    ["a kind of which nothing is known", { upstream: "crm", template: "x://{y}" }, []],
    ["a resource", { upstream: "crm", resource: "x://y" }, []],
  ])("%s", (_law, what, expected) => {
    expect(linted([rule("a", { what })], known)).toEqual(expected);
  });

  it("suggests the nearest name", () => {
    const documents = [{ path: "p", value: { policy: "p", rules: [rule("a", tool("fnd", { upstream: "crm" }))] } }];
    const compiled = compilePolicies(documents, context);
    const found = compiled.ok ? lintPolicy(compiled.policy, ruleSources(documents), { ...sound, ...known }) : [];
    expect(found.map(({ text }) => text)).toEqual(["no known tool of crm is called fnd: did you mean find?"]);
  });

  const unknown = "unknown-argument 0/when";
  const wrong = "wrong-literal 0/when";
  it.each<[string, readonly string[], string?]>([
    ["has(args.limit) && args.limit <= 5", []],
    ["has(args.limt) && args.limt <= 5", [unknown]],
    ["has(args.limt)", [], "find*"],
    ['has(args.deep) && has(args.deep.flag) && args.deep.flag == "x"', [wrong]],
    ["has(args.deep) && has(args.deep.flg)", [unknown]],
    ['has(args.limit) && args.limit == "5"', [wrong]],
    ['has(args.limit) && "5" == args.limit', [wrong]],
    ["has(args.limit) && args.limit == -5", []],
    ['has(args.state) && args.state == "opened"', [wrong]],
    ['has(args.state) && args.state == "open"', []],
    ['has(args.state) && args.state in ["open", "shut"]', [wrong]],
    ['has(args.state) && args.state > "open"', []],
    ["has(args.name) && args.name == null", []],
    ["has(args.name) && args.name == true", [wrong]],
    ['has(args.limit) && args.limit.startsWith("5")', [wrong]],
    ['has(args.name) && args.name.startsWith("5")', []],
    ['has(args.free) && args.free == "x"', []],
    ['has(args.limit) && args.limit == "5"', [wrong], "find*"],
  ])("%s: %j", (when, expected, name = "find") => {
    expect(linted([rule("a", { ...tool(name, { upstream: "crm" }), when })], known)).toEqual(expected);
  });
});

it.each([
  ["lint-ok: shadowed-by-deny", []],
  ["Agreed. lint-ok: scope-in-who, shadowed-by-deny (until spring)", []],
  ["lint-ok: covered-rule", ["shadowed-by-deny 0"]],
])("a note accepts a finding by its name: %s", (note, expected) => {
  expect(linted([rule("a", { ...tool("x"), note }), deny("d")])).toEqual(expected);
});

it("what covers a rule is found among ten thousand rules of one upstream, tool and group", () => {
  const rules = Array.from({ length: 10_000 }, (_, at) =>
    rule(`r${String(at).padStart(5, "0")}`, {
      ...who({ issuer: "corp", subject: `s${at}`, ...group("a") }),
      ...tool("x"),
    }),
  );
  // What is compared is found by its subject: the rule itself, and the deny.
  expect(linted([...rules, deny("d", { ...who({ issuer: "corp", subject: "s7" }), ...tool("x") })].slice(1))).toEqual([
    "shadowed-by-deny 6",
  ]);
});

describe("what lint says of two rules", () => {
  const findingsOf = (rules: readonly unknown[], more: Parameters<typeof load>[1]): readonly string[] => {
    const policy = load(rules, more);
    const sources = ruleSources([{ path: "p", value: { rules } }]);
    return lintPolicy(policy, sources, {
      servers: new Map([["support", context.upstreams]]),
      lockedUpstreams: new Set(context.upstreams),
    }).map(({ id, path }) => `${id} ${path.split("/")[2] ?? ""}`);
  };

  it("is so: what a deny shadows allows nothing", () => {
    fc.assert(
      fc.property(anyAllow, anyDeny, anyQuestion, anyContext, (allow, denied, asked, more) => {
        const rules = numbered([allow, denied]);
        if (!findingsOf(rules, more).includes("shadowed-by-deny 0")) return;
        expect(decide(load(rules, more), asked).effect).toBe("deny");
      }),
      { numRuns: 3_000 },
    );
  });

  it("is so: without what is covered, or the same, nothing comes out differently", () => {
    const pair = fc.oneof(fc.tuple(anyAllow, anyAllow), fc.tuple(anyDeny, anyDeny));
    fc.assert(
      fc.property(pair, anyAllow, anyQuestion, anyContext, (two, other, asked, more) => {
        const rules = numbered([...two, other]);
        const findings = findingsOf(rules, more).filter((one) => /covered|same/.test(one));
        for (const finding of findings) {
          const rest = rules.filter((_, at) => at !== Number(finding.split(" ")[1]));
          expect(decide(load(rest, more), asked).effect).toBe(decide(load(rules, more), asked).effect);
        }
      }),
      { numRuns: 2_000 },
    );
  });
});
