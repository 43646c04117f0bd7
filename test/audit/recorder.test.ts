import { describe, expect, it } from "vitest";
import { verifyChain } from "../../src/audit/verify.ts";
import { ExactNumber } from "../../src/model/json.ts";
import { digests, draft, recorderOn, scriptedSink, until } from "./sinks-under-test.ts";

describe("what is recorded", () => {
  it("arrives in order, numbered from 1, stamped, and chained", async () => {
    const sink = scriptedSink();
    const { recorder } = recorderOn([{ sink, required: true }]);
    for (let n = 1; n <= 1_200; n += 1) expect(recorder.record(draft(n))).toBe(true);
    await recorder.close();
    expect(sink.written.map(({ seq }) => seq)).toEqual(Array.from({ length: 1_200 }, (_, n) => n + 1));
    expect(sink.written[0]).toMatchObject({
      v: 1,
      at: "2026-11-29T12:00:00.000Z",
      replica: "replica-1",
      digests,
      ref: "REF0000001",
      prev: "0".repeat(64),
    });
    expect(sink.written[1]?.prev).toBe(sink.written[0]?.hash);
    expect(await verifyChain(sink.lines)).toMatchObject({ ok: true, lines: 1_200 });
  });

  it("carries time and digests of when it was recorded, not of when it was written", async () => {
    const sink = scriptedSink();
    let now = 1_000;
    let policy = "p1";
    const { recorder } = recorderOn([{ sink, required: true }], {
      now: () => now,
      digests: () => ({ ...digests, policy }),
    });
    recorder.record(draft(1));
    now = 2_000;
    policy = "p2";
    recorder.record(draft(2));
    await recorder.close();
    expect(sink.written.map((event) => [event.at, event.digests.policy])).toEqual([
      ["1970-01-01T00:00:01.000Z", "p1"],
      ["1970-01-01T00:00:02.000Z", "p2"],
    ]);
  });

  it("reaches every sink as one chain", async () => {
    const [file, redis] = [scriptedSink("file"), scriptedSink("redis")];
    const { recorder } = recorderOn([
      { sink: file, required: true },
      { sink: redis, required: false },
    ]);
    for (let n = 1; n <= 10; n += 1) recorder.record(draft(n));
    await recorder.close();
    expect(file.written.map(({ hash }) => hash)).toEqual(redis.written.map(({ hash }) => hash));
    expect([file.closed, redis.closed]).toEqual([true, true]);
  });

  it("continues the chain of an earlier run", async () => {
    const [first, second] = [scriptedSink(), scriptedSink()];
    const earlier = recorderOn([{ sink: first, required: true }]).recorder;
    earlier.record(draft(1));
    await earlier.close();
    const { seq, hash } = first.written[0]!;
    const later = recorderOn([{ sink: second, required: true }], { resume: { seq, hash } }).recorder;
    later.record(draft(2));
    await later.close();
    expect(second.written[0]).toMatchObject({ seq: 2, prev: hash });
    expect(await verifyChain([...first.lines, ...second.lines])).toMatchObject({ ok: true });
  });

  it("keeps an exact number's digits, and text that no UTF-8 can carry breaks no line", async () => {
    const sink = scriptedSink();
    const { recorder } = recorderOn([{ sink, required: true }]);
    recorder.record(draft(1, { read: { "/id": new ExactNumber("9007199254740993") } }));
    recorder.record(draft(2, { exposedName: "half \ud83d\nanother line" }));
    await recorder.close();
    const lines = sink.lines;
    expect(lines[0]).toContain('"/id":9007199254740993');
    expect(lines[1]).not.toContain("\n");
    expect(await verifyChain(lines)).toMatchObject({ ok: true, lines: 2 });
  });

  it("stays within its bound: content goes first, then all but what the event is", async () => {
    const sink = scriptedSink();
    const { recorder } = recorderOn([{ sink, required: true }], { eventBytesMax: 1_000 });
    recorder.record(draft(1, { read: { "/text": "x".repeat(900) }, server: "support" }));
    recorder.record(draft(2, { exposedName: "x".repeat(2_000), server: "support" }));
    recorder.record(draft(3, { read: { "/text": "x".repeat(100) } }));
    await recorder.close();
    expect(sink.written[0]).toMatchObject({ server: "support", shortened: ["read", "findings"] });
    expect(sink.written[0]).not.toHaveProperty("read");
    expect(sink.written[1]).toMatchObject({ ref: "REF0000002", type: "attempted", tenant: "acme" });
    expect(sink.written[1]).not.toHaveProperty("exposedName");
    expect(sink.written[2]).not.toHaveProperty("shortened");
    for (const line of sink.lines) expect(Buffer.byteLength(line)).toBeLessThanOrEqual(1_000 + 80);
  });
});

