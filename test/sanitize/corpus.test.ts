import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { Json, JsonObject } from "../../src/model/json.ts";
import type { Finding } from "../../src/model/finding.ts";
import { cleanDefinition } from "../../src/sanitize/clean-definition.ts";
import { cleanError, cleanResult } from "../../src/sanitize/clean-result.ts";
import { cleanText } from "../../src/sanitize/clean-text.ts";

interface Case {
  readonly id: string;
  readonly class: string;
  readonly entry: string;
  readonly input: Json;
  readonly expect: "strip" | "block" | "flag" | "label" | "unchanged";
}

interface Seen {
  readonly changed: boolean;
  readonly blocked: boolean;
  readonly findings: readonly Finding[];
}

function read(name: string): readonly Case[] {
  return readFileSync(new URL(`../corpus/${name}.jsonl`, import.meta.url), "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Case);
}

const tool = (members: JsonObject): Seen => {
  const definition = { name: "tool", inputSchema: { type: "object" }, ...members };
  const cleaned = cleanDefinition("tool", definition);
  return {
    changed: cleaned.definition !== definition,
    blocked: cleaned.unsafe.length > 0,
    findings: cleaned.findings,
  };
};
const result = (method: string, members: JsonObject): Seen => {
  const cleaned = cleanResult(method, members);
  return { changed: cleaned.value !== members, blocked: false, findings: cleaned.findings };
};
const text = (input: Json): JsonObject => ({ content: [{ type: "text", text: input }] });

/** Where a corpus entry enters this room. Entries without a way in belong to other stages. */
const ways: Readonly<Record<string, (input: Json) => Seen>> = {
  "tool.description": (input) => tool({ description: input }),
  "tool.title": (input) => tool({ title: input }),
  "tool.name": (input) => tool({ name: input }),
  "tool.icons": (input) => tool({ icons: input }),
  "tool._meta": (input) => tool({ _meta: input }),
  "tool.annotations": (input) => tool({ annotations: input }),
  inputSchema: (input) => tool({ inputSchema: input }),
  "schema.enum": (input) => tool({ inputSchema: input }),
  "schema.property.name": (input) => tool({ inputSchema: input }),
  "schema.property.description": (input) =>
    tool({ inputSchema: typeof input === "string" ? { description: input } : input }),
  "schema.title": (input) => tool({ inputSchema: input }),
  "schema.examples": (input) => tool({ inputSchema: input }),
  "schema.pattern": (input) => tool({ inputSchema: input }),
  "schema.required": (input) => tool({ inputSchema: input }),
  "resource.description": (input) => {
    const definition = { uri: "file:///a", name: "a", description: input };
    const cleaned = cleanDefinition("resource", definition);
    return {
      changed: cleaned.definition !== definition,
      blocked: cleaned.unsafe.length > 0,
      findings: cleaned.findings,
    };
  },
  "result.text": (input) => result("tools/call", text(input)),
  "result.error": (input) => result("tools/call", { ...text(input), isError: true }),
  "result.resource_link": (input) => result("tools/call", { content: [input] }),
  "result.resource": (input) => result("tools/call", { content: [input] }),
  "result.annotations": (input) => result("tools/call", { content: [{ type: "text", text: "x", annotations: input }] }),
  "result.structuredContent": (input) => result("tools/call", { content: [], structuredContent: input }),
  "resource.text": (input) => result("resources/read", { contents: [{ uri: "file:///a", text: input }] }),
  "prompt.message": (input) =>
    result("prompts/get", { messages: [{ role: "user", content: { type: "text", text: input } }] }),
  instructions: (input) => result("server/discover", { instructions: input }),
  "completion.value": (input) => result("completion/complete", { completion: input }),
  "elicitation.message": (input) => result("elicitation/create", { message: input }),
  "tasks.status": (input) => result("tasks/get", input as JsonObject),
  args: (input) => result("arguments", input as JsonObject),
  "error.message": (input) => {
    const error = { code: -32000, message: input as string };
    const cleaned = cleanError(error);
    return { changed: cleaned.error.message !== error.message, blocked: false, findings: cleaned.findings };
  },
};

function run(found: Case): Seen | undefined {
  return Object.hasOwn(ways, found.entry) ? ways[found.entry]?.(found.input) : undefined;
}

describe("the benign corpus", () => {
  const cases = read("benign");
  it.each(cases.filter((found) => run(found) !== undefined).map((found) => [found.id, found] as const))(
    "%s is delivered byte for byte and not withheld",
    (_, found) => {
      expect(run(found)).toMatchObject({ changed: false, blocked: false, findings: [] });
    },
  );

  it("enters this room with all but the wire, form and pin cases", () => {
    const outside = cases.filter((found) => run(found) === undefined);
    expect([cases.length, outside.length]).toEqual([151, 10]);
  });
});

describe("the attack corpus", () => {
  const cases = read("attacks");
  const textClasses = ["unicode-tags", "unicode-vs", "unicode-zw", "unicode-bidi", "ansi", "tasks"];
  const of = (expected: Case["expect"], classes: readonly string[]): readonly (readonly [string, Case])[] =>
    cases
      .filter((found) => found.expect === expected && classes.includes(found.class) && run(found) !== undefined)
      .map((found) => [found.id, found] as const);

  it.each(of("strip", textClasses))("%s is neutralised with a finding", (_, found) => {
    const seen = run(found);
    expect(seen?.changed).toBe(true);
    expect(seen?.findings.length).toBeGreaterThan(0);
    expect(cleanText(JSON.stringify(seen?.findings), "single").findings).toEqual([]);
  });

  it.each(of("block", [...textClasses, "homoglyph"]))("%s makes the item unsafe", (_, found) => {
    expect(run(found)?.blocked).toBe(true);
  });

  it.each(["atk-unicode-zw-020", "atk-unicode-zalgo-001", "atk-padding-002"])(
    "%s is delivered with a finding",
    (id) => {
      const found = cases.find((candidate) => candidate.id === id);
      const seen = found === undefined ? undefined : run(found);
      expect(seen).toMatchObject({ changed: false, blocked: false });
      expect(seen?.findings.map((finding) => finding.kind)).toContain("text-suspicious");
    },
  );

  it("is covered as far as invisible text goes, and no further: links, words and markup are other stages", () => {
    const counts = { met: 0, unmet: 0, outside: 0 };
    for (const found of cases) {
      const seen = run(found);
      if (seen === undefined) counts.outside++;
      else if (isMet(found, seen)) counts.met++;
      else counts.unmet++;
    }
    expect(counts).toEqual({ met: 44, unmet: 90, outside: 63 });
  });

  it("lists the strip cases that this stage does not meet", () => {
    const unmet = cases.filter((found) => {
      const seen = run(found);
      return found.expect === "strip" && (seen === undefined || !isMet(found, seen));
    });
    const links = ["002", "004", "006", "008", "010", "012", "014", "022", "024", "026"].map((id) => `atk-link-${id}`);
    expect(unmet.map((found) => found.id)).toEqual([
      "atk-ansi-018",
      "atk-schema-poisoning-020",
      "atk-schema-poisoning-022",
      ...links,
      "atk-hidden-markup-002",
      "atk-hidden-markup-008",
      "atk-x-mcp-header-011",
      "atk-wire-018",
      "atk-wire-028",
      "atk-auth-022",
    ]);
  });
});

function isMet(found: Case, seen: Seen): boolean {
  if (found.expect === "block") return seen.blocked;
  if (found.expect === "strip") return seen.changed && seen.findings.length > 0;
  return found.expect === "flag" && seen.findings.length > 0 && !seen.blocked;
}
