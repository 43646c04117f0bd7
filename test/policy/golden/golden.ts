import { ExactNumber } from "../../../src/model/json.ts";
import type { ItemFacts } from "../../../src/model/item-facts.ts";
import type { Decision, Listing } from "../../../src/model/decision.ts";
import type { Obligations, Shaping } from "../../../src/model/obligations.ts";
import { constrain, deny, rule } from "../given.ts";
import type { Asked } from "../given.ts";

/** One hard case, and literally what policy says of it. */
export interface Golden {
  readonly about: string;
  readonly rules: readonly unknown[];
  readonly asked: Asked & { readonly digest?: string };
  readonly facts?: Partial<ItemFacts>;
  readonly listed: Listing;
  readonly decision: Decision;
  /** Absent: none apply. */
  readonly obligations?: Obligations;
  readonly shaping?: Shaping;
}

const nothing: Omit<Obligations, "rules"> = {
  limits: [],
  resultBytesMax: undefined,
  deadlineMs: undefined,
  auditRequired: false,
  replayFields: [],
};
const unshaped: Omit<Shaping, "rules"> = { presets: new Map(), unknownArguments: undefined, removeFields: [] };
const tool = { upstream: "crm", tool: "export_all" };
const at = (text: string): { now: number } => ({ now: Date.parse(text) });
const digest = { old: "1".repeat(64), now: "2".repeat(64) };
/** Denies outside 8 to 18 in Berlin. */
const hours = deny("hours", {
  what: tool,
  when: 'request.now.getHours("Europe/Berlin") < 8 || request.now.getHours("Europe/Berlin") >= 18',
});
const big = new ExactNumber("9007199254740993");

const allowed = (id: string, ...read: string[]): Decision => ({ effect: "allow", rule: id, read });
const denied = (id: string, reason: Extract<Decision, { effect: "deny" }>["reason"], ...read: string[]): Decision => ({
  effect: "deny",
  rule: id,
  reason,
  read,
});
const unmentioned: Decision = { effect: "deny", reason: "no-rule-allows", read: [] };

const argumentCases: readonly Golden[] = [
  {
    about: "an argument that is missing is not read past its has()",
    rules: [rule("small", { what: tool, when: "has(args.ids) && size(args.ids) <= 2" })],
    asked: { args: {} },
    listed: "listed",
    decision: denied("small", "condition-false", "/ids"),
  },
  {
    about: "null is there, and has no size",
    rules: [rule("small", { what: tool, when: "has(args.ids) && size(args.ids) <= 2" })],
    asked: { args: { ids: null } },
    listed: "listed",
    decision: denied("small", "condition-error", "/ids"),
  },
  {
    about: "null equals null alone",
    rules: [rule("unowned", { what: tool, when: "has(args.owner) && args.owner == null" })],
    asked: { args: { owner: null } },
    listed: "listed",
    decision: allowed("unowned", "/owner"),
  },
  {
    about: "a text where an object was expected has no fields to ask for: an allow does not allow",
    rules: [
      rule("eu", { what: tool, when: 'has(args.filter) && has(args.filter.region) && args.filter.region == "eu"' }),
    ],
    asked: { args: { filter: "eu" } },
    listed: "listed",
    decision: denied("eu", "condition-error", "/filter"),
  },
  {
    about: "a text where an object was expected has no fields to ask for: a deny denies",
    rules: [
      rule("all"),
      deny("us", { what: tool, when: 'has(args.filter) && has(args.filter.region) && args.filter.region == "us"' }),
    ],
    asked: { args: { filter: '{"region":"us"}' } },
    listed: "listed",
    decision: denied("us", "condition-error", "/filter"),
  },
  {
    about: "a nested field is read, and nothing beside it",
    rules: [
      rule("eu", { what: tool, when: 'has(args.filter) && has(args.filter.region) && args.filter.region == "eu"' }),
    ],
    asked: { args: { filter: { region: "eu", name: "x" }, other: 1 } },
    listed: "listed",
    decision: allowed("eu", "/filter/region"),
  },
  {
    about: "a deny on the type that nobody expected errs, and denies",
    rules: [rule("all"), deny("large", { what: tool, when: "has(args.limit) && args.limit > 100" })],
    asked: { args: { limit: "1000" } },
    listed: "listed",
    decision: denied("large", "condition-error", "/limit"),
  },
  {
    about: "a list that holds what is forbidden among other types",
    rules: [rule("all"), deny("secret", { what: tool, when: 'has(args.f) && args.f.exists(f, f == "secret")' })],
    asked: { args: { f: [1, null, "secret"] } },
    listed: "listed",
    decision: denied("secret", "denied-by-rule", "/f"),
  },
  {
    about: "2^53 + 1 is not 2^53",
    rules: [rule("all"), deny("one", { what: tool, when: "has(args.id) && args.id == 9007199254740992" })],
    asked: { args: { id: big } },
    listed: "listed",
    decision: allowed("all", "/id"),
  },
  {
    about: "2^53 + 1 is itself",
    rules: [rule("all"), deny("one", { what: tool, when: "has(args.id) && args.id == 9007199254740993" })],
    asked: { args: { id: big } },
    listed: "listed",
    decision: denied("one", "denied-by-rule", "/id"),
  },
  {
    about: "a fraction that no double holds errs instead of being rounded",
    rules: [rule("cheap", { what: tool, when: "has(args.price) && args.price < 1.0" })],
    asked: { args: { price: new ExactNumber("0.99999999999999999999") } },
    listed: "listed",
    decision: denied("cheap", "condition-error", "/price"),
  },
  {
    about: "an argument called constructor is data",
    rules: [rule("all"), deny("odd", { what: tool, when: "has(args.constructor)" })],
    asked: { args: {} },
    listed: "listed",
    decision: allowed("all", "/constructor"),
  },
];

