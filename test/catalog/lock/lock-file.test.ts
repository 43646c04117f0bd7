import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compileLock } from "../../../src/catalog/lock/lock.ts";
import { lockDigest } from "../../../src/catalog/lock/lock-digest.ts";
import { writeDocument } from "../../../src/catalog/lock/write-document.ts";
import type { JsonObject } from "../../../src/model/json.ts";
import { limits } from "../../../src/model/limits.ts";
import { parseJsonText } from "../../../src/protocol/json/parse.ts";
import { compiled, lockText, writtenLock } from "./lock-bench.ts";

const published = JSON.parse(
  readFileSync(new URL("../../../docs/catalog-lock.schema.json", import.meta.url), "utf8"),
) as object;
const holds = new Ajv2020({ strict: true }).compile(published);

const definition: JsonObject = { name: "get", inputSchema: { type: "object" } };
const digest = lockDigest(definition);
const signed = { digest, by: "ada", reason: "Reviewed.", at: "2026-11-30T09:00:00Z" };
const approval = { ...signed, definition };
const identity = { url: "https://crm.example.net/mcp", authorization: "https://login.example.com" };
const stone = { at: signed.at, digests: [digest] };
const hello = { ...signed, digest: lockDigest("Hello."), text: "Hello." };

const crm = (more: object): object => ({ lockVersion: 1, upstreams: { crm: { identity, ...more } } });
const tool = (more: object): object => crm({ tools: { get: { approved: [{ ...approval, ...more }] } } });
const without = (key: keyof typeof approval): object => {
  const rest = Object.entries(approval).filter(([name]) => name !== key);
  return crm({ tools: { get: { approved: [Object.fromEntries(rest)] } } });
};

const sound: readonly (readonly [what: string, document: object])[] = [
  ["no upstream", { lockVersion: 1, upstreams: {} }],
  ["an upstream without items", crm({})],
  ["a tool", tool({})],
  ["a tool by shape", crm({ tools: { get: { perUser: "shape", approved: [approval] } } })],
  ["a template", crm({ templates: { "crm://{id}": { approved: [templateOf("crm://{id}")] } } })],
  ["instructions", crm({ instructions: [hello] })],
  ["a tombstone", crm({ removed: { tools: { old: stone }, prompts: { p: stone } } })],
  ["a name like a method of objects", crm({ prompts: { constructor: { approved: [named("constructor")] } } })],
];

function named(name: string): object {
  return { ...signed, definition: { name }, digest: lockDigest({ name }) };
}

function templateOf(uriTemplate: string): object {
  const template = { uriTemplate, name: "customer" };
  return { ...signed, definition: template, digest: lockDigest(template) };
}

const at = "upstreams.crm.tools.get.approved[0]";

