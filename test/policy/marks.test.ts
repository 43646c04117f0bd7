import { describe, expect, it } from "vitest";
import { noFacts } from "../../src/model/item-facts.ts";
import type { ItemFacts } from "../../src/model/item-facts.ts";
import type { PolicyContext } from "../../src/policy/compile.ts";
import { decide, decideServer, listing, reaches } from "../../src/policy/decide.ts";
import { obligationsOf, shapingOf } from "../../src/policy/obligations.ts";
import type { Question, SubjectKind } from "../../src/policy/question.ts";
import { constrain, deny, faultsOf, load, principal, question, rule } from "./given.ts";
import type { Asked } from "./given.ts";

const digests = { a: "a".repeat(64), b: "b".repeat(64) };

/** A policy whose items are all told the same of. */
function about(facts: Partial<ItemFacts>): Partial<PolicyContext> {
  return { factsOf: () => ({ ...noFacts, ...facts }) };
}

function asked(more: Asked, digest?: string): Question {
  const one = question(more);
  return { ...one, item: { ...one.item, digest } };
}

/** Whether a rule with this `what` concerns the item, by effect. */
function concerns(
  what: object,
  facts: Partial<ItemFacts>,
  one: Question,
): Record<"allow" | "deny" | "constrain", boolean> {
  const context = about(facts);
  return {
    allow: decide(load([rule("r", { what })], context), one).effect === "allow",
    deny: decide(load([rule("z", { what: exactly(one) }), deny("r", { what })], context), one).effect === "deny",
    constrain: obligationsOf(load([constrain("r", { what })], context), one).rules.length > 0,
  };
}

function exactly({ item }: Question): object {
  return { upstream: item.upstream, [item.kind]: item.name };
}

const everywhere = { allow: true, deny: true, constrain: true };
const nowhere = { allow: false, deny: false, constrain: false };

describe("labels and annotations of operators", () => {
  const facts = { labels: ["pii", "eu"], annotations: { readOnly: true, destructive: false, tier: "gold" } };
  it.each<[object, boolean]>([
    [{ labels: "pii" }, true],
    [{ labels: ["other", "eu"] }, true],
    [{ labels: { any: ["other"] } }, false],
    [{ labels: { all: ["eu", "pii"] } }, true],
    [{ labels: { all: ["eu", "other"] } }, false],
    [{ labels: { all: ["other", "eu"] } }, false],
    [{ labels: "PII" }, false],
    [{ annotations: { readOnly: true } }, true],
    [{ annotations: { readOnly: false } }, false],
    [{ annotations: { readOnly: "true" } }, false],
    [{ annotations: { destructive: false } }, true],
    [{ annotations: { readOnly: true, tier: "gold" } }, true],
    [{ annotations: { readOnly: true, tier: "silver" } }, false],
    [{ annotations: { idempotent: false } }, false],
    [{ annotations: { constructor: "x" } }, false],
    [{ labels: "pii", annotations: { readOnly: true } }, true],
    [{ labels: "other", annotations: { readOnly: true } }, false],
    [{ upstream: "crm", tool: "export_*", labels: "pii" }, true],
    [{ upstream: "crm", tool: "get_*", labels: "pii" }, false],
    [{ upstream: "tickets", labels: "pii" }, false],
  ])("%j concerns an item that has them: %s", (what, matches) => {
    expect(concerns(what, facts, question())).toEqual(matches ? everywhere : nowhere);
    expect(concerns(what, {}, question())).toEqual(nowhere);
  });

  it("are asked of whoever wires the policy, with the item as it is asked about", () => {
    const heard: unknown[] = [];
    const factsOf = (item: unknown): ItemFacts => {
      heard.push(item);
      return noFacts;
    };
    const policy = load([rule("a", { what: { labels: "x" } }), deny("d", { what: { labels: "x" } })], { factsOf });
    decide(policy, asked({}, digests.a));
    expect(heard).toEqual([{ upstream: "crm", kind: "tool", name: "export_all", digest: digests.a }]);
  });

  it("may change while the policy is in force", () => {
    let labels: readonly string[] = [];
    const policy = load([rule("a", { what: { labels: "x" } })], { factsOf: () => ({ ...noFacts, labels }) });
    const before = decide(policy, question()).effect;
    labels = ["x"];
    expect([before, decide(policy, question()).effect]).toEqual(["deny", "allow"]);
  });

  it("that configuration gives to no item do not load, where it is known which it gives", () => {
    const written = [
      deny("d", { what: { labels: ["pii", "pio"] } }),
      deny("e", { what: { annotations: { readOnly: true, readonly: true } } }),
    ];
    const paths = (more: Partial<PolicyContext>): unknown => faultsOf(written, more).map((fault) => fault.path);
    expect(paths({ labels: ["pii"], annotations: ["readOnly"] })).toEqual([
      "p.yaml#/rules/0/what/labels",
      "p.yaml#/rules/1/what/annotations/readonly",
    ]);
    expect(paths({ labels: ["pii", "pio"], annotations: ["readonly", "readOnly"] })).toEqual([]);
    expect(paths({ labels: [], annotations: [] })).toHaveLength(4);
    expect(paths({})).toEqual([]);
  });

  it("say nothing of exchanges that concern no item, nor of an upstream whose items nobody knows", () => {
    const policy = load(
      [rule("a"), deny("d", { what: { labels: "pii" } }), deny("e", { what: { annotations: { a: true } } })],
      about(facts),
    );
    expect(decideServer(policy, question()).effect).toBe("allow");
    expect(reaches(policy, { principal: principal(), server: "support", upstream: "crm" })).toBe(true);
    expect(decide(policy, question()).effect).toBe("deny");
  });
});

