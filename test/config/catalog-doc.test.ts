import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { loadPresentations } from "../../src/cli/load-presentations.ts";
import { loadText, soundDraft, type Draft } from "./load-text.ts";

const manual = readFileSync(join(import.meta.dirname, "../../docs/catalog.md"), "utf8");
const examples = [...manual.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, text = ""]) => text);

/** An example says what is different from a configuration that works. Its secrets are whatever the reader has. */
function configured(example: string): string {
  const draft = soundDraft();
  const said = parse(example.replaceAll(/\$\{env:\w+\}/g, "${env:SECRET}")) as Draft;
  const upstreams = { ...(draft["upstreams"] as Draft), ...(said["upstreams"] as Draft | undefined) };
  return JSON.stringify({ ...draft, ...said, upstreams });
}

describe("the examples of the manual's page on catalogs", () => {
  it("are there", () => {
    expect(examples.length).toBeGreaterThan(4);
  });

  it.each(examples)("load: %s", (example) => {
    const loaded = loadText(configured(example));
    expect(loaded.ok ? [] : loaded.faults).toEqual([]);
    if (loaded.ok) expect(loadPresentations(loaded.config)).toMatchObject({ ok: true });
  });
});
