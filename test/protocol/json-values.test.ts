import { describe, expect, it } from "vitest";
import { limits } from "../../src/model/limits.ts";
import { parseJsonText } from "../../src/protocol/json/parse.ts";

const refusalOf = (text: string, jsonValuesMax = 10): string => {
  const parsed = parseJsonText(text, { ...limits, jsonValuesMax });
  return parsed.ok ? "none" : parsed.refusal.code;
};

describe("a text is refused as JSON_TOO_MANY_VALUES", () => {
  it.each([
    ["an array within the bound", `[${"1,".repeat(9)}1]`, "none"],
    ["an array of one more", `[${"1,".repeat(10)}1]`, "JSON_TOO_MANY_VALUES"],
    ["empty arrays, which cost three characters each", `[${"[],".repeat(10)}[]]`, "JSON_TOO_MANY_VALUES"],
    ["members of many small objects together", `[${'{"a":1,"b":2},'.repeat(6)}{}]`, "JSON_TOO_MANY_VALUES"],
    ["commas inside a string are no values", `["${",".repeat(50)}"]`, "none"],
  ])("%s", (_what, text, code) => {
    expect(refusalOf(text)).toBe(code);
  });

  it("at the bound every installation has, before anything is built", () => {
    expect(refusalOf(`[${"[],".repeat(limits.jsonValuesMax)}[]]`, limits.jsonValuesMax)).toBe("JSON_TOO_MANY_VALUES");
    expect(refusalOf(`[${"0,".repeat(limits.jsonValuesMax - 1)}0]`, limits.jsonValuesMax)).toBe("none");
  });
});