/** What is wrong, where it is told, and whether the published schema can tell too. */
const faulty: readonly (readonly [document: unknown, path: string, bySchema: boolean])[] = [
  [[], "", true],
  [{ upstreams: {} }, "lockVersion", true],
  [{ lockVersion: 2, upstreams: {} }, "lockVersion", true],
  [{ lockVersion: 1 }, "upstreams", true],
  [{ lockVersion: 1, upstreams: [] }, "upstreams", true],
  [{ lockVersion: 1, upstreams: {}, more: 1 }, "more", true],
  [{ lockVersion: 1, upstreams: { crm: {} } }, "upstreams.crm.identity", true],
  [{ lockVersion: 1, upstreams: { crm: null } }, "upstreams.crm", true],
  [crm({ identity: { url: identity.url } }), "upstreams.crm.identity.authorization", true],
  [crm({ identity: { ...identity, url: "https://a.example/mcp?key=1" } }), "upstreams.crm.identity.url", true],
  [crm({ identity: { ...identity, url: "https://u:p@a.example/" } }), "upstreams.crm.identity.url", true],
  [crm({ perUser: "loose" }), "upstreams.crm.perUser", true],
  [crm({ resources: {} }), "upstreams.crm.resources", true],
  [crm({ tools: [] }), "upstreams.crm.tools", true],
  [crm({ tools: { get: {} } }), "upstreams.crm.tools.get.approved", true],
  [crm({ tools: { get: { approved: [] } } }), "upstreams.crm.tools.get.approved", true],
  [crm({ tools: { get: { approved: [approval], perUser: 1 } } }), "upstreams.crm.tools.get.perUser", true],
  [crm({ tools: { get: { approved: [approval, approval] } } }), "upstreams.crm.tools.get.approved[1].digest", false],
  [without("digest"), `${at}.digest`, true],
  [without("by"), `${at}.by`, true],
  [without("reason"), `${at}.reason`, true],
  [without("at"), `${at}.at`, true],
  [without("definition"), `${at}.definition`, true],
  [tool({ digest: digest.toUpperCase() }), `${at}.digest`, true],
  [tool({ digest: `sha256:${"0".repeat(64)}` }), `${at}.digest`, false],
  [tool({ definition: { ...definition, title: "Other" } }), `${at}.digest`, false],
  [tool({ definition: [] }), `${at}.definition`, true],
  [tool({ by: "" }), `${at}.by`, true],
  [tool({ by: "a".repeat(limits.catalogLockApproverCharsMax + 1) }), `${at}.by`, true],
  [tool({ by: "ada\nbob" }), `${at}.by`, false],
  [tool({ reason: "\u202ereversed" }), `${at}.reason`, false],
  [tool({ at: "2026-11-30" }), `${at}.at`, true],
  [tool({ at: "2026-13-30T09:00:00Z" }), `${at}.at`, true],
  [tool({ seen: true }), `${at}.seen`, true],
  [crm({ tools: { other: { approved: [approval] } } }), "upstreams.crm.tools.other.approved[0].definition.name", false],
  [
    crm({ templates: { "x://{y}": { approved: [templateOf("crm://{id}")] } } }),
    'upstreams.crm.templates["x://{y}"].approved[0].definition.uriTemplate',
    false,
  ],
  [crm({ instructions: [{ ...hello, text: "Bye." }] }), "upstreams.crm.instructions[0].digest", false],
  [crm({ instructions: [{ ...hello, text: 1 }] }), "upstreams.crm.instructions[0].text", true],
  [crm({ removed: { tools: { old: { at: signed.at } } } }), "upstreams.crm.removed.tools.old.digests", true],
  [
    crm({ removed: { tools: { old: { ...stone, digests: ["x"] } } } }),
    "upstreams.crm.removed.tools.old.digests[0]",
    true,
  ],
  [crm({ removed: { resources: {} } }), "upstreams.crm.removed.resources", true],
  [
    crm({ tools: { get: { approved: [approval] } }, removed: { tools: { get: stone } } }),
    "upstreams.crm.removed.tools.get",
    false,
  ],
];

describe("a catalog lock", () => {
  it.each(sound)("with %s loads, and an editor finds nothing wrong with it", (_what, document) => {
    expect(compileLock(JSON.stringify(document))).toMatchObject({ ok: true });
    expect(holds(document)).toBe(true);
  });

  it.each(faulty)("%j is refused, at %s", (document, path, bySchema) => {
    const read = compileLock(JSON.stringify(document));
    expect(read.ok ? [] : read.faults.map((fault) => fault.path)).toEqual([path]);
    expect(holds(document)).toBe(!bySchema);
  });

  it.each([
    ["", "JSON_MALFORMED"],
    ['{"lockVersion":1,"upstreams":{},"upstreams":{}}', "JSON_DUPLICATE_KEY"],
    ['{"lockVersion":1,"upstreams":{"__proto__":{}}}', "JSON_FORBIDDEN_KEY"],
    ['\ufeff{"lockVersion":1,"upstreams":{}}', "JSON_MALFORMED"],
  ])("as %j is refused as a whole: %s", (text, found) => {
    expect(compileLock(text)).toMatchObject({ ok: false, faults: [{ path: "", found }] });
  });

  it("as the manual shows it loads", () => {
    const manual = readFileSync(new URL("../../../docs/catalog.md", import.meta.url), "utf8");
    const [, text = ""] = /```json\n([\s\S]*?)```/.exec(manual) ?? [];
    expect(compileLock(text)).toMatchObject({ ok: true });
    expect(holds(JSON.parse(text))).toBe(true);
  });

  it("over its bound is refused unread", () => {
    const text = " ".repeat(limits.catalogLockBytesMax + 1);
    expect(compileLock(text)).toMatchObject({ ok: false, faults: [{ path: "" }] });
  });

  it("tells everything that is wrong at once, up to a bound", () => {
    const upstreams = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`u${n}`, {}]));
    const read = compileLock(JSON.stringify({ lockVersion: 1, upstreams }));
    expect(read.ok ? 0 : read.faults.length).toBe(limits.configurationFaultsMax);
  });

  it("has a digest that layout and the order of keys do not change, and every word does", async () => {
    const text = await writtenLock({ crm: { tool: [definition] } });
    const lock = JSON.parse(text) as JsonObject;
    const reordered = JSON.stringify(Object.fromEntries(Object.entries(lock).reverse()));
    const reworded = text.replace("Reviewed.", "Reviewed!");
    const digests = [text, reordered, reworded].map((one) => compiled(one).digest);
    expect(digests[1]).toBe(digests[0]);
    expect(digests[2]).not.toBe(digests[0]);
  });
});

