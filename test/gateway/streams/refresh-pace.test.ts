import { describe, expect, it } from "vitest";
import { stepped, unhurried, waitMs } from "../../../src/gateway/streams/refresh-pace.ts";
import { limits } from "../../../src/model/limits.ts";

describe("the pace of readings that an upstream provokes", () => {
  it("is prompt for a quiet upstream, doubles for one that goes on, and never exceeds its most", () => {
    let [pace, now] = [unhurried, 1_000_000];
    const pauses: number[] = [];
    for (let reading = 0; reading < 40; reading += 1) {
      const wait = waitMs(pace, now, limits);
      pauses.push(wait);
      now += wait;
      pace = stepped(pace, now, limits);
    }
    expect(pauses.slice(0, 6)).toEqual([250, 250, 250, 250, 250, 1_000]);
    expect(pauses.slice(6, 12)).toEqual([2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
    expect(Math.max(...pauses)).toBe(30_000);
  });

  it("counts from the last reading, so what was waited meanwhile counts", () => {
    const pace = { lastAt: 10_000, streak: 7 };
    expect([10_000, 13_000, 13_750, 60_000].map((now) => waitMs(pace, now, limits))).toEqual([4_000, 1_000, 250, 250]);
  });

  it("begins anew after a calm time, and not before", () => {
    const pace = { lastAt: 10_000, streak: 5 };
    expect(stepped(pace, 10_000 + limits.catalogRefreshCalmMs, limits).streak).toBe(6);
    expect(stepped(pace, 10_001 + limits.catalogRefreshCalmMs, limits).streak).toBe(1);
  });
});
