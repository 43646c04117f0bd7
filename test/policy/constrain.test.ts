import { describe, expect, it } from "vitest";
import { limits } from "../../src/model/limits.ts";
import { noObligations, noShaping, obligationsOf, shapingOf } from "../../src/policy/obligations.ts";
import { decide, decideServer, listing } from "../../src/policy/decide.ts";
import { constrain, deny, faultsOf, load, question, rule } from "./given.ts";
import type { Asked } from "./given.ts";

const export_ = { upstream: "crm", tool: "export_*" };
const errs = "has(args.list) && args.list > 1";
const rate = { rate: "10/min", per: "principal" };
const asLimit = (more: object = {}): object => ({
  rule: "c",
  at: 0,
  per: ["principal"],
  kind: "rate",
  count: 10,
  perMs: 60_000,
  burst: 10,
  ...more,
});

describe("what is laid upon a use", () => {
  const limited: readonly [law: string, more: object, expected: object][] = [
    ["a rate, whose bucket holds a window's worth", { limits: rate }, { limits: [asLimit()] }],
    [
      "a rate by the second",
      { limits: { ...rate, rate: "3/s" } },
      { limits: [asLimit({ count: 3, perMs: 1_000, burst: 3 })] },
    ],
    [
      "a rate by the hour, with a burst",
      { limits: { ...rate, rate: "9/h", burst: 20 } },
      { limits: [asLimit({ count: 9, perMs: 3_600_000, burst: 20 })] },
    ],
    [
      "a quota, whose scopes are kept in one order",
      { limits: { quota: "1000/day", per: ["server", "item", "client", "principal"] } },
      { limits: [{ rule: "c", at: 0, per: ["principal", "client", "item", "server"], kind: "quota", count: 1_000 }] },
    ],
    [
      "several limits, each with its place and the rule's message",
      { limits: [rate, { concurrency: 2, per: ["item"] }], message: "Slowly." },
      {
        limits: [
          asLimit({ message: "Slowly." }),
          { rule: "c", at: 1, per: ["item"], message: "Slowly.", kind: "concurrency", count: 2 },
        ],
      },
    ],
    ["a bound on results", { resultBytesMax: 9 }, { resultBytesMax: 9 }],
    ["a deadline", { deadlineMs: 30_000 }, { deadlineMs: 30_000 }],
    ["evidence before anything", { audit: "required" }, { auditRequired: true }],
    [
      "fields that evidence keeps",
      { replayFields: ["/ids", "/a~1b/c", "/ids"] },
      { replayFields: ["/a~1b/c", "/ids"] },
    ],
  ];
  it.each(limited)("is %s", (_law, more, expected) => {
    const policy = load([rule("a"), constrain("c", { what: export_, ...more })]);
    expect(obligationsOf(policy, question())).toEqual({ ...noObligations, rules: ["c"], ...expected });
  });

  it("is the tightest of all rules that apply", () => {
    const policy = load([
      constrain("b", { deadlineMs: 5, resultBytesMax: 100, replayFields: ["/b"], limits: rate }),
      constrain("a", {
        deadlineMs: 9,
        resultBytesMax: 10,
        replayFields: ["/a"],
        limits: { concurrency: 1, per: "item" },
      }),
      constrain("c", { audit: "required" }),
      constrain("d", { who: { kind: "service" }, deadlineMs: 1 }),
    ]);
    expect(obligationsOf(policy, question())).toEqual({
      rules: ["a", "b", "c"],
      limits: [{ rule: "a", at: 0, per: ["item"], kind: "concurrency", count: 1 }, asLimit({ rule: "b" })],
      resultBytesMax: 10,
      deadlineMs: 5,
      auditRequired: true,
      replayFields: ["/a", "/b"],
    });
  });

  const applying: readonly [law: string, more: object, asked: Asked, applies: boolean][] = [
    ["whoever it is for", { who: { groups: ["corp:support"] } }, {}, true],
    ["nobody else", { who: { groups: ["corp:else"] } }, {}, false],
    ["the item it names", { what: export_ }, {}, true],
    ["no other item", { what: { upstream: "crm", tool: "get_*" } }, {}, false],
    ["no other kind of item", { what: export_ }, { kind: "prompt" }, false],
    ["arguments its condition is true of", { when: "has(args.n) && args.n > 5" }, { args: { n: 6 } }, true],
    ["not those its condition is false of", { when: "has(args.n) && args.n > 5" }, { args: { n: 5 } }, false],
    ["those its condition errs on", { when: errs }, { args: { list: [] } }, true],
    ["arguments that nobody knows", { when: "has(args.n) && args.n > 5" }, { args: undefined }, true],
    [
      "an encoded name of its resource",
      { what: { resource: "x://a/b" } },
      { kind: "resource", name: "x://a/%62" },
      true,
    ],
    ["a URI that cannot be decoded", { what: { resource: "x://a/b" } }, { kind: "resource", name: "x://a/%zz" }, true],
    [
      "a dotted way to its resource",
      { what: { resource: "x://h/a/**" } },
      { kind: "resource", name: "x://h/c/../a/b" },
      true,
    ],
  ];
  it.each(applying)("concerns %s", (_law, more, asked, applies) => {
    const policy = load([constrain("c", { deadlineMs: 1, ...more })]);
    expect(obligationsOf(policy, question(asked)).rules).toEqual(applies ? ["c"] : []);
  });

  it("keeps what its conditions read, as evidence of why it applied, or did not", () => {
    const policy = load([constrain("c", { deadlineMs: 1, replayFields: ["/z"], when: "has(args.n) && args.n > 5" })]);
    expect(obligationsOf(policy, question({ args: { n: 6 } })).replayFields).toEqual(["/n", "/z"]);
    expect(obligationsOf(policy, question({ args: { n: 5 } }))).toEqual({ ...noObligations, replayFields: ["/n"] });
  });

  it("is nothing, and one and the same nothing, where no rule applies", () => {
    expect(obligationsOf(load([rule("a"), deny("d")]), question())).toBe(noObligations);
    expect(obligationsOf(load([constrain("c", { who: { kind: "service" } })]), question())).toBe(noObligations);
    expect(obligationsOf(load([constrain("c", { when: "false" })]), question())).toBe(noObligations);
    expect(obligationsOf(load([constrain("c", { what: export_, presets: { a: 1 } })]), question())).toBe(noObligations);
  });

  it("neither allows nor denies", () => {
    const constrained = load([constrain("c", { when: errs }), constrain("d", { what: export_, presets: { a: 1 } })]);
    const both = load([rule("a"), constrain("c", { when: errs })]);
    const asked = question({ args: { list: [] } });
    expect(decide(constrained, asked)).toEqual({ effect: "deny", reason: "no-rule-allows", read: [] });
    expect(listing(constrained, asked)).toBe("hidden");
    expect(decide(both, asked)).toEqual({ effect: "allow", rule: "a", read: [] });
    expect(listing(both, asked)).toBe("listed");
    expect(decideServer(constrained, asked)).toEqual({ effect: "allow", rule: "", read: [] });
  });
});

