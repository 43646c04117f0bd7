import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const bench = join(import.meta.dirname, "bench.ts");

it("the bench answers every request it sends and prints one figure per bar as JSON", { timeout: 120_000 }, async () => {
  const args = [
    "--import",
    "tsx",
    bench,
    "--json",
    "--only",
    "P1",
    "--only",
    "P2",
    "--rounds",
    "1",
    "--requests",
    "40",
  ];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  const figures = JSON.parse(stdout) as Record<string, Record<string, unknown>>;
  expect(Object.keys(figures)).toEqual(["P1", "P2"]);
  for (const figure of Object.values(figures)) {
    const number = expect.any(Number) as number;
    expect(figure).toMatchObject({ ratio: number, min: number, max: number, bar: number });
    expect(figure["ok"]).toBe(Number(figure["ratio"]) <= Number(figure["bar"]));
  }
});
