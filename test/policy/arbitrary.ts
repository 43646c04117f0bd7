import fc from "fast-check";
import { noFacts } from "../../src/model/item-facts.ts";
import type { ItemFacts, ItemMarks } from "../../src/model/item-facts.ts";
import type { JsonObject } from "../../src/model/json.ts";
import type { PolicyContext } from "../../src/policy/compile.ts";
import type { Question, Subject } from "../../src/policy/question.ts";
import { principal, question } from "./given.ts";

/** A rule as written, without its id. */
export type Written = Readonly<Record<string, unknown>>;

const digest = (digit: string): string => digit.repeat(64);

/** Conditions of every temper: definite, dependent on arguments, erring, and mixtures. */
const condition = fc.constantFrom(
  "true",
  "false",
  "has(args.x) && args.x == 1",
  "!has(args.x) || args.x > 1",
  "has(args.x) || 1 / 0 == 1",
  "1 / 0 == 1",
  "has(args.x) && args.x % 2 == 0",
  "size(args) > 0",
  'has(args.l) && args.l.exists(e, e == "a")',
  'principal.kind == "service" || has(args.x)',
  '"pii" in item.labels',
  "has(item.annotations.readOnly) && item.annotations.readOnly == true",
  'item.kind == "tool" && has(args.x)',
);

const who = fc.constantFrom<Written[]>(
  { anyone: true },
  { groups: ["corp:a", "corp:b"] },
  { groups: { all: ["corp:a", "corp:b"] } },
  { kind: "service" },
  { tenant: ["default", "other"], subject: "ada" },
  { client: "desktop", groups: "corp:a" },
  { issuer: "partner", scopes: "s" },
  { tenant: "other" },
);

const marks = fc.constantFrom<Written[]>(
  {},
  {},
  {},
  { labels: "pii" },
  { labels: ["eu", "pii"] },
  { labels: { all: ["pii", "eu"] } },
  { annotations: { readOnly: true } },
);
const place = fc.constantFrom<Written[]>(
  {},
  { upstream: "crm" },
  { upstream: ["tickets", "crm"] },
  { server: "support" },
);

const toolNames = fc.constantFrom<unknown[]>("ab", "a*", ["a*", "*b", "ab"], "*", ["ab", "a/b"], "a/**");
const uriNames = fc.constantFrom<unknown[]>("x://h/a", "x://h/*", "x://h/**", ["x://h/a%20b/*", "x://h/b"], "x://*/a");
const digested = fc.constantFrom<Written[]>({}, {}, { digest: `sha256:${digest("a")}` });

const toolish = fc
  .tuple(fc.constantFrom("tool", "prompt"), toolNames, digested)
  .map(([kind, names, more]): Written => ({ [kind]: names, ...more }));
const anyNames = fc.oneof(
  { weight: 3, arbitrary: toolish },
  fc.tuple(fc.constantFrom("resource", "template"), uriNames).map(([kind, names]): Written => ({ [kind]: names })),
);
const nameless = fc
  .record({ place, marks })
  .map((parts): Written => ({ ...parts.place, ...parts.marks }))
  .map((what) => (Object.keys(what).length === 0 ? { anything: true } : what));
const named = fc
  .record({ names: anyNames, place, marks })
  .map(({ names, ...parts }): Written => ({ ...parts.place, ...names, ...parts.marks }));
const what = fc.oneof({ weight: 2, arbitrary: nameless }, { weight: 5, arbitrary: named });

const maybe = <T>(name: string, value: fc.Arbitrary<T>): fc.Arbitrary<Written> =>
  fc.option(value, { nil: undefined, freq: 2 }).map((one) => (one === undefined ? {} : { [name]: one }));
const when = fc.oneof(
  { weight: 1, arbitrary: fc.constant<Written>({}) },
  { weight: 2, arbitrary: condition.map((text): Written => ({ when: text })) },
);

export const anyAllow: fc.Arbitrary<Written> = fc
  .record({ who, what, when, scopes: fc.constantFrom<string[]>([], ["s"], ["s", "t"]) })
  .map(({ scopes, ...parts }) => ({
    effect: "allow",
    who: parts.who,
    what: parts.what,
    ...parts.when,
    ...(scopes.length === 0 ? {} : { stepUp: { scopes: { all: scopes } } }),
  }));

export const anyDeny: fc.Arbitrary<Written> = fc
  .record({ who, what, when })
  .map((parts) => ({ effect: "deny", who: parts.who, what: parts.what, ...parts.when }));

