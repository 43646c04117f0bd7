import { describe, expect, it } from "vitest";
import { ok } from "../../src/model/result.ts";
import type { HeldSession, LegacySessions } from "../../src/upstream/legacy-sessions.ts";
import type { Link } from "../../src/upstream/link.ts";
import type { WatchState } from "../../src/upstream/port.ts";
import type { Attempt } from "../../src/upstream/watch-attempt.ts";
import { createLegacyMemory, hearLegacy } from "../../src/upstream/watch-legacy.ts";
import { listenModern } from "../../src/upstream/watch-modern.ts";
import { createStreamOffer } from "../../src/upstream/watch-offer.ts";
import { keepWatching } from "../../src/upstream/watch.ts";
import { limits } from "../../src/model/limits.ts";
import { alice, until } from "./setup.ts";

const broken = new Error("a dependency that throws");
const capabilities = { tools: { listChanged: true } };
const notOver = new AbortController().signal;

const link = {
  upstream: "up",
  timeouts: { probeMs: 10 },
  limits: { ...limits, upstreamReconnectMsMin: 1, upstreamReconnectMsMax: 2 },
  credential: { headers: () => Promise.reject(broken) },
  log: () => undefined,
} as unknown as Link;

function attemptWith(offer: Attempt["offer"]): Attempt {
  const wanted = { lists: true, resources: [] };
  return {
    ...{ link, offer, signal: notOver, wanted: () => wanted },
    watch: { upstream: "up", account: alice, wanted, onNotification: () => undefined, onReopened: () => undefined },
    onChange: () => undefined,
    onQueued: () => undefined,
    onOpen: () => undefined,
    onStanding: () => undefined,
  };
}

function sessionsThatCount(): { sessions: LegacySessions; held: () => number } {
  let held = 0;
  const session = {
    grant: { id: "s", revision: "2025-11-25", declared: {}, identity: { capabilities } },
  } as unknown as HeldSession;
  const sessions = {
    acquire: () => Promise.resolve(((held += 1), ok(session))),
    release: () => void (held -= 1),
  } as unknown as LegacySessions;
  return { sessions, held: () => held };
}

describe("an attempt at a stream whose dependency throws", () => {
  it("leaves the next one to find out whether the upstream offers streams, and its session free: legacy", async () => {
    const offer = createStreamOffer({ refusedMs: 1_000, now: Date.now });
    const { sessions, held } = sessionsThatCount();
    await expect(hearLegacy(attemptWith(offer), sessions, createLegacyMemory())).rejects.toBe(broken);
    expect(held()).toBe(0);
    expect(await offer.enter(AbortSignal.timeout(100))).toBe("go");
  });

  it("leaves the next one to find out whether the upstream offers streams: modern", async () => {
    const offer = createStreamOffer({ refusedMs: 1_000, now: Date.now });
    await expect(listenModern(attemptWith(offer), { capabilities })).rejects.toBe(broken);
    expect(await offer.enter(AbortSignal.timeout(100))).toBe("go");
  });

  it("is followed by another after a pause, and the watch is lost until then", async () => {
    const states: WatchState[] = [];
    let attempts = 0;
    const findEra = (): Promise<never> => {
      attempts += 1;
      return Promise.reject(broken);
    };
    const offer = createStreamOffer({ refusedMs: 1_000, now: Date.now });
    const watching = keepWatching(
      {
        ...{ link, findEra, offers: { legacy: offer, modern: offer }, forgetEra: () => undefined, random: () => 0.5 },
        sessions: sessionsThatCount().sessions,
      },
      { ...attemptWith(offer).watch, onState: (state) => void states.push(state) },
    );
    await until(() => attempts === 3);
    watching.end();
    expect(states).toEqual(["lost"]);
  });
});
