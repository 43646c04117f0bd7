import { describe, expect, it } from "vitest";
import { hasLookAlike } from "../../src/protocol/look-alike.ts";

describe("a member that a lax reader takes for one that is judged", () => {
  it.each([
    "NAME",
    "Name",
    "name\0",
    "name\0x",
    "Arguments",
    "argument\u017f",
    "URI",
    "_META",
    "TaskId",
    "requeststate",
    "Cursor",
  ])("%j is one, at the top and in a reference", (key) => {
    expect(hasLookAlike({ name: "a", [key]: "b" })).toBe(true);
    expect(hasLookAlike({ ref: { type: "ref/prompt", name: "a", [key]: "b" } })).toBe(true);
  });

  it.each(["name", "arguments", "_meta", "nam", "names", "title", "Title", "", "\0", "its.own/Name"])(
    "%j is none",
    (key) => {
      expect(hasLookAlike({ uri: "a", [key]: "b" })).toBe(false);
    },
  );

  it("is not looked for in a tool's arguments, which may be `name` and `Name`", () => {
    expect(hasLookAlike({ name: "a", arguments: { name: 1, Name: 2 } })).toBe(false);
  });
});