describe("labels and annotations in conditions", () => {
  const facts = { labels: ["pii"], annotations: { readOnly: true, tier: "gold" } };
  it.each<[string, boolean]>([
    ['"pii" in item.labels', true],
    ['"eu" in item.labels', false],
    ["size(item.labels) == 1", true],
    ['item.labels.exists(l, l.startsWith("p"))', true],
    ["has(item.annotations.readOnly) && item.annotations.readOnly", true],
    ['has(item.annotations.tier) && item.annotations.tier == "gold"', true],
    ["has(item.annotations.nothing)", false],
    ["size(item.annotations) == 2", true],
    ['"tier" in item.annotations && item.annotations["tier"] == "gold"', true],
  ])("%s: %s", (when, holds) => {
    expect(decide(load([rule("a", { when })], about(facts)), question()).effect).toBe(holds ? "allow" : "deny");
  });

  it("are empty where nobody says anything", () => {
    const when = "size(item.labels) == 0 && size(item.annotations) == 0";
    expect(decide(load([rule("a", { when })]), question()).effect).toBe("allow");
  });

  it("leave no note of arguments read", () => {
    const policy = load([rule("a", { when: "has(item.annotations.tier) || has(args.x)" })], about(facts));
    expect(decide(policy, question()).read).toEqual([]);
  });

  it("need has() before they are read", () => {
    expect(faultsOf([rule("a", { when: "item.annotations.readOnly == true" })])[0]?.message).toBe(
      "`item.annotations.readOnly` may be missing: write `has(item.annotations.readOnly) && …`",
    );
  });

  it("are about items, so an exchange without one is not denied by them", () => {
    const policy = load([deny("d", { when: "size(item.labels) == 0" })]);
    expect(decideServer(policy, question()).effect).toBe("allow");
  });
});

describe("an item that may be marked one way or another", () => {
  const facts: Partial<ItemFacts> = {
    labels: ["eu"],
    annotations: { tier: "gold" },
    possible: [
      { labels: ["eu", "pii"], annotations: { tier: "gold", readOnly: true } },
      { labels: ["eu"], annotations: { tier: "gold", readOnly: false } },
    ],
  };
  const perhaps = { allow: false, deny: true, constrain: true };
  it.each<[object, object]>([
    [{ labels: "eu" }, everywhere],
    [{ labels: "pii" }, perhaps],
    [{ labels: { all: ["eu", "pii"] } }, perhaps],
    [{ labels: "other" }, nowhere],
    [{ annotations: { tier: "gold" } }, everywhere],
    [{ annotations: { readOnly: true } }, perhaps],
    [{ annotations: { readOnly: false } }, perhaps],
    [{ labels: "pii", annotations: { readOnly: false } }, nowhere],
  ])("%j concerns it by what is sure for an allow, and by what may be for all others", (what, expected) => {
    expect(concerns(what, facts, question())).toEqual(expected);
  });

  it.each<[string, object]>([
    ['"eu" in item.labels', everywhere],
    ['"pii" in item.labels', perhaps],
    ['!("pii" in item.labels)', perhaps],
    ["has(item.annotations.readOnly) && item.annotations.readOnly", perhaps],
    ["has(item.annotations.readOnly) && !item.annotations.readOnly", perhaps],
    ["size(item.labels) == 3", nowhere],
    // An error in one of the cases: it never permits.
    ['item.labels[1] == "pii"', perhaps],
    ['!("pii" in item.labels) && has(args.x)', nowhere],
  ])("%s is true of it for an allow in every case, for all others in one", (when, expected) => {
    const one = question();
    const given = about(facts);
    expect({
      allow: decide(load([rule("r", { when })], given), one).effect === "allow",
      deny: decide(load([rule("z"), deny("r", { when })], given), one).effect === "deny",
      constrain: obligationsOf(load([constrain("r", { when })], given), one).rules.length > 0,
    }).toEqual(expected);
  });

  it("is not allowed by a condition that holds in every case, but for what is sure of none", () => {
    const either = [
      { labels: ["a"], annotations: {} },
      { labels: ["b"], annotations: {} },
    ];
    const policy = load([rule("r", { when: "size(item.labels) > 0" })], about({ possible: either }));
    expect(decide(policy, question()).effect).toBe("deny");
  });

  it("is listed when it may be allowed in every case", () => {
    const listed = (when: string): unknown => listing(load([rule("r", { when })], about(facts)), question());
    expect(listed('"eu" in item.labels && has(args.x)')).toBe("listed");
    expect(listed('"pii" in item.labels && has(args.x)')).toBe("hidden");
  });
});