describe("an item's shape", () => {
  const shaped = (rules: unknown[], asked: Asked = {}): ReturnType<typeof shapingOf> =>
    shapingOf(load(rules), question(asked));
  const on = (id: string, more: object): unknown => constrain(id, { what: export_, ...more });

  it("is what all rules that apply say together, the strictest first", () => {
    const found = shaped([
      on("b", { presets: { owner: "acme", page: { size: 10, tags: [null, true, 0.5] } }, unknownArguments: "pass" }),
      on("a", { presets: { owner: "acme" }, removeFields: ["/customer/ssn", "/items/*/email"] }),
      on("c", { unknownArguments: "strip", removeFields: ["/a", "/customer/ssn"] }),
      on("d", { who: { kind: "service" }, unknownArguments: "reject" }),
    ]);
    expect(found).toEqual({
      rules: ["a", "b", "c"],
      presets: new Map<string, unknown>([
        ["owner", "acme"],
        ["page", { size: 10, tags: [null, true, 0.5] }],
      ]),
      unknownArguments: "strip",
      removeFields: ["/a", "/customer/ssn", "/items/*/email"],
    });
  });

  it.each([
    [["reject", "strip", "pass"], "reject"],
    [["strip", "reject"], "reject"],
    [["pass", "strip"], "strip"],
    [["pass"], "pass"],
  ])("treats unknown arguments as the strictest of %j does", (words, expected) => {
    const rules = words.map((word, index) => on(`c${index}`, { unknownArguments: word }));
    expect(shaped(rules).unknownArguments).toBe(expected);
  });

  it("keeps the presets of each tool and each prompt to itself", () => {
    const rules = [
      on("t", { presets: { a: 1 } }),
      on("p", { what: { upstream: "crm", prompt: "export_*" }, presets: { a: 2 } }),
    ];
    expect([...shaped(rules).presets]).toEqual([["a", 1]]);
    expect([...shaped(rules, { kind: "prompt" }).presets]).toEqual([["a", 2]]);
  });

  it("is untouched, and one and the same nothing, where no rule applies", () => {
    expect(shaped([rule("a"), constrain("c")])).toBe(noShaping);
    expect(shaped([on("c", { presets: { a: 1 } })], { name: "get" })).toBe(noShaping);
  });

  it("has presets that nobody can change", () => {
    const value = shaped([on("c", { presets: { a: { b: [1] } } })]).presets.get("a") as { b: number[] };
    expect(() => value.b.push(2)).toThrow(TypeError);
    expect(() => Object.assign(value, { c: 1 })).toThrow(TypeError);
  });
});

