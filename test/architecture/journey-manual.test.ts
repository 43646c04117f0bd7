import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { columns, journey } from "../../src/gateway/journey.ts";

it("the manual shows the journey's steps and columns as they are", () => {
  const manual = readFileSync(new URL("../../docs/architecture.md", import.meta.url), "utf8");
  const shown = manual.split("\n").flatMap((line) => {
    const [, name, marks] = /^(\w+)\s+((?:[x.]\s+){10}[x.])(?:\s|$)/u.exec(line) ?? [];
    return name === undefined || marks === undefined ? [] : [[name, ...marks.split(/\s+/u)]];
  });
  const rows = journey.map(({ step, columns: own }) => [
    step.name,
    ...columns.map((column) => (own.has(column) ? "x" : ".")),
  ]);
  expect(shown).toEqual(rows);
});
