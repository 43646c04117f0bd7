import { expect, it } from "vitest";
import { failureLines } from "../../src/cli/failure-lines.ts";
import { StartRefused } from "../../src/model/start-refused.ts";

it("a refusal to start is said in full, a library's failure without what looks like a credential", () => {
  expect(failureLines(new StartRefused(["one", "two"]))).toEqual(["one", "two"]);
  const lines = failureLines(new TypeError("connect redis://:hush-hush@127.0.0.1:6379 failed"));
  expect(lines[0]).toMatch(/^TypeError: connect redis:\/\/.*@127\.0\.0\.1:6379 failed$/u);
  expect(lines[0]).not.toContain("hush-hush");
  expect(failureLines("hush-hush")).toEqual(["unknown failure"]);
});
