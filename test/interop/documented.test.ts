import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

interface Package {
  readonly devDependencies: Readonly<Record<string, string>>;
}

const root = new URL("../../", import.meta.url);
const manual = readFileSync(new URL("docs/compatibility.md", root), "utf8");
const { devDependencies } = JSON.parse(readFileSync(new URL("package.json", root), "utf8")) as Package;

describe("the compatibility page", () => {
  it.each([
    ...["sdk", "client", "server", "server-everything"].map((name) => `@modelcontextprotocol/${name}`),
    "mcp-remote",
  ])("names the version of %s that these tests run", (full) => {
    const lines = manual.split("\n").filter((line) => line.includes(`\`${full}\``) && line.startsWith("|"));
    expect(lines.length).toBeGreaterThan(0);
    for (const line of lines) expect(line).toContain(` ${devDependencies[full] ?? "absent"} `);
  });
});
