import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compileGlob, globProblem } from "../../src/policy/glob.ts";
import { decide } from "../../src/policy/decide.ts";
import { obligationsOf } from "../../src/policy/obligations.ts";
import { constrain, deny, load, question, rule } from "./given.ts";

describe("a glob", () => {
  it.each([
    ["get_*", "get_", true],
    ["get_*", "get_x", true],
    ["get_*", "xget_x", false],
    ["get_*", "GET_x", false],
    ["*", "", true],
    ["*", "a/b", false],
    ["*_x_*", "a_x_b", true],
    ["*_x_*", "a_xb", false],
    ["ab*ba", "aba", false],
    ["ab*ba", "abba", true],
    ["a*b*c", "a-b-b-c", true],
    ["a/*/c", "a/b/c", true],
    ["a/*/c", "a/b/b/c", false],
    ["a/**", "a/b/c", true],
    ["a/**", "a", false],
    ["**", "a/b", true],
    ["a.c", "abc", false],
    ["a", "a", true],
    ["a?", "ab", false],
  ])("%s on %s: %s", (pattern, name, matches) => {
    expect(compileGlob(pattern).matches(name)).toBe(matches);
  });

  it.each([["a**"], ["**/a"], ["a/**b"], ["***"]])("%s is refused", (pattern) => {
    expect(globProblem(pattern)).toBeDefined();
  });

  it("agrees with the regular expression that says the same", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "b", "/", "."), maxLength: 10 });
    const pattern = fc.string({ unit: fc.constantFrom("a", "b", "/", ".", "*"), maxLength: 6 });
    fc.assert(
      fc.property(pattern, text, (glob, name) => {
        fc.pre(globProblem(glob) === undefined);
        const source = glob.replace(/\./g, "\\.").replace(/\*\*$/, "[^]{0,}").replace(/\*/g, "[^/]{0,}");
        expect(compileGlob(glob).matches(name)).toBe(new RegExp(`^${source}$`).test(name));
      }),
      { numRuns: 3_000 },
    );
  });

  it("does not slow down on names made to slow it down", () => {
    expect(compileGlob(`${"*a".repeat(60)}b`).matches("a".repeat(8_192))).toBe(false);
  });
});

function effectOn(rules: unknown[], name: string): string {
  return decide(load(rules), question({ kind: "resource", name })).effect;
}

describe("a resource URI", () => {
  const under = (id: string, glob: string, effect: "allow" | "deny"): unknown =>
    rule(id, { effect, what: { upstream: "crm", resource: glob } });

  it.each([
    ["file:///docs/a.txt", "allow"],
    ["file:///docs/a%20b.txt", "allow"],
    ["file:///docs/../etc/passwd", "deny"],
    ["file:///docs/%2e%2e/etc/passwd", "deny"],
    ["file:///docs/%252e%252e/etc/passwd", "deny"],
    ["file:///docs/..%2fetc", "deny"],
    ["file:///docs/..\\etc", "deny"],
    ["file:///docs/./a.txt", "allow"],
    ["file:///etc/%2e%2e/docs/a", "deny"],
    ["file:///docs/%zz", "deny"],
    ["file:///docs/%25252525252541", "deny"],
    ["FILE:///docs/a", "deny"],
  ])("%s under an allow of file:///docs/**: %s", (name, effect) => {
    expect(effectOn([under("a", "file:///docs/**", "allow")], name)).toBe(effect);
  });

  it.each([
    ["https://host/secret/a", "deny"],
    ["https://host/%73ecret/a", "deny"],
    ["https://host/public/../secret/a", "deny"],
    ["https://host/public/%2e%2e/secret/a", "deny"],
    ["HTTPS://HOST/secret/a", "deny"],
    ["https://host\\secret\\a", "deny"],
    ["https://host/%zz", "deny"],
    ["https://host/public/a", "allow"],
    ["https://host/Secret/a", "allow"],
  ])("%s under a deny of https://host/secret/**: %s", (name, effect) => {
    expect(effectOn([rule("a"), under("d", "https://host/secret/**", "deny")], name)).toBe(effect);
  });

  it("that a pattern writes encoded is matched encoded", () => {
    expect(effectOn([under("a", "file:///my%20docs/*", "allow")], "file:///my%20docs/a")).toBe("allow");
    expect(effectOn([rule("a"), under("d", "file:///my%20docs/*", "deny")], "file:///my docs/a")).toBe("deny");
  });
});

