import { createHash, randomBytes } from "node:crypto";
import { beforeEach, describe, expect, it } from "vitest";
import { logLevels } from "../../src/model/log-level.ts";
import { limits } from "../../src/model/limits.ts";
import { principalKey } from "../../src/model/principal.ts";
import type { Principal } from "../../src/model/principal.ts";
import { touchPauseMs } from "../../src/session/session-life.ts";
import { createSessions } from "../../src/session/sessions.ts";
import type { Sessions, SessionsOptions } from "../../src/session/sessions.ts";
import type { Session } from "../../src/session/session-record.ts";
import { down, memoryRecords } from "./memory-records.ts";
import type { MemoryRecords } from "./memory-records.ts";

const start = 1_800_000_000_000;
const { sessionIdleMs: idle, sessionAgeMsMax: age, sessionTouchMsMin: touch } = limits;
const macKey = { kid: "k1", key: createHash("sha256").update("k1").digest() };

let clock: number;
let records: MemoryRecords;
let sessions: Sessions;

beforeEach(() => {
  clock = start;
  records = memoryRecords(() => clock);
  sessions = replica();
});

function replica(options: Partial<SessionsOptions> = {}): Sessions {
  const macKeys = { current: macKey, previous: [] };
  return createSessions({ records, macKeys, random: randomBytes, now: () => clock, limits, ...options });
}

function principal(subject = "u1"): Principal {
  const who = {
    tenant: "default",
    issuer: "https://login.test",
    issuerAlias: "corp",
    kind: "human" as const,
    subject,
    clientId: "desktop",
    groups: [],
    scopes: [],
    claims: {},
    expiresAt: start / 1000 + 600,
  };
  return { ...who, key: principalKey(who) };
}

async function open(whose = principal()): Promise<Session> {
  const said = { revision: "2025-11-25" as const, clientInfo: {}, clientCapabilities: {} };
  const opened = await sessions.open({ principal: whose, server: "s", ...said });
  if (!opened.ok) throw new Error(opened.refusal.code);
  return opened.value;
}

async function codeOf({ id }: Session, whose = principal(), at = sessions): Promise<string> {
  const found = await at.find({ id, principal: whose, server: "s" });
  return found.ok ? "found" : found.refusal.code;
}

describe("a session whose call runs", () => {
  it("stays as long as that is noted, though no request comes", async () => {
    const session = await open();
    for (let passed = 0; passed < 3 * idle; passed += idle / 2) {
      clock += idle / 2;
      await sessions.stay(session);
    }
    expect(await codeOf(session)).toBe("found");
  });

  it("is over in its idle time once nobody notes it any more: the moment before it is not, then it is", async () => {
    const session = await open();
    clock += idle / 2;
    await sessions.stay(session);
    clock += idle - 1;
    // Another replica looks, so that looking is no use of it.
    expect((await records.get(["session", "default", session.id])) === undefined).toBe(false);
    clock += 1;
    expect(await codeOf(session)).toBe("SESSION_UNKNOWN");
  });

  it("is over at its absolute age all the same", async () => {
    const session = await open();
    for (; clock < start + age; clock += idle / 2) await sessions.stay(session);
    expect(await codeOf(session)).toBe("SESSION_UNKNOWN");
  });

  it("that has ended does not come back", async () => {
    const session = await open();
    await sessions.end({ id: session.id, principal: principal(), server: "s" });
    clock += touch;
    await sessions.stay(session);
    expect(await codeOf(session)).toBe("SESSION_UNKNOWN");
    clock += idle;
    const other = await open();
    clock += idle;
    await sessions.stay(other);
    expect(await codeOf(other)).toBe("SESSION_UNKNOWN");
  });

  it("costs a read, and no write before its last use is some time ago", async () => {
    const session = await open();
    records.calls.length = 0;
    clock += touch - 1;
    await sessions.stay(session);
    expect(records.calls).toEqual(["get"]);
    clock += 1;
    await sessions.stay(session);
    expect(records.calls).toEqual(["get", "get", "replace", "addMember", "addMember", "touch"]);
  });

  it("ages while the store does not answer, and nobody is told", async () => {
    const session = await open();
    records.failing.set("get", down());
    clock += touch;
    await sessions.stay(session);
    records.failing.clear();
    expect(await codeOf(session)).toBe("found");
  });
});

