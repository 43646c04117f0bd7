import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { quickstartSecrets } from "../../deploy/quickstart/start.ts";
import type { AuditEvent } from "../../src/audit/event.ts";

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

const root = fileURLToPath(new URL("../..", import.meta.url));

function demo(...args: string[]): Promise<Ended> {
  return ended("npm", ["run", "--silent", "demo", "--", ...args]);
}

function sallyport(...args: string[]): Promise<Ended> {
  return ended(process.execPath, ["--import", "tsx", "src/main.ts", ...args]);
}

function ended(command: string, args: readonly string[]): Promise<Ended> {
  const child = spawn(command, args, { cwd: root, env: { ...process.env, ...quickstartSecrets } });
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
  const evidence = /The evidence stays in (\S+)/.exec(out)?.[1] ?? "";
  await namesWhatDiffers(evidence);
  rmSync(dirname(evidence), { recursive: true });
}, 180_000);

/** Of what the demo recorded: a rule less takes exactly its decisions away, and a rule more gives exactly its own. */
async function namesWhatDiffers(evidence: string): Promise<void> {
  const before = readFileSync(join(root, "deploy/quickstart/policies/support.yaml"), "utf8");
  const folder = mkdtempSync(join(tmpdir(), "sallyport-demo-policies-"));
  const less = before.replace(/ {2}- id: support-looks-customers-up\n(?: {4}.*\n)+/u, "");
  const more = `  - id: support-deletes-customers
    effect: allow
    who: { groups: { any: [local:support] } }
    what: { upstream: crm, tool: delete_customer }
`;
  writeFileSync(join(folder, "support.yaml"), `${less}\n${more}`);
  const config = join(dirname(evidence), "sallyport.yaml");
  const diff = await sallyport("policy", "diff", "-c", config, "--to", folder, "--audit", evidence, "--json");
  const { counts, groups } = JSON.parse(diff.out) as {
    counts: Record<string, number>;
    groups: { change: string; principal: { subject: string }; item: string; count: number }[];
  };
  const told = groups.map(({ change, principal, item, count }) => `${change} ${principal.subject} ${item} ${count}`);
  const expected = { ...tally(evidence, "lose", lost), ...tally(evidence, "gain", gained) };
  expect(Object.keys(expected).length).toBeGreaterThan(1);
  expect(told.sort()).toEqual(
    Object.entries(expected)
      .map(([what, count]) => `${what} ${count}`)
      .sort(),
  );
  expect([diff.code, counts["undecidable"], counts["changed"]]).toEqual([1, 0, 0]);
  expect(counts["same"]).toBeGreaterThan(10);
  rmSync(folder, { recursive: true });
}

function lost({ decision }: AuditEvent): boolean {
  return decision?.effect === "allow" && decision.rule === "support-looks-customers-up";
}

/** It was hidden, so no decision is on record but that it was not there. */
function gained({ item, type }: AuditEvent): boolean {
  return item?.name === "delete_customer" && type === "denied";
}

/** How often it was, by person and item; a call leaves two events of one decision. */
function tally(evidence: string, change: string, which: (event: AuditEvent) => boolean): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const line of readFileSync(evidence, "utf8").trim().split("\n")) {
    const event = JSON.parse(line) as AuditEvent;
    if (event.type === "attempted" || !which(event)) continue;
    const what = `${change} ${event.principal?.subject ?? ""} tool ${event.item?.name ?? ""} of ${event.item?.upstream ?? ""}`;
    counts[what] = (counts[what] ?? 0) + 1;
  }
  return counts;
}

it("an option that does not exist is wrong usage", async () => {
  const { code, err } = await demo("--twice");
  expect(code).toBe(2);
  expect(err).toContain("--once");
}, 60_000);