describe("who", () => {
  it.each([
    [{ issuer: "corp" }, {}, true],
    [{ issuer: "partner" }, {}, false],
    [{ issuer: "corp", subject: ["ada", "bob"] }, {}, true],
    [{ issuer: "partner", subject: "ada" }, {}, false],
    [{ issuer: "corp", client: "desktop" }, {}, true],
    [{ issuer: "corp", client: "desktop" }, { clientId: "" }, false],
    [{ tenant: "default" }, {}, true],
    [{ tenant: "other" }, {}, false],
    [{ kind: "service" }, {}, false],
    [{ kind: "service" }, { kind: "service" as const }, true],
    [{ groups: { any: ["corp:a", "corp:support"] } }, {}, true],
    [{ groups: { all: ["corp:a", "corp:support"] } }, {}, false],
    [{ groups: { all: ["corp:a", "corp:support"] } }, { groups: ["corp:support", "corp:a"] }, true],
    [{ groups: { all: ["corp:a", "corp:support"] } }, { groups: ["corp:a"] }, false],
    [{ groups: ["corp:support"] }, { groups: ["partner:support"] }, false],
    [{ scopes: "r" }, { scopes: ["r"] }, true],
    [{ scopes: { all: ["r", "w"] } }, { scopes: ["r"] }, false],
    [{ claims: { team: "x" } }, { claims: { team: "x" } }, true],
    [{ claims: { team: "x" } }, { claims: { team: ["y", "x"] } }, true],
    [{ claims: { team: { all: ["x", "y"] } } }, { claims: { team: ["x"] } }, false],
    [{ claims: { level: 3 } }, { claims: { level: 3 } }, true],
    [{ claims: { level: 3 } }, { claims: { level: "3" } }, false],
    [{ claims: { admin: false } }, {}, false],
    [{ claims: { constructor: "x" } }, {}, false],
    [{ claims: { team: "x" }, kind: "service" }, { claims: { team: "x" } }, false],
  ])("%j and a principal with %j: %s", (who, principal, matches) => {
    const decision = decide(load([rule("a", { who })]), question({ who: principal }));
    expect(decision.effect).toBe(matches ? "allow" : "deny");
  });
});

describe("what", () => {
  it.each([
    [{ server: "support" }, true],
    [{ server: "data" }, false],
    [{ upstream: ["tickets", "crm"] }, true],
    [{ upstream: "tickets", tool: "export_all" }, false],
    [{ upstream: "crm", tool: "export_all" }, true],
    [{ upstream: "crm", prompt: "export_all" }, false],
    [{ upstream: "crm", tool: { any: ["x", "export_*"] }, server: "support" }, true],
    [{ upstream: "crm", tool: "export_*", server: "data" }, false],
  ])("%j: %s", (what, matches) => {
    expect(decide(load([rule("a", { what })]), question()).effect).toBe(matches ? "allow" : "deny");
  });
});

describe("the index of rules", () => {
  it("looks only at rules that can concern the item and the principal", () => {
    let looked = 0;
    /** A list that notes when a rule asks whether it holds something. */
    const watched = (list: string[]): string[] =>
      new Proxy(list, {
        get: (target, key, receiver): unknown => {
          if (key === "some") looked += 1;
          return Reflect.get(target, key, receiver) as unknown;
        },
      });
    const held = { groups: ["corp:held"] };
    const elsewhere = (write: typeof deny): Record<string, unknown>[] =>
      Array.from({ length: 300 }, (_, index) => [
        write(`upstream${index}`, { who: held, what: { upstream: "tickets", tool: `export_${index}` } }),
        write(`kind${index}`, { who: held, what: { upstream: "crm", prompt: "export_*" } }),
        write(`name${index}`, { who: held, what: { upstream: "crm", tool: `export_${index}` } }),
        write(`prefix${index}`, { who: held, what: { upstream: "crm", tool: `p${index}_*` } }),
        write(`label${index}`, { who: held, what: { labels: [`l${index}`] } }),
        write(`group${index}`, { who: { groups: [`corp:g${index}`] } }),
        write(`subject${index}`, { who: { ...held, subject: `s${index}` } }),
        write(`client${index}`, { who: { ...held, client: `c${index}` } }),
        write(`tenant${index}`, { who: { scopes: "held", tenant: `t${index}` } }),
      ]).flat();
    const constrains = (id: string, more?: Record<string, unknown>): Record<string, unknown> =>
      constrain(`c-${id}`, more);
    const policy = load([rule("a"), ...elsewhere(deny), ...elsewhere(constrains)]);
    const asked = question({ who: { groups: watched(["corp:held"]), scopes: watched(["held"]) } });
    expect(decide(policy, asked).effect).toBe("allow");
    expect(obligationsOf(policy, asked).rules).toEqual([]);
    expect(looked).toBe(0);
    const met = question({ name: "export_7", who: { groups: watched(["corp:held"]) } });
    expect([decide(policy, met).effect, obligationsOf(policy, met).rules]).toEqual(["deny", ["c-name7"]]);
    expect(looked).toBe(2);
  });
});