const nameCases: readonly Golden[] = [
  {
    about: "two ways to write é are two names",
    rules: [rule("all"), deny("cafe", { what: { upstream: "crm", tool: "caf\u00e9" } })],
    asked: { name: "cafe\u0301" },
    listed: "listed",
    decision: allowed("all"),
  },
  {
    about: "a letter that looks alike is another letter",
    rules: [rule("a", { what: { upstream: "crm", tool: "admin" } })],
    asked: { name: "\u0430dmin" },
    listed: "hidden",
    decision: unmentioned,
  },
  {
    about: "a star crosses no slash, and stars are matched without going back",
    rules: [rule("a", { what: { upstream: "crm", tool: "get_*_by_*" } })],
    asked: { name: "get_a_by_b/c" },
    listed: "hidden",
    decision: unmentioned,
  },
  {
    about: "a name in other capitals is another name",
    rules: [rule("a", { what: { upstream: "crm", tool: "get_*" } })],
    asked: { name: "Get_x" },
    listed: "hidden",
    decision: unmentioned,
  },
  {
    about: "an encoded way around a deny of a resource is denied",
    rules: [rule("all"), deny("salaries", { what: { upstream: "warehouse", resource: "w://h/salaries/**" } })],
    asked: { upstream: "warehouse", kind: "resource", name: "w://h/reports/%252e%252e/salaries/a" },
    listed: "hidden",
    decision: denied("salaries", "denied-by-rule"),
  },
  {
    about: "a way out of what is allowed is not allowed",
    rules: [rule("reports", { what: { upstream: "warehouse", resource: "w://h/reports/**" } })],
    asked: { upstream: "warehouse", kind: "resource", name: "w://h/reports/..%2fsalaries" },
    listed: "hidden",
    decision: unmentioned,
  },
  {
    about: "a URI that cannot be decoded is denied by every deny of resources, and constrained",
    rules: [
      rule("all"),
      deny("salaries", { what: { upstream: "warehouse", resource: "w://h/salaries/**" } }),
      constrain("slow", { what: { upstream: "warehouse", resource: "w://h/other" } }),
    ],
    asked: { upstream: "warehouse", kind: "resource", name: "w://h/%ff" },
    listed: "hidden",
    decision: denied("salaries", "denied-by-rule"),
    obligations: { ...nothing, rules: ["slow"], deadlineMs: 1_000 },
  },
  {
    about: "the same name at another upstream is another item",
    rules: [rule("all", { what: { upstream: "tickets", tool: "export_all" } })],
    asked: {},
    listed: "hidden",
    decision: unmentioned,
  },
];