const limit = fc.constantFrom<Written[]>(
  { rate: "10/min", per: "principal" },
  { quota: "5/day", per: ["item", "client"] },
  { concurrency: 2, per: "server" },
);
const duties = fc
  .tuple(
    maybe("limits", fc.array(limit, { minLength: 1, maxLength: 2 })),
    maybe("resultBytesMax", fc.integer({ min: 1, max: 5 })),
    maybe("deadlineMs", fc.integer({ min: 1, max: 5 })),
    maybe("audit", fc.constant("required")),
    maybe("replayFields", fc.subarray(["/a", "/b", "/x"], { minLength: 1 })),
  )
  .map((parts) => merged(parts))
  .filter((one) => Object.keys(one).length > 0);

/** One value for each argument, so that no two presets ever disagree. */
const presets = fc
  .subarray(["p", "q"], { minLength: 1 })
  .map((names) => Object.fromEntries(names.map((name) => [name, `${name} is fixed`])));
const shapes = fc
  .tuple(
    maybe("presets", presets),
    maybe("unknownArguments", fc.constantFrom("reject", "strip", "pass")),
    maybe("removeFields", fc.subarray(["/a", "/*/b", "/c/d"], { minLength: 1 })),
  )
  .map((parts) => merged(parts))
  .filter((one) => Object.keys(one).length > 0);
const shapedTool = fc
  .record({ names: toolNames, place, marks, digested })
  .map(({ names, ...parts }): Written => ({ ...parts.place, tool: names, ...parts.marks, ...parts.digested }));

export const anyConstrain: fc.Arbitrary<Written> = fc.oneof(
  fc.record({ who, what, when, duties }).map((parts): Written => ({
    effect: "constrain",
    who: parts.who,
    what: parts.what,
    ...parts.when,
    ...parts.duties,
  })),
  fc
    .record({ who, what: shapedTool, shapes })
    .map((parts): Written => ({ effect: "constrain", who: parts.who, what: parts.what, ...parts.shapes })),
);

export const anyRule: fc.Arbitrary<Written> = fc.oneof(anyAllow, anyDeny, anyConstrain);
export const anyRules: fc.Arbitrary<readonly Written[]> = fc.array(anyRule, { maxLength: 7 });

export const anyArgs: fc.Arbitrary<JsonObject> = fc.constantFrom<JsonObject[]>(
  {},
  { x: 1 },
  { x: 2 },
  { x: "1" },
  { x: null },
  { l: ["a", 1] },
  { l: "a" },
  { x: [], l: {} },
);

const anyItem: fc.Arbitrary<Subject> = fc.oneof(
  fc.record({
    upstream: fc.constantFrom("crm", "tickets"),
    kind: fc.constantFrom<("tool" | "prompt")[]>("tool", "tool", "prompt"),
    name: fc.constantFrom("ab", "a", "b", "cb", "a/b"),
    digest: fc.constantFrom(undefined, digest("a"), digest("b")),
  }),
  fc.record({
    upstream: fc.constant("crm"),
    kind: fc.constantFrom<("resource" | "template")[]>("resource", "template"),
    name: fc.constantFrom(
      "x://h/a",
      "x://h/b",
      "x://h/a%20b/c",
      "x://h/a b/c",
      "x://h/b/../a",
      "x://h/%zz",
      "x://h/a?q",
    ),
  }),
);

/** A question whose arguments are known. */
export const anyQuestion: fc.Arbitrary<Question> = fc
  .record({
    item: anyItem,
    args: anyArgs,
    groups: fc.subarray(["corp:a", "corp:b"]),
    scopes: fc.subarray(["s", "t"]),
    kind: fc.constantFrom<("human" | "service")[]>("human", "service"),
    tenant: fc.constantFrom("default", "other"),
    issuerAlias: fc.constantFrom("corp", "partner"),
    subject: fc.constantFrom("ada", "bob"),
  })
  .map(({ item, args, ...more }) => ({ ...question({ args }), item, principal: principal(more) }));

const nothingSaid: ItemMarks = { labels: [], annotations: {} };

/** What operators say, the same of every item. */
export const anyContext: fc.Arbitrary<Partial<PolicyContext>> = fc
  .record({
    labels: fc.subarray(["pii", "eu"]),
    annotations: fc.constantFrom<ItemFacts["annotations"][]>({}, { readOnly: true }, { readOnly: false }),
    locked: fc.boolean(),
    possible: fc.constantFrom<ItemFacts["possible"][]>(
      undefined,
      [{ labels: ["pii"], annotations: { readOnly: false } }],
      [{ labels: ["pii", "eu"], annotations: { readOnly: true } }, nothingSaid],
    ),
    isSaid: fc.boolean(),
  })
  .map(({ isSaid, ...facts }) => (isSaid ? { factsOf: () => ({ ...noFacts, ...facts }) } : {}));

function merged(parts: readonly Written[]): Written {
  return Object.fromEntries(parts.flatMap((part) => Object.entries(part)));
}

/** With ids that keep the order of the list. */
export function numbered(rules: readonly Written[]): Record<string, unknown>[] {
  return rules.map((rule, index) => ({ id: `r${String(index).padStart(3, "0")}`, ...rule }));
}
