import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

const root = fileURLToPath(new URL("../..", import.meta.url));

function demo(...args: string[]): Promise<Ended> {
  const child = spawn("npm", ["run", "--silent", "demo", "--", ...args], { cwd: root });
  const said = { out: "", err: "" };
  child.stdout.on("data", (chunk: Buffer) => (said.out += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (said.err += chunk.toString()));
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => {
      resolve({ code, ...said });
    });
  });
}

const headings = [
  "Signing in, knowing nothing but the server's URL",
  "What each of them sees",
  "A call that works",
  "A call whose arguments are refused",
  "A call that policy refuses",
  "A step-up",
  "A hidden tool is answered like one that does not exist",
  "Hostile text is removed, and what it said is kept as evidence",
  "A result that breaks the tool's own schema is withheld",
  "A tool that changes its definition leaves a trace",
  "The evidence holds together, and no token went on",
];

it("the demo tells its whole story, quotes evidence in each chapter about a call, and ends with 0", async () => {
  const { code, out, err } = await demo("--once", "--free-ports");
  expect({ code, err: err.includes("differs") }).toEqual({ code: 0, err: false });
  const chapters = out.split(/\n\d+\. /).slice(1);
  expect(chapters.map((chapter) => chapter.split("\n", 1)[0])).toEqual(headings);
  for (const chapter of chapters.slice(2, 10)) {
    const ref = /by its reference ([0-9A-Z]{10}):\n {3}\| \d{4}-/.exec(chapter)?.[1];
    expect(ref, chapter).toBeDefined();
  }
  for (const chapter of chapters) expect(chapter).toMatch(/\n {3}ok: /);
  expect(out).toContain("Every step came out as told.");
}, 180_000);

it("an option that does not exist is wrong usage", async () => {
  const { code, err } = await demo("--twice");
  expect(code).toBe(2);
  expect(err).toContain("--once");
}, 60_000);