describe("a digest", () => {
  const what = { upstream: "crm", tool: "export_all", digest: `sha256:${digests.a}` };
  const unknown = { allow: false, deny: true, constrain: true };
  it.each<[law: string, sent: string | undefined, told: string | undefined, expected: object]>([
    ["that is the definition's matches", digests.a, undefined, everywhere],
    ["that is another's does not", digests.b, undefined, nowhere],
    ["is the same with its algorithm before it", `sha256:${digests.a}`, undefined, everywhere],
    ["may be told by whoever knows the item", undefined, digests.a, everywhere],
    ["may be told with its algorithm", undefined, `sha256:${digests.b}`, nowhere],
    ["of the definition now counts before what is told", digests.b, digests.a, nowhere],
    ["that nobody knows allows nothing, and denies and constrains", undefined, undefined, unknown],
  ])("%s", (_law, sent, told, expected) => {
    expect(concerns(what, { digest: told }, asked({}, sent))).toEqual(expected);
  });

  it("may be one of several", () => {
    const either = { ...what, digest: [`sha256:${digests.a}`, `sha256:${digests.b}`] };
    expect(concerns(either, {}, asked({}, digests.b))).toEqual(everywhere);
  });

  it("chooses what an item's shape is", () => {
    const policy = load([constrain("c", { what, presets: { a: 1 } })]);
    const presets = (digest: string): number => shapingOf(policy, asked({}, digest)).presets.size;
    expect([presets(digests.a), presets(digests.b)]).toEqual([1, 0]);
  });
});

describe("with a catalog lock", () => {
  const uri = "x://h/a";
  const kinds: readonly [SubjectKind, boolean][] = [
    ["tool", true],
    ["prompt", true],
    ["template", true],
    ["resource", false],
  ];
  describe.each(kinds)("a %s", (kind, isHeld) => {
    const isUri = kind === "template" || kind === "resource";
    const name = isUri ? uri : "export_all";
    const pattern = isUri ? "x://h/*" : "export_*";
    const wide: readonly [string, object][] = [
      ["a pattern", { upstream: "crm", [kind]: pattern }],
      ["patterns", { upstream: "crm", [kind]: [pattern, isUri ? "x://h/**" : "*"] }],
      ["its upstream", { upstream: "crm" }],
      ["its server", { server: "support" }],
      ["anything", { anything: true }],
      ["a label", { labels: "l" }],
    ];
    it.each(wide)("is allowed by %s only if it is locked", (_law, what) => {
      const unlocked = concerns(what, { locked: false, labels: ["l"] }, question({ kind, name }));
      const locked = concerns(what, { locked: true, labels: ["l"] }, question({ kind, name }));
      expect(unlocked).toEqual({ ...everywhere, allow: !isHeld });
      expect(locked).toEqual(everywhere);
    });

    it("is allowed by its exact name always, also beside patterns", () => {
      for (const names of [name, [pattern, name]]) {
        expect(concerns({ upstream: "crm", [kind]: names }, { locked: false }, question({ kind, name }))).toEqual(
          everywhere,
        );
      }
    });

    it("is listed only if it could be allowed", () => {
      const policy = load([rule("a")], about({ locked: false }));
      expect(listing(policy, question({ kind, name }))).toBe(isHeld ? "hidden" : "listed");
    });
  });

  it.each([[{ upstream: "crm", clientFeature: "*" }], [{ anything: true }]])(
    "what upstreams ask of clients is not held by it: %j",
    (what) => {
      const policy = load([rule("a", { what })], about({ locked: false }));
      expect(decide(policy, question({ kind: "clientFeature", name: "roots" })).effect).toBe("allow");
    },
  );

  it("of which nothing is known everything counts as locked", () => {
    expect(decide(load([rule("a", { what: { upstream: "crm", tool: "*" } })]), question()).effect).toBe("allow");
  });
});
