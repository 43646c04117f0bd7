import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { serve, type RunningGateway, type ServeRim } from "../../src/cli/serve.ts";
import { captured, env, folderOf, soundConfig, soundPolicy, type Captured } from "./workspace.ts";

interface Rim extends ServeRim {
  readonly codes: number[];
  readonly stop: () => void;
  readonly hangUp: () => void;
  readonly reloads: () => number;
  readonly timers: { ms: number; then: () => void }[];
  readonly started: string[];
}

function rimOf(drain: () => Promise<void>): Rim {
  const codes: number[] = [];
  const timers: { ms: number; then: () => void }[] = [];
  const started: string[] = [];
  let stop = (): void => undefined;
  let hangUp = (): void => undefined;
  let reloads = 0;
  const reload = (): Promise<void> => {
    reloads += 1;
    return Promise.resolve();
  };
  const gateway: RunningGateway = { addresses: { public: "http://a", operations: "http://b" }, drain, reload };
  return {
    codes,
    timers,
    started,
    stop: () => {
      stop();
    },
    hangUp: () => {
      hangUp();
    },
    reloads: () => reloads,
    start: (loaded) => {
      started.push(loaded.config.publicUrl);
      return Promise.resolve(gateway);
    },
    onStopSignal: (then) => {
      stop = then;
    },
    onReloadSignal: (then) => {
      hangUp = then;
    },
    exit: (code) => void codes.push(code),
    after: (ms, then) => void timers.push({ ms, then }),
  };
}

async function served(
  rim: Rim,
  text = `${soundConfig}limits: { drainMs: 3000 }\n`,
): Promise<{ code: number | undefined; output: Captured }> {
  const output = captured();
  const folder = folderOf({ "sallyport.yaml": text, "policies/support.yaml": soundPolicy });
  return { code: await serve(join(folder, "sallyport.yaml"), env, output, rim), output };
}

const never = (): Promise<void> => new Promise(() => undefined);
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("sallyport serve", () => {
  it("starts what the file configures, and says where it listens", async () => {
    const rim = rimOf(never);
    const { code, output } = await served(rim);
    expect(code).toBeUndefined();
    expect(rim.started).toEqual(["https://mcp.example.com"]);
    expect(output.stdout).toEqual(["Serving on http://a, operations on http://b"]);
  });

  it("starts nothing when the file has a fault", async () => {
    const rim = rimOf(never);
    const { code, output } = await served(rim, `${soundConfig}nonsense: 1\n`);
    expect([code, rim.started]).toEqual([1, []]);
    expect(output.stderr.join("\n")).toContain("nonsense");
  });

  it("leaves broken policies to the gateway, which may have better ones", async () => {
    const rim = rimOf(never);
    const folder = folderOf({ "sallyport.yaml": soundConfig, "policies/support.yaml": "rules: 1" });
    expect(await serve(join(folder, "sallyport.yaml"), env, captured(), rim)).toBeUndefined();
    expect(rim.started).toEqual(["https://mcp.example.com"]);
  });

  it("reads policies anew at each hang-up, and goes on", async () => {
    const rim = rimOf(never);
    await served(rim);
    rim.hangUp();
    rim.hangUp();
    expect([rim.reloads(), rim.codes]).toEqual([2, []]);
  });

  it("drains on the first signal and exits with 0 once it has", async () => {
    let drained = (): void => undefined;
    const rim = rimOf(() => new Promise((resolve) => (drained = resolve)));
    await served(rim);
    rim.stop();
    await settled();
    expect(rim.codes).toEqual([]);
    drained();
    await settled();
    expect(rim.codes).toEqual([0]);
  });

  it("exits at once with 1 on the second signal", async () => {
    const rim = rimOf(never);
    await served(rim);
    rim.stop();
    expect(rim.codes).toEqual([]);
    rim.stop();
    expect(rim.codes).toEqual([1]);
  });

  it("exits with 1 when draining takes longer than it may, and not before", async () => {
    const rim = rimOf(never);
    await served(rim);
    expect(rim.timers).toEqual([]);
    rim.stop();
    expect(rim.timers.map(({ ms }) => ms)).toEqual([4_000]);
    rim.timers[0]?.then();
    expect(rim.codes).toEqual([1]);
  });

  it("exits with 1 when draining fails", async () => {
    const rim = rimOf(() => Promise.reject(new Error("secret detail")));
    const { output } = await served(rim);
    rim.stop();
    await settled();
    expect(rim.codes).toEqual([1]);
    expect(output.stderr.join("\n")).not.toContain("secret");
  });
});
