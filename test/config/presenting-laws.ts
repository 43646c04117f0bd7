import type { Law } from "./built-in-laws.ts";
import type { Change } from "./built-in-laws.ts";

const anyone = { anyone: true };
const presentations = (...list: readonly object[]): Change => ["servers.support.presentations", list];
const renamed = (tools: object): object => ({ rename: { crm: { tools } } });

/** Of presentations, names, budgets, and what operators say of items. */
export const presentingLaws: readonly Law[] = [
  {
    rule: "presentationIdsAreUnique",
    at: "servers.support.presentations[1].id",
    broken: [presentations({ id: "a", who: anyone }, { id: "a", who: anyone })],
    held: [presentations({ id: "a", who: anyone }, { id: "b", who: anyone })],
  },
  ...["rename", "title", "describe", "hide"].map((key): Law => ({
    rule: "presentationsNameTheServersUpstreams",
    at: `servers.support.presentations[0].${key}.other`,
    broken: [presentations({ id: "a", who: anyone, [key]: { other: {} } })],
    held: [presentations({ id: "a", who: anyone, [key]: { crm: {} } })],
  })),
  {
    rule: "presentedNamesDoNotCollide",
    at: "servers.support.presentations[0].rename.crm.tools.two",
    broken: [presentations({ id: "a", who: anyone, ...renamed({ one: "same", two: "same" }) })],
    held: [presentations({ id: "a", who: anyone, ...renamed({ one: "same", two: "other" }) })],
  },
  {
    rule: "presentedNamesDoNotCollide",
    at: "servers.support.presentations[0].rename.crm.tools.two",
    broken: [
      ["servers.support.upstreams.crm.rename", { tools: { one: "same" } }],
      presentations({ id: "a", who: anyone, ...renamed({ two: "same" }) }),
    ],
    held: [
      ["servers.support.upstreams.crm.rename", { tools: { one: "same" } }],
      presentations({ id: "a", who: anyone, ...renamed({ one: "other", two: "same" }) }),
    ],
  },
  ...["with.dot", "3d", "-dash", "x".repeat(65)].map((name): Law => ({
    rule: "writtenNamesFit",
    at: "servers.support.upstreams.crm.rename.tools.one",
    broken: [["servers.support.upstreams.crm.rename", { tools: { one: name } }]],
    held: [["servers.support.upstreams.crm.rename", { tools: { one: "x".repeat(64) } }]],
  })),
  {
    rule: "writtenNamesFit",
    at: "servers.support.presentations[0].rename.crm.prompts.one",
    broken: [
      ["servers.support.names", { maxChars: 16 }],
      presentations({ id: "a", who: anyone, rename: { crm: { prompts: { one: "x".repeat(17) } } } }),
    ],
    held: [presentations({ id: "a", who: anyone, rename: { crm: { prompts: { one: "x".repeat(17) } } } })],
  },
  {
    rule: "writtenNamesFit",
    at: "servers.support.upstreams.crm.rename.tools.one",
    broken: [
      ["names", { maxChars: 128 }],
      ["servers.support.upstreams.crm.rename", { tools: { one: "with.dot" } }],
    ],
    held: [
      ["names", { characters: "protocol" }],
      ["servers.support.upstreams.crm.rename", { tools: { one: "with.dot" } }],
    ],
  },
  {
    rule: "prefixesFit",
    at: "servers.support.upstreams.crm.prefix",
    broken: [["servers.support.upstreams.crm.prefix", "crm."]],
    held: [["servers.support.upstreams.crm.prefix", "crm_"]],
  },
  {
    rule: "prefixesFit",
    at: "servers.support.upstreams.crm.prefix",
    broken: [["servers.support.upstreams.crm.prefix", "3d_"]],
    held: [
      ["servers.support.upstreams.crm.prefix", "3d."],
      ["servers.support.names", { characters: "protocol" }],
    ],
  },
  ...[
    { labels: ["a"] },
    { tool: ["a"], prompt: ["b"], labels: ["a"] },
    { tool: ["a"] },
    { prompt: ["a"], annotations: { readOnly: true } },
  ].map((entry): Law => ({
    rule: "itemNotesNameOneKind",
    at: "upstreams.crm.items[0]",
    broken: [["upstreams.crm.items", [entry]]],
    held: [["upstreams.crm.items", [{ tool: ["a"], annotations: { readOnly: true } }]]],
  })),
];
