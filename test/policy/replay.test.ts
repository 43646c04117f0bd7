import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json, JsonObject } from "../../src/model/json.ts";
import { readOwn } from "../../src/model/json.ts";
import { decide, decideServer } from "../../src/policy/decide.ts";
import { decideRead } from "../../src/policy/decide-read.ts";
import type { Policy } from "../../src/policy/compile.ts";
import type { KnownFields } from "../../src/policy/partial-view.ts";
import type { Question } from "../../src/policy/question.ts";
import { replay, replayBoth } from "../../src/policy/replay.ts";
import type { RecordedDecision } from "../../src/policy/replay.ts";
import { anyContext, anyQuestion, anyRules, numbered } from "./arbitrary.ts";
import { deny, load, question, rule } from "./given.ts";
import type { Asked } from "./given.ts";

/** The places that were read, with what stood there. */
function kept(args: JsonObject, read: readonly string[]): KnownFields {
  if (read.includes("")) return new Map();
  return new Map(read.map((pointer) => [pointer, at(args, pointer)]));
}

function at(args: JsonObject, pointer: string): Json | undefined {
  return pointer
    .split("/")
    .slice(1)
    .reduce<Json | undefined>((here, part) => readOwn(here, part.replaceAll("~1", "/").replaceAll("~0", "~")), args);
}

/** What evidence holds of a decision. */
function recordedOf(policy: Policy, asked: Question): RecordedDecision {
  const decision = decide(policy, asked);
  const claims = new Map(policy.claims.map((name) => [`/${name}`, readOwn(asked.principal.claims, name)]));
  const held = Object.entries(asked.principal.claims).filter(([name]) => policy.claims.includes(name));
  const principal = { ...asked.principal, claims: Object.fromEntries(held) };
  const partly = { args: kept(asked.args ?? {}, decision.read), claims };
  return { question: { ...asked, principal, args: undefined }, knowledge: { partly }, uri: undefined, decision };
}

const claimed = [
  rule("a", { who: { claims: { region: "eu" } } }),
  rule("b", { when: 'has(principal.claims.tier) && principal.claims.tier == "gold"' }),
  deny("d", { who: { claims: { region: "us" } }, when: "has(args.x)" }),
];

describe("a replay under the same policy", () => {
  it("is the same, of whatever a decision read", () => {
    fc.assert(
      fc.property(anyRules, anyQuestion, anyContext, (rules, asked, more) => {
        const policy = load(numbered(rules), more);
        const recorded = recordedOf(policy, asked);
        const { change } = replay(recorded, policy);
        // Only what was looked at as a whole is not kept.
        expect(recorded.decision.read.includes("") ? ["same", "undecidable"] : ["same"]).toContain(change);
      }),
    );
  });

  it.each([{ region: "eu" }, { region: "us" }, { tier: "gold" }, { region: "us", tier: "gold" }, {}] as JsonObject[])(
    "is the same where claims were read: %j",
    (claims) => {
      const policy = load(claimed);
      expect(policy.claims).toEqual(["region", "tier"]);
      for (const args of [{}, { x: 1 }])
        expect(replay(recordedOf(policy, question({ who: { claims }, args })), policy).change).toBe("same");
    },
  );

  it("reads all mapped claims where a condition looks at them as a whole", () => {
    const policy = load([rule("a", { when: "size(principal.claims) == 1" })], { claims: ["region", "tier"] });
    expect(policy.claims).toEqual(["region", "tier"]);
  });
});

/** A decision by the first rules, replayed under the others. */
function changeTo(before: readonly unknown[], after: readonly unknown[], asked: Asked = {}): string {
  const recorded = recordedOf(load(before), question(asked));
  const { change } = replay(recorded, load(after));
  // Under both policies the same comes out as against what was recorded.
  const both = replayBoth({ policy: load(before), recorded }, { policy: load(after), recorded });
  expect(both.change).toBe(change);
  return change;
}

const scoped = (all: readonly string[]): unknown => rule("a", { stepUp: { scopes: { all } } });

