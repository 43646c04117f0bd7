import { parseArgs } from "node:util";
import { takeFigures } from "./figures.ts";
import type { Figure } from "./figures.ts";

// `npm run bench`: every figure in a table. `-- --quick --json`: fewer rounds, one JSON object.
// `--only P1` takes one figure; `--cpu-prof DIR` writes a profile of the gateway there.
const { values } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    only: { type: "string", multiple: true, default: [] },
    rounds: { type: "string" },
    requests: { type: "string" },
    "cpu-prof": { type: "string" },
  },
});

const profile = values["cpu-prof"];
const figures = await takeFigures({
  rounds: Number(values.rounds ?? (values.quick ? 5 : 11)),
  requests: Number(values.requests ?? (values.quick ? 700 : 4_000)),
  warmUp: Math.min(Number(values.requests ?? Infinity), values.quick ? 4_000 : 15_000),
  only: values.only,
  gatewayArgs: profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profile}`],
});
process.stdout.write(values.json ? `${JSON.stringify(figures)}\n` : table(figures));

function table(taken: Record<string, Figure>): string {
  const rows = Object.entries(taken).map(([name, { what, bar, ratio, min, max, us, ok }]) => [
    name,
    what,
    `≤ ${bar.toFixed(2)}`,
    ratio.toFixed(2),
    `${min.toFixed(2)}–${max.toFixed(2)}`,
    `${us[0].toFixed(0)} : ${us[1].toFixed(0)}`,
    ok ? "met" : "MISSED",
  ]);
  const cells = [["", "figure", "bar", "median", "spread", "CPU µs", ""], ...rows];
  const widths = cells[0]?.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0))) ?? [];
  return cells.map((row) => `${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ")}\n`).join("");
}
