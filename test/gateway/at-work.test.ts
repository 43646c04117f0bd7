import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createAtWork } from "../../src/gateway/at-work.ts";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

describe("who stops", () => {
  it("waits for nothing where nothing is at work", async () => {
    await expect(createAtWork().done(1_000)).resolves.toBeUndefined();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("waits for the last work, and leaves no timer", async () => {
    const atWork = createAtWork();
    atWork.begin();
    atWork.begin();
    let over = false;
    const done = atWork.done(1_000).then(() => (over = true));
    atWork.end();
    await vi.advanceTimersByTimeAsync(0);
    expect(over).toBe(false);
    atWork.end();
    await done;
    expect(vi.getTimerCount()).toBe(0);
  });

  it("waits no longer than it may", async () => {
    const atWork = createAtWork();
    atWork.begin();
    let over = false;
    void atWork.done(1_000).then(() => (over = true));
    await vi.advanceTimersByTimeAsync(999);
    expect(over).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(over).toBe(true);
  });
});