describe("presets that disagree", () => {
  const preset = (id: string, value: unknown, more: object = {}): unknown =>
    constrain(id, { what: export_, presets: { owner: value }, ...more });

  const pairs: readonly [law: string, one: object, other: object, loads: boolean][] = [
    ["for the same item", {}, {}, false],
    ["for groups of which one may be in both", { who: { groups: ["corp:a"] } }, { who: { groups: ["corp:b"] } }, false],
    ["for scopes", { who: { scopes: "a" } }, { who: { scopes: "b" } }, false],
    ["for claims, which may be lists", { who: { claims: { t: "a" } } }, { who: { claims: { t: "b" } } }, false],
    ["for tenants", { who: { tenant: ["a", "b"] } }, { who: { tenant: "c" } }, true],
    ["for tenants that overlap", { who: { tenant: ["a", "b"] } }, { who: { tenant: ["b", "c"] } }, false],
    ["for a tenant and anyone", { who: { tenant: "a" } }, {}, false],
    ["for subjects", { who: { subject: "a" } }, { who: { subject: "b" } }, true],
    ["for a subject and a client", { who: { subject: "a" } }, { who: { client: "b" } }, false],
    ["for clients", { who: { client: "a" } }, { who: { client: "b" } }, true],
    ["for issuers", { who: { issuer: "corp" } }, { who: { issuer: "partner" } }, true],
    ["for humans and services", { who: { kind: "human" } }, { who: { kind: "service" } }, true],
    ["at upstreams", { what: { upstream: "crm", tool: "a" } }, { what: { upstream: "tickets", tool: "a" } }, true],
    ["at an upstream and any", { what: { upstream: "crm", tool: "a" } }, { what: { tool: "a" } }, false],
    ["at servers", { what: { server: "support", tool: "a" } }, { what: { server: "data", tool: "a" } }, true],
    ["of a tool and a prompt", { what: { tool: "a" } }, { what: { prompt: "a" } }, true],
    ["of two tools", { what: { tool: ["a", "b"] } }, { what: { tool: "c" } }, true],
    ["of tools that overlap", { what: { tool: ["a", "b"] } }, { what: { tool: ["b", "c"] } }, false],
    ["of a pattern and a name in it", { what: { tool: "a_*" } }, { what: { tool: "a_b" } }, false],
    ["of a pattern and a name outside it", { what: { tool: "a_*_z" } }, { what: { tool: "a_b" } }, true],
    ["of patterns that begin differently", { what: { tool: "a_*" } }, { what: { tool: "b_*" } }, true],
    ["of patterns that begin alike", { what: { tool: "a_*" } }, { what: { tool: "a_b*" } }, false],
    ["of patterns of which nobody tells", { what: { tool: "*a" } }, { what: { tool: "*b" } }, false],
    [
      "of labels, of which an item may have both",
      { what: { tool: "*", labels: ["a"] } },
      { what: { tool: "*", labels: ["b"] } },
      false,
    ],
    [
      "of annotations that contradict",
      { what: { tool: "*", annotations: { a: true } } },
      { what: { tool: "*", annotations: { a: false } } },
      true,
    ],
    [
      "of other annotations",
      { what: { tool: "*", annotations: { a: true } } },
      { what: { tool: "*", annotations: { b: false } } },
      false,
    ],
    [
      "of definitions, of which one may be unknown",
      { what: { tool: "*", digest: `sha256:${"a".repeat(64)}` } },
      { what: { tool: "*", digest: `sha256:${"b".repeat(64)}` } },
      false,
    ],
  ];
  it.each(pairs)("%s: load %s", (_law, one, other, loads) => {
    for (const rules of [
      [preset("x", 1, one), preset("y", 2, other)],
      [preset("y", 2, other), preset("x", 1, one)],
    ]) {
      const faults = faultsOf(rules);
      const at = rules.findIndex((written) => (written as { id: string }).id === "y");
      expect(faults.map((fault) => fault.path)).toEqual(loads ? [] : [`p.yaml#/rules/${at}/presets/owner`]);
      if (!loads) expect(faults[0]?.message).toContain("the rules x and y preset owner to different values");
    }
  });

  it.each([
    [1, 1.0, true],
    [1, "1", false],
    [null, false, false],
    [{ a: 1, b: [2] }, { b: [2], a: 1 }, true],
    [[1, 2], [2, 1], false],
  ])("are told by their JSON values: %j and %j load: %s", (one, other, loads) => {
    expect(faultsOf([preset("x", one), preset("y", other)]).length === 0).toBe(loads);
  });

  it("of different arguments are none", () => {
    expect(faultsOf([preset("x", 1), preset("y", 2, { presets: { account: 2 } })])).toEqual([]);
  });
});

