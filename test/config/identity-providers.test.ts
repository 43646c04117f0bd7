import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { issuerProfileNames } from "../../src/model/issuer-profile.ts";
import { changed, loadText } from "./load-text.ts";

const manual = readFileSync(new URL("../../docs/identity-providers.md", import.meta.url), "utf8");
const examples = [...manual.matchAll(/^## (.+)\n[\s\S]*?```yaml\n([\s\S]*?)```/gm)].map(
  ([, title = "", text = ""]) => ({
    title,
    text: text.replaceAll("env:PING_SECRET", "env:SECRET").replaceAll(/file:\/[^}]*ca\.crt/g, "env:PEM"),
  }),
);

describe("the page on identity providers", () => {
  it.each(examples)("shows for $title what loads, without a warning", ({ text }) => {
    const loaded = loadText(
      changed(["auth", (parse(text) as { auth: unknown }).auth], ["servers", { crm: { upstreams: { crm: {} } } }]),
    );
    expect(loaded.ok ? loaded.warnings : loaded.faults).toEqual([]);
  });

  it("shows every profile, and names each in its table", () => {
    const shown = examples.map(({ text }) => /profile: (\w+)/.exec(text)?.[1] ?? "generic");
    expect(new Set(shown)).toEqual(new Set(issuerProfileNames));
    for (const name of issuerProfileNames) expect(manual).toMatch(new RegExp(`^\\| \`${name}\` `, "m"));
  });
});