describe("the time between two notes of a session's use", () => {
  it.each([
    [1_800_000, 60_000],
    [240_000, 60_000],
    [239_996, 59_999],
    [10_000, 2_500],
  ])("of sessions that idle for %i ms is %i ms", (sessionIdleMs, pause) => {
    expect(touchPauseMs({ ...limits, sessionIdleMs })).toBe(pause);
  });

  it("lets a session live that is used oftener than it may idle, however short that is", async () => {
    const short = { ...limits, sessionIdleMs: 10_000 };
    sessions = replica({ limits: short });
    const session = await open();
    for (let n = 0; n < 10; n += 1) {
      clock += 7_000;
      expect(await codeOf(session)).toBe("found");
    }
    clock += 10_000;
    expect(await codeOf(session)).toBe("SESSION_UNKNOWN");
  });
});

describe("the log level of a session", () => {
  it.each(logLevels)("%s is found on every replica, with the session's one read", async (level) => {
    const session = await open();
    expect(session.logLevel).toBeUndefined();
    const kept = await sessions.setLogLevel(session, level);
    expect(kept.ok && kept.value.logLevel).toBe(level);
    records.calls.length = 0;
    const found = await replica().find({ id: session.id, principal: principal(), server: "s" });
    expect(found.ok && found.value.logLevel).toBe(level);
    expect(records.calls).toEqual(["get"]);
  });

  it("outlives the notes of the session's use, and changes", async () => {
    const session = await open();
    await sessions.setLogLevel(session, "debug");
    clock += touch;
    expect(await codeOf(session)).toBe("found");
    await sessions.setLogLevel(session, "error");
    clock += touch;
    const found = await sessions.find({ id: session.id, principal: principal(), server: "s" });
    expect(found.ok && found.value.logLevel).toBe("error");
  });

  it("of a session that is over is refused, and does not bring it back", async () => {
    const session = await open();
    await sessions.end({ id: session.id, principal: principal(), server: "s" });
    const kept = await sessions.setLogLevel(session, "debug");
    expect(kept.ok || kept.refusal.code).toBe("SESSION_UNKNOWN");
    expect(await codeOf(session)).toBe("SESSION_UNKNOWN");
  });

  it("is kept though others change the record at the same time, and given up on when they do not stop", async () => {
    const session = await open();
    const real = records.replace.bind(records);
    let lost = limits.sessionWriteAttemptsMax - 1;
    const contended = {
      ...records,
      replace: (...args: Parameters<typeof real>) => (lost-- > 0 ? Promise.resolve(false) : real(...args)),
    };
    const busy = replica({ records: contended });
    expect((await busy.setLogLevel(session, "debug")).ok).toBe(true);
    lost = limits.sessionWriteAttemptsMax;
    const kept = await busy.setLogLevel(session, "info");
    expect(kept.ok || kept.refusal.code).toBe("STORE_UNAVAILABLE");
  });
});

describe("all sessions of a principal", () => {
  it("end together, with what they subscribed to, and nobody else's do", async () => {
    const [one, two, other] = [await open(), await open(), await open(principal("u2"))];
    await sessions.subscriptions.add(one, "x://1");
    const ended = await sessions.endAll(principal());
    expect(ended.ok && [...ended.value].sort()).toEqual([one.id, two.id].sort());
    expect([await codeOf(one), await codeOf(two)]).toEqual(["SESSION_UNKNOWN", "SESSION_UNKNOWN"]);
    expect(await codeOf(other, principal("u2"))).toBe("found");
    expect(await sessions.subscriptions.of(one)).toEqual([]);
    const again = await sessions.endAll(principal());
    expect(again.ok && again.value).toEqual([]);
  });

  it("are not said to have ended while the store does not answer", async () => {
    await open();
    records.failing.set("members", down());
    const ended = await sessions.endAll(principal());
    expect(ended.ok || ended.refusal.code).toBe("STORE_UNAVAILABLE");
  });
});