const scopeCases: readonly Golden[] = [
  {
    about: "scopes compare as words: whoever read the token has added what a wider one covers",
    rules: [rule("edit", { what: tool, stepUp: { scopes: { all: ["crm:write"] } } })],
    asked: { who: { scopes: ["crm:*"] } },
    listed: "listed",
    decision: { effect: "step-up", rule: "edit", scopes: ["crm:write"], missing: ["crm:write"], read: [] },
  },
  {
    about: "of two rules the one that lacks fewest scopes is named",
    rules: [
      rule("a", { what: tool, stepUp: { scopes: { all: ["x", "y", "z"] } } }),
      rule("b", { what: tool, stepUp: { scopes: { all: ["v", "w"] } } }),
    ],
    asked: { who: { scopes: ["x", "y"] } },
    listed: "listed",
    decision: { effect: "step-up", rule: "a", scopes: ["x", "y", "z"], missing: ["z"], read: [] },
  },
  {
    about: "who lacks a scope and is denied is denied",
    rules: [rule("a", { what: tool, stepUp: { scopes: { all: ["x"] } } }), deny("d", { what: tool })],
    asked: {},
    listed: "hidden",
    decision: denied("d", "denied-by-rule"),
  },
  {
    about: "groups that are absent hold nothing",
    rules: [rule("a", { who: { groups: { all: ["corp:support"] } }, what: tool })],
    asked: { who: { groups: [] } },
    listed: "hidden",
    decision: unmentioned,
  },
  {
    about: "the same subject of another issuer is another person",
    rules: [rule("a", { who: { issuer: "corp", subject: "ada" }, what: tool })],
    asked: { who: { issuerAlias: "partner", issuer: "https://partner.example.com" } },
    listed: "hidden",
    decision: unmentioned,
  },
  {
    about: "the same group of another issuer is another group, also in a condition",
    rules: [
      rule("a", { what: tool, when: '"corp:support" in principal.groups' }),
      rule("b", { who: { groups: ["corp:support"] }, what: tool }),
    ],
    asked: { who: { issuerAlias: "partner", groups: ["partner:support"] } },
    listed: "hidden",
    decision: denied("a", "condition-false"),
  },
  {
    about: "one tenant's deny is not another's",
    rules: [rule("a", { what: tool }), deny("d", { who: { tenant: "one" }, what: tool })],
    asked: { who: { tenant: "two" } },
    listed: "listed",
    decision: allowed("a"),
  },
  {
    about: "each tenant has its preset",
    rules: [
      rule("a", { what: tool }),
      constrain("one", { who: { tenant: "one" }, what: tool, presets: { account: "1" } }),
      constrain("two", { who: { tenant: "two" }, what: tool, presets: { account: "2" } }),
    ],
    asked: { who: { tenant: "two" } },
    listed: "listed",
    decision: allowed("a"),
    shaping: { ...unshaped, rules: ["two"], presets: new Map([["account", "2"]]) },
  },
];

const timeCases: readonly Golden[] = [
  ["before the offices open", "2026-03-04T06:59:59Z", true],
  ["as they open", "2026-03-04T07:00:00Z", false],
  ["the last second before they close", "2026-03-04T16:59:59Z", false],
  ["as they close", "2026-03-04T17:00:00Z", true],
  ["an hour earlier by UTC in summer", "2026-07-01T06:00:00Z", false],
  ["still closed by UTC at the winter's hour", "2026-07-01T05:59:59Z", true],
  ["on the day the clocks go forward", "2026-03-29T06:00:00Z", false],
  ["on the day they go back", "2026-10-25T06:30:00Z", true],
].map(([about, now, closed]): Golden => ({
  about: `offices in Berlin, ${String(about)}`,
  rules: [rule("all"), hours],
  asked: at(String(now)),
  listed: closed === true ? "hidden" : "listed",
  decision: closed === true ? denied("hours", "denied-by-rule") : allowed("all"),
}));

const moreTimeCases: readonly Golden[] = [
  {
    about: "a day that is over in UTC, at midnight",
    rules: [rule("window", { what: tool, when: 'request.now < timestamp("2026-12-01T00:00:00Z")' })],
    asked: at("2026-12-01T00:00:00.000Z"),
    listed: "hidden",
    decision: denied("window", "condition-false"),
  },
  {
    about: "the millisecond before it",
    rules: [rule("window", { what: tool, when: 'request.now < timestamp("2026-12-01T00:00:00Z")' })],
    asked: at("2026-11-30T23:59:59.999Z"),
    listed: "listed",
    decision: allowed("window"),
  },
  {
    about: "Sunday in Auckland while it is Saturday in UTC",
    rules: [rule("all"), deny("sunday", { what: tool, when: 'request.now.getDayOfWeek("Pacific/Auckland") == 0' })],
    asked: at("2026-03-07T12:00:00Z"),
    listed: "hidden",
    decision: denied("sunday", "denied-by-rule"),
  },
];

