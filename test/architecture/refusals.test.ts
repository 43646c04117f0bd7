import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { refusalCodes } from "../../src/model/refusal.ts";
import { wireRules } from "../../src/gateway/wire-rules.ts";

const manual = readFileSync(new URL("../../docs/refusals.md", import.meta.url), "utf8");
const sections = [...manual.matchAll(/^### ([A-Z0-9_]+)\n([\s\S]*?)(?=^##|\n*$(?![\s\S]))/gm)].map(
  ([, code = "", text = ""]) => ({ code, text }),
);

describe("docs/refusals.md and the refusal codes agree", () => {
  it("every code has one section, in the order of the list, and no section names a code that does not exist", () => {
    expect(sections.map(({ code }) => code)).toEqual([...refusalCodes]);
  });

  it.each(sections)("$code says its cause, what the caller sees and what an operator does", ({ code, text }) => {
    expect(text).toMatch(/\*\*Cause\.\*\* \S/);
    expect(text).toMatch(/\*\*Caller sees\.\*\* \S/);
    expect(text).toMatch(/\*\*Operator\.\*\* \S/);
    const rule = wireRules[code as keyof typeof wireRules];
    expect(text).toContain(String(rule.status));
    expect(text).toContain(String(rule.rpcCode));
    expect(text).toContain(rule.text);
  });
});