describe("the questions that a lock answers", () => {
  const text = lockText({ crm: { tool: [definition], resource: [{ uri: "crm://a", name: "a" }] } });

  it.each([
    ["crm", "tool", "get", true],
    ["crm", "prompt", "get", false],
    ["crm", "tool", "put", false],
    ["crm", "tool", "constructor", false],
    ["other", "tool", "get", false],
    ["crm", "resource", "crm://a", false],
  ] as const)("%s %s %s is locked: %s", async (upstream, kind, name, isLocked) => {
    const lock = compiled(await text);
    expect(lock.isLocked(upstream, kind, name)).toBe(isLocked);
    expect(lock.definitionOf(upstream, kind, name)).toEqual(isLocked ? definition : undefined);
    expect(lock.approvedOf(upstream, kind, name)).toEqual(isLocked ? [digest] : []);
  });

  it("what it holds, each once", async () => {
    expect([...compiled(await text).items()]).toEqual([{ upstream: "crm", kind: "tool", name: "get", definition }]);
  });
});

describe("the text of a lock", () => {
  it("is the same for the same document, however it came about", async () => {
    const one: JsonObject = { name: "b", inputSchema: { type: "object", properties: { y: {}, x: {} } } };
    const two: JsonObject = { name: "a", inputSchema: { type: "object" } };
    const text = await writtenLock({ crm: { tool: [one, two] }, alpha: { prompt: [{ name: "p" }] } });
    const again = await writtenLock({
      alpha: { prompt: [{ name: "p" }] },
      crm: { tool: [two, { inputSchema: { properties: { x: {}, y: {} }, type: "object" }, name: "b" }] },
    });
    expect(again).toBe(text);
    expect(writeDocument(compiled(text).document)).toBe(text);
    expect(text.endsWith("}\n")).toBe(true);
    expect(text.split("\n").filter((line) => /^ {6}"(tools|prompts)"/.test(line))).toHaveLength(2);
  });

  it.each([
    ["\u200b", "\\u200b"],
    ["\u00a0", "\\u00a0"],
    ["\u202e", "\\u202e"],
    ["\u{e0041}", "\\udb40\\udc41"],
    ["\ufe0f", "\\ufe0f"],
    ["\u3164", "\\u3164"],
    ["\u2028", "\\u2028"],
  ])("shows %j in a text, a key and a name as %s, and means the same", async (hidden, shown) => {
    const name = `p${hidden}`;
    const text = await writtenLock({ crm: { prompt: [{ name, [`x-${hidden}`]: hidden }] } });
    expect(text).not.toContain(hidden);
    expect(text.split(shown).length - 1).toBe(4);
    expect(compiled(text).definitionOf("crm", "prompt", name)).toEqual({ name, [`x-${hidden}`]: hidden });
  });

  it("keeps the digits of numbers that no double holds, and so their digests", async () => {
    const parsed = parseJsonText('{"name":"n","x":9007199254740993,"y":0.10}');
    if (!parsed.ok) throw new Error(parsed.refusal.code);
    const text = await writtenLock({ crm: { prompt: [parsed.value as JsonObject] } });
    expect(text).toContain('"x": 9007199254740993,');
    expect(text).toContain('"y": 0.1\n');
    expect(compiled(text).approvedOf("crm", "prompt", "n")).toEqual([lockDigest(parsed.value)]);
  });

  it("of whatever an upstream may list reads as the same definitions", async () => {
    // The one name that no lock can hold is left out where lists are read.
    const name = fc.stringMatching(/^[a-zA-Z0-9_.-]{1,20}$/).filter((text) => text !== "__proto__");
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(name, { maxLength: 5 }), fc.jsonValue({ maxDepth: 4 }), async (names, value) => {
        const parsed = parseJsonText(JSON.stringify(value));
        if (!parsed.ok) return;
        const prompts = names.map((each) => ({ name: each, x: parsed.value }));
        const lock = compiled(await writtenLock({ crm: { prompt: prompts } }));
        for (const prompt of prompts)
          expect(lockDigest(lock.definitionOf("crm", "prompt", prompt.name) ?? null)).toBe(lockDigest(prompt));
      }),
      { numRuns: 60 },
    );
  });
});
