import { appendFile, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createJsonLinesSink } from "../../src/audit/sinks/json-lines.ts";
import { readJsonLines } from "../../src/audit/sinks/read-json-lines.ts";
import { chainHead, verifyChain } from "../../src/audit/verify.ts";
import { draft, recorderOn } from "./sinks-under-test.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sallyport-audit-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function runOn(path: string, count: number, sync: "batch" | "none" = "none"): Promise<void> {
  const head = await chainHead(readJsonLines(path), "replica-1").catch(() => undefined);
  const sink = await createJsonLinesSink({ path, sync });
  const { recorder } = recorderOn([{ sink, required: true }], head === undefined ? {} : { resume: head });
  for (let n = 1; n <= count; n += 1) recorder.record(draft(n));
  expect(await recorder.settled()).toBe(true);
  await recorder.close();
}

async function collect(lines: AsyncIterable<string>): Promise<string[]> {
  const collected: string[] = [];
  for await (const line of lines) collected.push(line);
  return collected;
}

describe("the JSON Lines file", () => {
  it.each(["batch", "none"] as const)("with sync %s is appended to across runs, as one chain", async (sync) => {
    const path = join(folder, `runs-${sync}.jsonl`);
    await runOn(path, 700, sync);
    await runOn(path, 3, sync);
    expect(await verifyChain(readJsonLines(path))).toMatchObject({ ok: true, lines: 703, replicas: [{ starts: [1] }] });
    expect((await readFile(path, "utf8")).endsWith("}\n")).toBe(true);
  });

  it("is created for its owner alone, and keeps the mode it has", async () => {
    const path = join(folder, "mode.jsonl");
    await runOn(path, 1);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    const existing = join(folder, "existing.jsonl");
    await writeFile(existing, "", { mode: 0o640 });
    await runOn(existing, 1);
    expect((await stat(existing)).mode & 0o777).toBe(0o640);
  });

  it("that a crash left within a line loses that line and no other", async () => {
    const path = join(folder, "torn.jsonl");
    await runOn(path, 3);
    const whole = await readFile(path, "utf8");
    await writeFile(path, `${whole}{"hash":"abc`);
    await runOn(path, 2);
    const report = await verifyChain(readJsonLines(path));
    expect(report.faults.map(({ kind, line }) => [kind, line])).toEqual([["torn", 4]]);
    expect(report.replicas[0]).toMatchObject({ events: 5, head: { seq: 5 } });
  });

  it("that cannot be opened is a failure at the start", async () => {
    await expect(createJsonLinesSink({ path: join(folder, "no", "folder"), sync: "none" })).rejects.toThrow(/ENOENT/u);
  });

  it("on a full disk fails the record, which is what a device without room shows", async () => {
    const sink = await createJsonLinesSink({ path: "/dev/full", sync: "none" });
    const { recorder } = recorderOn([{ sink, required: true }]);
    recorder.record(draft(1));
    expect(await recorder.settled()).toBe(false);
    expect(recorder.record(draft(2))).toBe(false);
    await recorder.close();
  });
});

describe("reading the file", () => {
  it("skips empty lines, yields a last line without its break, and cuts what is too long", async () => {
    const path = join(folder, "read.jsonl");
    await writeFile(path, `one\n\n${"x".repeat(50)}\nlast`);
    expect(await collect(readJsonLines(path, { lineCharsMax: 10 }))).toEqual(["one", "x".repeat(10), "last"]);
  });

  it("holds no more than one line's bound of a line without end", async () => {
    const path = join(folder, "endless.jsonl");
    await writeFile(path, "");
    for (let n = 0; n < 4; n += 1) await appendFile(path, "y".repeat(200_000));
    await appendFile(path, "\nnext\n");
    expect(await collect(readJsonLines(path, { lineCharsMax: 100 }))).toEqual(["y".repeat(100), "next"]);
  });

  it("from the tail begins at the first whole line", async () => {
    const path = join(folder, "tail.jsonl");
    await writeFile(path, "éléphant\nsecond\nthird\n");
    expect(await collect(readJsonLines(path, { tailBytes: 15 }))).toEqual(["second", "third"]);
    expect(await collect(readJsonLines(path, { tailBytes: 8 }))).toEqual(["third"]);
    expect(await collect(readJsonLines(path, { tailBytes: 1_000 }))).toEqual(["éléphant", "second", "third"]);
  });
});