describe("a preset does not load", () => {
  const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)]);
  const loop: Record<string, unknown> = {};
  loop["own"] = loop;
  it.each<[law: string, value: unknown, at: string | undefined]>([
    ["with a number that no double holds", { n: 9_007_199_254_740_992 }, "/n"],
    ["with no number at all", Number.NaN, ""],
    ["with an endless number", [Number.POSITIVE_INFINITY], "/0"],
    ["with what JSON cannot carry", { at: undefined }, "/at"],
    ["with a field that no call can carry", JSON.parse('{ "__proto__": 1 }'), "/__proto__"],
    ["that is too long", "x".repeat(limits.policyPresetCharsMax), ""],
    ["that nests too deep", nested(limits.policyPresetDepthMax + 1), "/0".repeat(limits.policyPresetDepthMax)],
    ["that is its own ancestor", loop, "/own".repeat(limits.policyPresetDepthMax)],
    ["unless it is as large a whole number as there is", Number.MAX_SAFE_INTEGER, undefined],
    ["unless it is as long as may be", "x".repeat(limits.policyPresetCharsMax - 2), undefined],
    ["unless it nests as deep as may be", nested(limits.policyPresetDepthMax), undefined],
  ])("%s", (_law, value, at) => {
    const faults = faultsOf([constrain("c", { what: export_, presets: { a: value } })]);
    expect(faults.map((fault) => fault.path)).toEqual(at === undefined ? [] : [`p.yaml#/rules/0/presets/a${at}`]);
  });

  it("of an argument that no call can carry", () => {
    const presets: unknown = JSON.parse('{ "__proto__": 1 }');
    expect(faultsOf([constrain("c", { what: export_, presets })]).map((fault) => fault.path)).toEqual([
      "p.yaml#/rules/0/presets/__proto__",
    ]);
  });
});