describe("settled", () => {
  it("resolves true only after what was recorded before is written", async () => {
    const sink = scriptedSink();
    const { recorder } = recorderOn([{ sink, required: true }], { flushMs: 100_000 });
    sink.behave("hang");
    recorder.record(draft(1));
    let settled: boolean | undefined;
    const waiting = recorder.settled().then((value) => {
      settled = value;
    });
    await until(() => sink.batches.length === 1);
    expect(settled).toBeUndefined();
    sink.release();
    await waiting;
    expect(settled).toBe(true);
    expect(sink.written).toHaveLength(1);
    sink.behave("write");
    await recorder.close();
  });

  it("waits for no flush timer, and callers of one turn share a write", async () => {
    const sink = scriptedSink();
    const { recorder } = recorderOn([{ sink, required: true }], { flushMs: 100_000 });
    const settled = await Promise.all(
      Array.from({ length: 20 }, (_, n) => {
        recorder.record(draft(n));
        return recorder.settled();
      }),
    );
    expect(settled.every(Boolean)).toBe(true);
    expect(sink.batches).toEqual([20]);
    await recorder.close();
  });

  it("is true at once where no sink is required, however the sinks fare", async () => {
    const sink = scriptedSink();
    sink.behave("hang");
    const { recorder } = recorderOn([{ sink, required: false }], { writeTimeoutMs: 5 });
    expect(recorder.record(draft(1))).toBe(true);
    expect(await recorder.settled()).toBe(true);
    await recorder.close();
  });
});

describe("a required sink", () => {
  it("that rejects makes settled and record false, and both true again once it writes; nothing is missing", async () => {
    const sink = scriptedSink();
    const { recorder, lost } = recorderOn([{ sink, required: true }]);
    sink.behave("reject");
    expect(recorder.record(draft(1))).toBe(true);
    expect(await recorder.settled()).toBe(false);
    expect(recorder.record(draft(2))).toBe(false);
    expect(await recorder.settled()).toBe(false);
    sink.behave("write");
    await until(() => sink.written.length === 2);
    expect(recorder.record(draft(3))).toBe(true);
    expect(await recorder.settled()).toBe(true);
    expect(sink.written.map(({ ref }) => ref)).toEqual(["REF0000001", "REF0000002", "REF0000003"]);
    expect(lost.size).toBe(0);
    await recorder.close();
  });

  it("that takes too long counts as failing, is not written to twice at once, and recovers", async () => {
    const sink = scriptedSink();
    const { recorder } = recorderOn([{ sink, required: true }], { writeTimeoutMs: 10 });
    sink.behave("hang");
    recorder.record(draft(1));
    expect(await recorder.settled()).toBe(false);
    expect(recorder.record(draft(2))).toBe(false);
    await new Promise((resume) => setTimeout(resume, 30));
    expect(sink.batches).toEqual([1]);
    sink.behave("write");
    sink.release();
    await until(() => sink.written.length === 2);
    expect(recorder.record(draft(3))).toBe(true);
    await recorder.close();
    expect(await verifyChain(sink.lines)).toMatchObject({ ok: true, lines: 3 });
  });

  it("that is full refuses what it has no room for, counts it, and says so in the chain once it writes", async () => {
    const sink = scriptedSink();
    const { recorder, lost } = recorderOn([{ sink, required: true }], { queueMax: 3 });
    sink.behave("hang");
    expect([1, 2, 3, 4, 5].map((n) => recorder.record(draft(n)))).toEqual([true, true, true, false, false]);
    expect(recorder.depth()).toBe(3);
    await until(() => sink.batches.length > 0 && lost.get("scripted") === 2);
    sink.behave("write");
    sink.release();
    await until(() => sink.written.length === 4);
    expect(sink.written[3]).toMatchObject({ type: "administration", tenant: "", loss: { sink: "scripted", count: 2 } });
    await recorder.close();
    // What was refused never entered the chain: there is no gap, and the loss is on record.
    expect(await verifyChain(sink.lines)).toMatchObject({ ok: true, replicas: [{ lost: 2 }] });
  });

  it("keeps an event out of every sink when it has no room itself", async () => {
    const [required, other] = [scriptedSink("required"), scriptedSink("other")];
    const { recorder } = recorderOn(
      [
        { sink: required, required: true },
        { sink: other, required: false },
      ],
      { queueMax: 1, flushMs: 100_000 },
    );
    recorder.record(draft(1));
    expect(recorder.record(draft(2))).toBe(false);
    await recorder.close();
    expect(other.written.map(({ ref }) => ref)).toEqual(["REF0000001"]);
  });
});