describe("the principals as which somebody has sessions", () => {
  const as = (more: Partial<Principal>): Principal => {
    const who = { ...principal(), ...more };
    return { ...who, key: principalKey(who) };
  };
  const other = as({ clientId: "phone" });

  async function known(who = principal()): Promise<readonly string[]> {
    const found = await sessions.principalsOf(who);
    return found.ok ? [...found.value].sort() : [found.refusal.code];
  }

  it("are known by every client, and are nobody else's", async () => {
    await open();
    await open(other);
    await open(principal("u2"));
    await open(as({ issuer: "https://elsewhere.test" }));
    expect(await known()).toEqual([principal().key, other.key].sort());
  });

  it("are forgotten one by one, as their sessions are ended", async () => {
    await open();
    await open(other);
    await sessions.endAll(other);
    expect(await known()).toEqual([principal().key]);
  });

  it("are known for as long as a session lives without being used, from its last use", async () => {
    const session = await open();
    clock += limits.sessionIdleMs - 1;
    expect(await known()).toEqual([principal().key]);
    await sessions.stay(session);
    clock += limits.sessionIdleMs - 1;
    expect(await known()).toEqual([principal().key]);
    clock += 1;
    expect(await known()).toEqual([]);
  });

  it("are forgotten with their last session", async () => {
    const [one, two] = [await open(), await open()];
    await sessions.end({ id: one.id, principal: principal(), server: "s" });
    expect(await known()).toEqual([principal().key]);
    await sessions.end({ id: two.id, principal: principal(), server: "s" });
    expect(await known()).toEqual([]);
  });

  it("are not said to be none while the store does not answer", async () => {
    records.failing.set("members", down());
    expect(await known()).toEqual(["STORE_UNAVAILABLE"]);
  });
});

describe("what a session subscribed to", () => {
  it("is kept once, in order, until it is taken back", async () => {
    const session = await open();
    const { subscriptions } = sessions;
    for (const uri of ["x://2", "x://1", "x://2"]) expect(await subscriptions.add(session, uri)).toBe(true);
    expect(await replica().subscriptions.of(session)).toEqual(["x://2", "x://1"]);
    await subscriptions.remove(session, "x://2");
    await subscriptions.remove(session, "x://3");
    expect(await subscriptions.of(session)).toEqual(["x://1"]);
    expect(await subscriptions.of(await open())).toEqual([]);
  });

  it("is bounded in number: the last that fits is taken, one more is not", async () => {
    sessions = replica({ limits: { ...limits, sessionSubscriptionsMax: 3 } });
    const session = await open();
    const taken = [];
    for (const uri of ["1", "2", "3", "4", "3"]) taken.push(await sessions.subscriptions.add(session, uri));
    expect(taken).toEqual([true, true, true, false, true]);
    expect(await sessions.subscriptions.of(session)).toEqual(["1", "2", "3"]);
  });

  it("is bounded in size: what fits exactly is taken, a character more is not", async () => {
    sessions = replica({ limits: { ...limits, sessionSubscriptionCharsMax: 12 } });
    const session = await open();
    expect(await sessions.subscriptions.add(session, "123456789")).toBe(false);
    expect(await sessions.subscriptions.add(session, "12345678")).toBe(true);
  });

  it("goes with the session when it ends", async () => {
    const session = await open();
    await sessions.subscriptions.add(session, "x://1");
    await sessions.end({ id: session.id, principal: principal(), server: "s" });
    expect(await sessions.subscriptions.of(session)).toEqual([]);
  });

  it("lives as long as a session in use, and no longer than one that idles", async () => {
    const session = await open();
    await sessions.subscriptions.add(session, "x://1");
    clock += idle - 1;
    expect(await codeOf(session)).toBe("found");
    clock += idle - 1;
    expect(await sessions.subscriptions.of(session)).toEqual(["x://1"]);
    clock += 1;
    expect(await sessions.subscriptions.of(session)).toEqual([]);
  });

  it("rejects while the store does not answer", async () => {
    const session = await open();
    records.failing.set("get", down());
    await expect(sessions.subscriptions.add(session, "x://1")).rejects.toThrow("down");
    await expect(sessions.subscriptions.of(session)).rejects.toThrow("down");
  });

  it("that somebody else keeps changing is not said to be kept", async () => {
    const session = await open();
    const busy = replica({ records: { ...records, setIfAbsent: () => Promise.resolve(false) } });
    await expect(busy.subscriptions.add(session, "x://1")).rejects.toThrow("changes too often");
  });
});