describe("a replay under another policy", () => {
  it.each<[string, readonly unknown[], readonly unknown[], Asked, string]>([
    ["an allow that came", [], [rule("a")], {}, "gain"],
    ["an allow that went", [rule("a")], [], {}, "lose"],
    ["a deny that came", [rule("a")], [rule("a"), deny("d")], {}, "lose"],
    ["another rule, the same answer", [rule("a")], [rule("b")], {}, "same"],
    ["a step-up that came", [rule("a")], [scoped(["s"])], {}, "changed"],
    ["a step-up instead of a deny", [], [scoped(["s"])], {}, "changed"],
    ["a step-up for other scopes", [scoped(["s"])], [scoped(["t"])], {}, "changed"],
    ["scopes that are held", [rule("a")], [scoped(["s"])], { who: { scopes: ["s"] } }, "same"],
    ["a field that was not read", [rule("a")], [rule("a", { when: "has(args.x)" })], { args: { x: 1 } }, "undecidable"],
    [
      "a field that was read",
      [rule("a", { when: "has(args.x) && args.x == 1" })],
      [rule("a", { when: "has(args.x) && args.x == 2" })],
      { args: { x: 1, y: 2 } },
      "lose",
    ],
    [
      "a field that was read, and was not there",
      [rule("a", { when: "!has(args.x)" })],
      [rule("a", { when: "has(args.x) && args.x == 2" })],
      { args: { y: 2 } },
      "lose",
    ],
    [
      "a field inside one that was read",
      [rule("a", { when: '"o" in args && has(args.o.x) && args.o.x == 1' })],
      [rule("a", { when: '"o" in args && has(args.o.x) && args.o.x == 2' })],
      { args: { o: { x: 1, y: 1 } } },
      "lose",
    ],
    [
      "another field of an object of which one was read",
      [rule("a", { when: '"o" in args && has(args.o.x) && args.o.x == 1' })],
      [rule("a", { when: '"o" in args && has(args.o.y)' })],
      { args: { o: { x: 1 } } },
      "undecidable",
    ],
    [
      "an unknown field that cannot matter",
      [rule("a")],
      [rule("a", { when: 'has(args.x) || principal.kind == "human"' })],
      {},
      "same",
    ],
    [
      "a claim that was not read, in who",
      [rule("a")],
      [rule("a"), deny("d", { who: { claims: { region: "us" } } })],
      { who: { claims: { region: "us" } } },
      "undecidable",
    ],
    [
      "a claim that was not read, beside a condition that errs",
      [rule("a")],
      [rule("a"), deny("d", { who: { claims: { region: "us" } }, when: "1 / 0 == 1" })],
      {},
      "undecidable",
    ],
    [
      "a claim that was not read, beside a condition that is false",
      [rule("a")],
      [rule("a"), deny("d", { who: { claims: { region: "us" } }, when: "false" })],
      {},
      "same",
    ],
    [
      "a claim that was not read, of somebody else",
      [rule("a")],
      [rule("a"), deny("d", { who: { claims: { region: "us" }, subject: "eve" } })],
      {},
      "same",
    ],
    [
      "a claim that was not read, in a condition",
      [rule("a")],
      [rule("a", { when: 'has(principal.claims.tier) && principal.claims.tier == "gold"' })],
      { who: { claims: { tier: "gold" } } },
      "undecidable",
    ],
    [
      "a value that the other policy presets",
      [rule("a")],
      [
        rule("a", { when: 'has(args.owner) && args.owner == "acme"' }),
        rule("p", { effect: "constrain", what: { upstream: "crm", tool: "export_all" }, presets: { owner: "acme" } }),
      ],
      { args: { owner: "eve" } },
      "same",
    ],
  ])("%s", (...[, before, after, asked, change]) => {
    expect(changeTo(before, after, asked)).toBe(change);
  });

  const noon = Date.parse("2026-03-04T12:00:00Z");
  it.each([
    [noon - 10, noon - 5, "lose"],
    [noon - 5, noon + 5, "undecidable"],
    [noon + 5, noon + 10, "same"],
  ])("a moment between %d and %d that a condition splits: %s", (now, nowMax, change) => {
    const recorded = recordedOf(load([rule("a")]), question({ now }));
    const after = load([rule("a", { when: "request.now.getHours() >= 12" })]);
    expect(replay({ ...recorded, knowledge: { ...recorded.knowledge, nowMax } }, after).change).toBe(change);
  });

  it("a token's own bounds are no matter of policy", () => {
    const boundTo = [{ upstream: "crm", kind: "tool", name: "other" }] as const;
    // Evidence holds that a token was bound, and not to what.
    const { question: unbound } = recordedOf(load([]), question());
    const recorded = recordedOf(load([]), question({ who: { boundTo } }));
    expect(recorded.decision).toMatchObject({ reason: "outside-token" });
    expect(replay({ ...recorded, question: unbound }, load([rule("a")])).change).toBe("same");
  });

  it("exchanges without an item are allowed unless a deny says otherwise", () => {
    const { principal, server, request } = question();
    const recorded = (policy: Policy): RecordedDecision => ({
      question: { principal, server, request, item: undefined, args: undefined },
      knowledge: { partly: { claims: new Map() } },
      uri: undefined,
      decision: decideServer(policy, { principal, server, request }),
    });
    const of = (before: readonly unknown[], after: readonly unknown[]): string =>
      replay(recorded(load(before)), load(after)).change;
    expect(of([], [deny("d")])).toBe("lose");
    expect(of([deny("d", { what: { server: "support" } })], [])).toBe("gain");
    expect(of([], [deny("d", { what: { server: "data" } })])).toBe("same");
    expect(of([], [deny("d", { who: { claims: { region: "us" } } })])).toBe("undecidable");
  });

  const template = { kind: "template", name: "file:///{path}" } as const;
  const uri = "file:///salaries";
  it.each<[string, readonly unknown[], string]>([
    ["allowed", [rule("a")], "same"],
    ["that no rule is about", [rule("a", { what: { template: "**" } })], "same"],
    ["denied as a resource", [rule("a"), deny("d", { what: { resource: "file:///salaries" } })], "lose"],
    [
      "allowed under a condition that is false",
      [rule("a", { what: { template: "**" } }), rule("b", { what: { resource: "file:///**" }, when: "false" })],
      "lose",
    ],
    ["of another name", [rule("a"), deny("d", { what: { resource: "file:///other" } })], "same"],
    ["denied as a template", [deny("d", { what: { template: "file:///{path}" } })], "lose"],
  ])("a read that a template carries is a read of the URI too: of one %s", (_law, after, change) => {
    const asked = { ...question({ ...template, args: { uri } }) };
    const before = load([rule("a")]);
    const recorded = { ...recordedOf(before, asked), uri, decision: decideRead(before, asked, uri) };
    expect(replay(recorded, load(after)).change).toBe(change);
    expect(decideRead(load(after), asked, uri).effect).toBe(change === "same" ? "allow" : "deny");
  });

  it("a URI that only a claim nobody recorded could deny is undecidable, though no rule allows it", () => {
    const asked = { ...question({ ...template, args: { uri } }) };
    const recorded = { ...recordedOf(load([rule("a")]), asked), uri };
    const region = deny("d", { who: { claims: { region: "us" } }, what: { resource: "file:///salaries" } });
    const after = load([rule("a", { what: { template: "**" } }), region]);
    expect(replay(recorded, after).change).toBe("undecidable");
  });

  it("a place inside one that is known as a whole takes nothing from it", () => {
    const recorded = recordedOf(load([rule("a")]), question());
    const args: KnownFields = new Map<string, Json>([
      ["/o", { x: 1, y: 2 }],
      ["/o/x", 1],
    ]);
    const after = load([rule("a", { when: '"o" in args && has(args.o.y) && args.o.y == 2' })]);
    expect(replay({ ...recorded, knowledge: { partly: { args } } }, after).change).toBe("same");
  });
});