describe("a best-effort sink", () => {
  it("that is down never makes record false; its gap shows, and its loss is on record", async () => {
    const [file, redis] = [scriptedSink("file"), scriptedSink("redis")];
    const { recorder, lost } = recorderOn(
      [
        { sink: file, required: true },
        { sink: redis, required: false },
      ],
      { queueMax: 5 },
    );
    redis.behave("reject");
    for (let n = 1; n <= 12; n += 1) {
      expect(recorder.record(draft(n))).toBe(true);
      expect(await recorder.settled()).toBe(true);
    }
    await until(() => lost.get("redis") === 7);
    redis.behave("write");
    await until(() => redis.written.some(({ type }) => type === "administration"));
    await recorder.close();
    expect(await verifyChain(file.lines)).toMatchObject({ ok: true, replicas: [{ lost: 7 }] });
    const report = await verifyChain(redis.lines);
    expect(report.faults).toMatchObject([{ kind: "gap", seq: 13, expectedSeq: 6 }]);
    expect(report.replicas[0]?.lost).toBe(7);
  });
});

describe("losses", () => {
  it("are counted together, not one by one, and none is left out", async () => {
    const sink = scriptedSink();
    const counts: number[] = [];
    const onLoss = (_: string, count: number): void => {
      counts.push(count);
    };
    const { recorder } = recorderOn([{ sink, required: true }], {
      queueMax: 1,
      retryMs: 100_000,
      writeTimeoutMs: 5,
      onLoss,
    });
    sink.behave("hang");
    for (let n = 0; n < 1_001; n += 1) recorder.record(draft(n));
    expect(counts).toEqual([]);
    await recorder.close();
    // The one that was queued is lost with its sink.
    expect(counts).toEqual([1_001]);
  });
});

describe("close", () => {
  it("writes what waits, closes the sinks, and takes no more", async () => {
    const sink = scriptedSink();
    const { recorder } = recorderOn([{ sink, required: true }], { flushMs: 100_000 });
    recorder.record(draft(1));
    await recorder.close();
    await recorder.close();
    expect(sink.written).toHaveLength(1);
    expect(sink.closed).toBe(true);
    expect(recorder.record(draft(2))).toBe(false);
    expect(await recorder.settled()).toBe(true);
  });

  it("does not wait for ever, and counts what it could not write", async () => {
    const sink = scriptedSink();
    const { recorder, lost } = recorderOn([{ sink, required: true }], { writeTimeoutMs: 10 });
    sink.behave("hang");
    recorder.record(draft(1));
    recorder.record(draft(2));
    await recorder.close();
    expect(lost.get("scripted")).toBe(2);
    expect(sink.closed).toBe(true);
  });
});

describe("what must be kept everywhere", () => {
  it.each<[string, "write" | "reject", number, boolean]>([
    ["every sink has written it", "write", 100, true],
    ["a best-effort sink fails", "reject", 100, false],
    ["a best-effort sink has no room", "write", 1, false],
  ])("is told apart: %s", async (_when, how, queueMax, kept) => {
    const best = scriptedSink("best");
    const { recorder } = recorderOn([{ sink: best, required: false }], { queueMax });
    best.behave(how);
    recorder.record(draft(1));
    if (queueMax === 1) recorder.record(draft(2));
    expect(await recorder.settledEverywhere()).toBe(kept);
    expect(await recorder.settled()).toBe(true);
    best.behave("write");
    await recorder.close();
  });

  it("is not where there is no sink", async () => {
    const { recorder } = recorderOn([]);
    expect(await recorder.settledEverywhere()).toBe(false);
    await recorder.close();
  });
});
