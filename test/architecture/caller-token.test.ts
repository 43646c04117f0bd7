import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { inspect } from "node:util";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { CallerToken } from "../../src/model/caller-token.ts";

const src = fileURLToPath(new URL("../../src", import.meta.url));

/** Files whose text matches. */
function filesWith(pattern: RegExp): string[] {
  return readdirSync(src, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && pattern.test(readFileSync(join(src, file), "utf8")))
    .sort();
}

describe("the caller's token", () => {
  it("is opened by token exchange alone", () => {
    expect(filesWith(/\brevealForExchange\b/)).toEqual([
      "model/caller-token.ts",
      "upstream/credentials/token-exchange.ts",
    ]);
  });

  it("is taken where it was verified, and handed to the account alone", () => {
    expect(filesWith(/new CallerToken\(/)).toEqual(["gateway/steps/authenticate.ts"]);
    expect(filesWith(/\.callerToken\b/)).toEqual(["gateway/account-of.ts", "gateway/steps/authenticate.ts"]);
  });

  it.each([
    ["JSON", (token: unknown): string => JSON.stringify({ token })],
    ["a string", String],
    ["a template", (token: unknown): string => `a ${token as string}`],
    ["inspection", (token: unknown): string => inspect({ deep: { token } }, { depth: 9, showHidden: true })],
    ["its own keys", (token: unknown): string => JSON.stringify(Object.entries(token as object))],
  ])("does not show as %s", (_name, print) => {
    const token = new CallerToken("canary");
    expect(print(token)).not.toContain("canary");
    expect(token.revealForExchange()).toBe("canary");
  });
});