const constrainCases: readonly Golden[] = [
  {
    about: "a constrain whose condition errs applies",
    rules: [
      rule("all"),
      constrain("c", { what: tool, when: "has(args.n) && args.n > 5", limits: { concurrency: 1, per: "item" } }),
    ],
    asked: { args: { n: "many" } },
    listed: "listed",
    decision: allowed("all"),
    obligations: {
      ...nothing,
      rules: ["c"],
      limits: [{ rule: "c", at: 0, per: ["item"], kind: "concurrency", count: 1 }],
      replayFields: ["/n"],
    },
  },
  {
    about: "a preset counts as sent: the condition sees it",
    rules: [
      rule("own", { what: tool, when: 'has(args.owner) && args.owner == "acme"' }),
      constrain("owner", { what: tool, presets: { owner: "acme" }, unknownArguments: "reject" }),
    ],
    asked: { args: { owner: "acme" } },
    listed: "listed",
    decision: allowed("own", "/owner"),
    shaping: { ...unshaped, rules: ["owner"], presets: new Map([["owner", "acme"]]), unknownArguments: "reject" },
  },
  {
    about: "the tightest of three, in the order of ids",
    rules: [
      rule("all"),
      constrain("c3", { what: { anything: true }, deadlineMs: 9_000, audit: "required" }),
      constrain("c1", {
        what: tool,
        deadlineMs: 5_000,
        limits: { rate: "10/min", per: ["client", "principal"] },
        message: "M",
      }),
      constrain("c2", { what: { upstream: "crm" }, resultBytesMax: 4_096, limits: { quota: "5/day", per: "server" } }),
    ],
    asked: {},
    listed: "listed",
    decision: allowed("all"),
    obligations: {
      rules: ["c1", "c2", "c3"],
      limits: [
        {
          rule: "c1",
          at: 0,
          per: ["principal", "client"],
          message: "M",
          kind: "rate",
          count: 10,
          perMs: 60_000,
          burst: 10,
        },
        { rule: "c2", at: 0, per: ["server"], kind: "quota", count: 5 },
      ],
      resultBytesMax: 4_096,
      deadlineMs: 5_000,
      auditRequired: true,
      replayFields: [],
    },
  },
  {
    about: "what is denied is constrained all the same, should somebody ask",
    rules: [constrain("c", { what: tool })],
    asked: {},
    listed: "hidden",
    decision: unmentioned,
    obligations: { ...nothing, rules: ["c"], deadlineMs: 1_000 },
  },
];

const factCases: readonly Golden[] = [
  {
    about: "a deny by label wins over an allow by name",
    rules: [rule("a", { what: tool }), deny("pii", { what: { labels: "pii" } })],
    asked: {},
    facts: { labels: ["pii"] },
    listed: "hidden",
    decision: denied("pii", "denied-by-rule"),
  },
  {
    about: "an annotation that nobody set is not false",
    rules: [rule("a", { what: { annotations: { destructive: false } } })],
    asked: {},
    facts: { annotations: { readOnly: true } },
    listed: "hidden",
    decision: unmentioned,
  },
  {
    about: "an allow of one definition is over when the definition changes",
    rules: [rule("a", { what: { ...tool, digest: `sha256:${digest.old}` } })],
    asked: { digest: digest.now },
    facts: { digest: digest.old },
    listed: "hidden",
    decision: unmentioned,
  },
  {
    about: "a pattern does not grant tomorrow's tool, which the lock does not hold",
    rules: [rule("get", { what: { upstream: "crm", tool: "get_*" } })],
    asked: { name: "get_credentials" },
    facts: { locked: false },
    listed: "hidden",
    decision: unmentioned,
  },
  {
    about: "its exact name does, and a pattern still denies and constrains it",
    rules: [
      rule("get", { what: { upstream: "crm", tool: ["get_*", "get_credentials"] } }),
      constrain("c", { what: { upstream: "crm", tool: "get_*" } }),
    ],
    asked: { name: "get_credentials" },
    facts: { locked: false },
    listed: "listed",
    decision: allowed("get"),
    obligations: { ...nothing, rules: ["c"], deadlineMs: 1_000 },
  },
];

export const golden: readonly Golden[] = [
  ...argumentCases,
  ...nameCases,
  ...scopeCases,
  ...timeCases,
  ...moreTimeCases,
  ...constrainCases,
  ...factCases,
];
