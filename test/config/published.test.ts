import { readFileSync, writeFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { configSchema } from "../../src/config/schema.ts";
import type { SchemaNode } from "../../src/config/schema-node.ts";
import { limits } from "../../src/model/limits.ts";
import { manualText, schemaText } from "./manual.ts";
import { changed, loadText, soundDraft } from "./load-text.ts";

/** `SALLYPORT_WRITE_DOCS=1 npx vitest run test/config/published.test.ts` writes what is published anew. */
const writes = process.env["SALLYPORT_WRITE_DOCS"] === "1";

function published(name: string, text: string): string {
  const url = new URL(`../../docs/${name}`, import.meta.url);
  if (writes) writeFileSync(url, text);
  return readFileSync(url, "utf8");
}

function nodesOf(node: SchemaNode, at = ""): { at: string; node: SchemaNode }[] {
  const members = Object.entries(node.properties ?? {}).flatMap(([name, member]) => nodesOf(member, `${at}.${name}`));
  const named = typeof node.additionalProperties === "object" ? nodesOf(node.additionalProperties, `${at}.*`) : [];
  const items = node.items === undefined ? [] : nodesOf(node.items, `${at}[]`);
  const branches = (node.oneOf ?? []).flatMap((branch) => nodesOf(branch, `${at}|`));
  return [{ at, node }, ...members, ...named, ...items, ...branches];
}

describe("what is published of the schema", () => {
  it("is the schema in force", async () => {
    const text = await schemaText();
    expect(published("sallyport.schema.json", text)).toBe(text);
  });

  it("is the manual that the schema makes", async () => {
    const text = await manualText();
    expect(published("configuration.md", text)).toBe(text);
  });

  it("holds in an editor's validator what it holds here", async () => {
    const editor = new Ajv2020({ strict: false, discriminator: false }).compile(
      JSON.parse(await schemaText()) as object,
    );
    const keys = Object.keys(soundDraft());
    fc.assert(
      fc.property(fc.constantFrom(...keys), fc.jsonValue(), (key, value) => {
        const text = changed([key, value]);
        const formOk = editor(JSON.parse(text));
        // A configuration that loads has the right form; one of the wrong form never loads.
        return formOk || !loadText(text).ok;
      }),
      { numRuns: 300 },
    );
  });
});

describe("the schema", () => {
  const nodes = nodesOf(configSchema);

  it("closes every map: it names its keys or says what each may hold", () => {
    const open = nodes.filter(
      ({ node }) => node.type === "object" && node.oneOf === undefined && node.additionalProperties === undefined,
    );
    expect(open.map(({ at }) => at)).toEqual([]);
  });

  it("bounds every text and every list", () => {
    const unbounded = nodes.filter(
      ({ node }) =>
        (node.type === "string" &&
          node.pattern === undefined &&
          node.maxLength === undefined &&
          node.enum === undefined) ||
        (node.type === "array" && node.maxItems === undefined && node.items?.enum === undefined) ||
        (node.type === "integer" && (node.minimum === undefined || node.maximum === undefined)),
    );
    expect(unbounded.map(({ at }) => at)).toEqual([]);
  });

  it("describes every key", () => {
    const silent = nodes.filter(({ at, node }) => /\.\w+$/u.test(at) && node.description === undefined);
    expect(silent.map(({ at }) => at)).toEqual([]);
  });

  it("has, for every limit, the default that is in force and a range that holds it", () => {
    for (const [name, node] of Object.entries(configSchema.properties?.["limits"]?.properties ?? {})) {
      expect(node.default).toBe(limits[name as keyof typeof limits]);
      expect(node.minimum).toBeLessThanOrEqual(Number(node.default));
      expect(node.maximum).toBeGreaterThanOrEqual(Number(node.default));
    }
  });
});
