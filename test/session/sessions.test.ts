import { createHash, randomBytes } from "node:crypto";
import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { ExactNumber } from "../../src/model/json.ts";
import { limits } from "../../src/model/limits.ts";
import { principalKey } from "../../src/model/principal.ts";
import type { Principal } from "../../src/model/principal.ts";
import type { Result } from "../../src/model/result.ts";
import { createSessions } from "../../src/session/sessions.ts";
import type { NewSession, Sessions, SessionsOptions } from "../../src/session/sessions.ts";
import type { Session } from "../../src/session/session-record.ts";
import { down, memoryRecords } from "./memory-records.ts";
import type { MemoryRecords } from "./memory-records.ts";

const start = 1_800_000_000_000;
const { sessionIdleMs: idle, sessionAgeMsMax: age, sessionTouchMsMin: touch } = limits;
const key = (name: string): { kid: string; key: Uint8Array } => ({
  kid: name,
  key: createHash("sha256").update(name).digest(),
});

let clock: number;
let records: MemoryRecords;

beforeEach(() => {
  clock = start;
  records = memoryRecords(() => clock);
});

function replica(options: Partial<SessionsOptions> = {}): Sessions {
  return createSessions({
    records,
    macKeys: { current: key("k1"), previous: [] },
    random: randomBytes,
    now: () => clock,
    limits,
    ...options,
  });
}

function principal(more: Partial<Principal> = {}): Principal {
  const who = {
    tenant: "default",
    issuer: "https://login.test",
    issuerAlias: "corp",
    kind: "human" as const,
    subject: "u1",
    clientId: "desktop",
    groups: [],
    scopes: ["a"],
    claims: {},
    expiresAt: start / 1000 + 600,
    ...more,
  };
  return { ...who, key: principalKey(who) };
}

const asked = (more: Partial<NewSession> = {}): NewSession => ({
  principal: principal(),
  server: "support",
  revision: "2025-06-18",
  clientInfo: { name: "test", version: "1" },
  clientCapabilities: { roots: {} },
  ...more,
});

async function opened(sessions: Sessions, more: Partial<NewSession> = {}): Promise<Session> {
  const result = await sessions.open(asked(more));
  if (!result.ok) throw new Error(result.refusal.code);
  return result.value;
}

const codeOf = (result: Result<unknown>): string => (result.ok ? "ok" : result.refusal.code);

async function find(sessions: Sessions, id: string, who = principal(), server = "support"): Promise<string> {
  return codeOf(await sessions.find({ id, principal: who, server }));
}

describe("a session", () => {
  it("is found as it was opened, on every replica, with its numbers digit for digit", async () => {
    const clientInfo = { name: "ünï", version: new ExactNumber("9007199254740993") };
    const session = await opened(replica(), { clientInfo });
    expect(session).toMatchObject({ server: "support", revision: "2025-06-18", openedAt: start, seenAt: start });
    const found = await replica().find({ id: session.id, principal: principal(), server: "support" });
    expect(found.ok && found.value).toEqual(session);
  });

  it("has an id of 128 random bits that is safe in a header", async () => {
    const bytes = Uint8Array.from({ length: 16 }, (_, index) => 255 - index);
    const session = await opened(replica({ random: (count) => bytes.subarray(0, count) }));
    expect(session.id).toBe("__79_Pv6-fj39vX08_Lx8A");
    expect(Buffer.from(session.id, "base64url")).toHaveLength(16);
  });

  it("costs one read to find, and a minute's use is noted once", async () => {
    const sessions = replica();
    const { id } = await opened(sessions);
    records.calls.length = 0;
    clock += touch - 1;
    await find(sessions, id);
    expect(records.calls).toEqual(["get"]);
    clock += 1;
    await find(sessions, id);
    await find(sessions, id);
    expect(records.calls).toEqual(["get", "get", "replace", "addMember", "addMember", "touch", "get"]);
  });

  it("survives a new token of the same principal, whatever that token permits", async () => {
    const sessions = replica();
    const { id } = await opened(sessions);
    expect(
      await find(sessions, id, principal({ expiresAt: start / 1000 + 9_999, scopes: [], groups: ["corp:x"] })),
    ).toBe("ok");
  });

  it("whose random id is taken already is not written over", async () => {
    const sessions = replica({ random: (count) => new Uint8Array(count) });
    const first = await opened(sessions);
    await expect(sessions.open(asked({ principal: principal({ subject: "u2" }) }))).rejects.toThrow("occurred twice");
    expect(await find(sessions, first.id)).toBe("ok");
  });
});

describe("a session id", () => {
  it.each<[string, Partial<Principal>, string]>([
    ["another subject", { subject: "u2" }, "SESSION_NOT_YOURS"],
    ["the same subject with another client", { clientId: "web" }, "SESSION_NOT_YOURS"],
    ["the same subject of another issuer", { issuer: "https://partner.test" }, "SESSION_NOT_YOURS"],
    ["a service of that name", { kind: "service" }, "SESSION_NOT_YOURS"],
    ["another tenant", { tenant: "acme" }, "SESSION_UNKNOWN"],
    ["whoever opened it", {}, "ok"],
  ])("presented by %s", async (_, who, expected) => {
    const sessions = replica();
    const { id } = await opened(sessions);
    const presented = { id, principal: principal(who), server: "support" };
    expect(codeOf(await sessions.find(presented))).toBe(expected);
    expect(codeOf(await sessions.end(presented))).toBe(expected);
    expect(await find(sessions, id)).toBe(expected === "ok" ? "SESSION_UNKNOWN" : "ok");
  });

  it("presented at another server is unknown", async () => {
    const sessions = replica();
    const { id } = await opened(sessions);
    expect(await find(sessions, id, principal(), "billing")).toBe("SESSION_UNKNOWN");
    expect(codeOf(await sessions.end({ id, principal: principal(), server: "billing" }))).toBe("SESSION_UNKNOWN");
    expect(await find(sessions, id)).toBe("ok");
  });

  it.each([
    ["empty", ""],
    ["10 kB", "a".repeat(10_000)],
    ["beyond ASCII", "é".repeat(22)],
    ["a character short", "a".repeat(21)],
    ["with a line feed", `${"a".repeat(22)}\n`],
  ])("that is %s is unknown, and no store is asked", async (_, id) => {
    expect(await find(replica(), id)).toBe("SESSION_UNKNOWN");
    expect(records.calls).toEqual([]);
  });

  it("never opened is unknown, whatever it is", async () => {
    const sessions = replica();
    await opened(sessions);
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.string(), fc.base64String({ minLength: 20, maxLength: 24 })), async (id) => {
        expect(await find(sessions, id)).toBe("SESSION_UNKNOWN");
      }),
    );
  });
});

describe("the end of a session", () => {
  it("comes after its idle life, counted from its last noted use", async () => {
    const sessions = replica();
    const { id } = await opened(sessions);
    clock += idle - 1;
    expect(await find(sessions, id)).toBe("ok");
    clock += idle - 1;
    expect(await find(sessions, id)).toBe("ok");
    clock += idle;
    expect(await find(sessions, id)).toBe("SESSION_UNKNOWN");
  });

  it("comes at its greatest age, however busy it is", async () => {
    const sessions = replica();
    const { id } = await opened(sessions);
    while (clock < start + age - idle / 2) {
      clock += idle / 2;
      expect(await find(sessions, id)).toBe("ok");
    }
    clock = start + age - 1;
    expect(await find(sessions, id)).toBe("ok");
    clock += 1;
    expect(await find(sessions, id)).toBe("SESSION_UNKNOWN");
  });

  it("comes by this clock too, when the store's lets the record live on", async () => {
    const lax = memoryRecords(() => start);
    const sessions = replica({ records: lax });
    const { id } = await opened(sessions);
    clock += idle - 1;
    expect(await find(sessions, id)).toBe("ok");
    clock += idle;
    expect(await find(sessions, id)).toBe("SESSION_UNKNOWN");
  });

  it("that somebody asked for holds at once on every replica, and is granted once", async () => {
    const [one, other] = [replica(), replica()];
    const { id } = await opened(one);
    const presented = { id, principal: principal(), server: "support" };
    const ends = await Promise.all([one.end(presented), other.end(presented)]);
    expect(ends.map(codeOf).sort()).toEqual(["SESSION_UNKNOWN", "ok"]);
    expect(await find(other, id)).toBe("SESSION_UNKNOWN");
    expect([...records.sets.values()].every((set) => set.size === 0)).toBe(true);
  });

  it("is not undone by a use that was noted at the same time", async () => {
    const sessions = replica();
    const { id } = await opened(sessions);
    clock += touch;
    const presented = { id, principal: principal(), server: "support" };
    // The use reads the record, then the session ends, then the use is written.
    const { replace } = records;
    records.replace = async (...args) => {
      await sessions.end(presented);
      return replace(...args);
    };
    await sessions.find(presented);
    records.replace = replace;
    expect(await find(sessions, id)).toBe("SESSION_UNKNOWN");
    expect([...records.sets.values()].every((set) => set.size === 0)).toBe(true);
  });

  it("leaves nothing in the store", async () => {
    const sessions = replica();
    for (let index = 0; index < 50; index += 1) await opened(sessions);
    clock += idle;
    expect([...records.values.values()].filter(({ until }) => until > clock)).toEqual([]);
    expect(codeOf(await sessions.open(asked()))).toBe("ok");
    expect([...records.sets.values()].map((set) => set.size)).toEqual([1, 1]);
  });
});

describe("a record", () => {
  /** The one session record's text, changed. */
  function tamper(change: (text: string) => string): void {
    for (const [name, entry] of records.values) records.values.set(name, { ...entry, value: change(entry.value) });
  }

  it.each<[string, (text: string) => string]>([
    ["another server", (text) => text.replace('"support"', '"billing"')],
    ["another principal", (text) => text.replace("u1", "u2")],
    ["a later use", (text) => text.replace(`"seenAt":${start}`, `"seenAt":${start + 1}`)],
    ["no MAC", (text) => text.replace(/\.[^.]*\./, "..")],
    ["a shorter MAC", (text) => text.replace(/.\./, ".")],
    ["an unknown key", (text) => text.replace("k1.", "k9.")],
    ["one part", (text) => text.replaceAll(".", "")],
    ["nothing", () => ""],
  ])("that was changed to %s is unknown", async (_, change) => {
    const sessions = replica();
    const { id } = await opened(sessions);
    tamper(change);
    for (const server of ["support", "billing"]) {
      for (const subject of ["u1", "u2"]) {
        expect(await find(sessions, id, principal({ subject }), server)).toBe("SESSION_UNKNOWN");
      }
    }
  });

  it("moved to another id or another tenant is unknown", async () => {
    const sessions = replica();
    const [one, other] = [await opened(sessions), await opened(sessions)];
    const text = records.values.get(JSON.stringify(["session", "default", one.id]))!;
    records.values.set(JSON.stringify(["session", "default", other.id]), text);
    records.values.set(JSON.stringify(["session", "acme", one.id]), text);
    expect(await find(sessions, other.id)).toBe("SESSION_UNKNOWN");
    expect(await find(sessions, one.id, principal({ tenant: "acme" }))).toBe("SESSION_UNKNOWN");
    expect(await find(sessions, one.id)).toBe("ok");
  });

  it("written under the previous key is found until that key is gone, and rewritten under the current one", async () => {
    const { id } = await opened(replica());
    const rotated = replica({ macKeys: { current: key("k2"), previous: [key("k1")] } });
    const after = replica({ macKeys: { current: key("k2"), previous: [] } });
    expect(await find(rotated, id)).toBe("ok");
    expect(await find(after, id)).toBe("SESSION_UNKNOWN");
    clock += touch;
    expect(await find(rotated, id)).toBe("ok");
    expect(await find(after, id)).toBe("ok");
  });

  it("takes what a client says of itself up to a size", async () => {
    const clientInfo = (length: number): NewSession["clientInfo"] => ({ name: "x".repeat(length) });
    const sessions = replica();
    await opened(sessions, { clientInfo: clientInfo(0) });
    const [record] = [...records.values.values()];
    const room = limits.sessionRecordBytesMax - Buffer.byteLength(record!.value);
    expect(codeOf(await sessions.open(asked({ clientInfo: clientInfo(room) })))).toBe("ok");
    records.calls.length = 0;
    expect(codeOf(await sessions.open(asked({ clientInfo: clientInfo(room + 1) })))).toBe("RPC_PARAMS_INVALID");
    expect(records.calls).toEqual([]);
  });
});

describe("the number of sessions", () => {
  const few = { ...limits, sessionsPerPrincipalMax: 3 };

  it("of one principal is bounded, across servers, and nobody else's is", async () => {
    const sessions = replica({ limits: few });
    const first = await opened(sessions);
    await opened(sessions, { server: "billing" });
    await opened(sessions);
    expect(codeOf(await sessions.open(asked()))).toBe("SESSION_LIMIT_REACHED");
    expect(records.values.size).toBe(3);
    expect(codeOf(await sessions.open(asked({ principal: principal({ subject: "u2" }) })))).toBe("ok");
    expect(await find(sessions, first.id)).toBe("ok");
  });

  it("has room again after an end and after an expiry", async () => {
    const sessions = replica({ limits: few });
    const first = await opened(sessions);
    for (let index = 0; index < 2; index += 1) await opened(sessions);
    await sessions.end({ id: first.id, principal: principal(), server: "support" });
    expect(codeOf(await sessions.open(asked()))).toBe("ok");
    expect(codeOf(await sessions.open(asked()))).toBe("SESSION_LIMIT_REACHED");
    clock += idle;
    expect(codeOf(await sessions.open(asked()))).toBe("ok");
  });

  it("counts a session in use for as long as it is used", async () => {
    const sessions = replica({ limits: { ...limits, sessionsPerPrincipalMax: 1 } });
    const { id } = await opened(sessions);
    clock += idle - 1;
    await find(sessions, id);
    clock += 1;
    expect(codeOf(await sessions.open(asked()))).toBe("SESSION_LIMIT_REACHED");
  });

  it("is not passed by opening many at once on two replicas", async () => {
    const [one, other] = [replica({ limits: few }), replica({ limits: few })];
    const opening = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? one : other).open(asked()));
    const openedOnes = (await Promise.all(opening)).filter((result) => result.ok);
    expect(openedOnes.length).toBeLessThanOrEqual(3);
    expect(records.values.size).toBe(openedOnes.length);
  });
});

describe("a store that does not answer", () => {
  it("refuses to open, find and end", async () => {
    const sessions = replica();
    const { id } = await opened(sessions);
    const presented = { id, principal: principal(), server: "support" };
    for (const operation of ["get", "addMember"] as const) records.failing.set(operation, down());
    expect(codeOf(await sessions.open(asked()))).toBe("STORE_UNAVAILABLE");
    expect(codeOf(await sessions.find(presented))).toBe("STORE_UNAVAILABLE");
    expect(codeOf(await sessions.end(presented))).toBe("STORE_UNAVAILABLE");
  });

  it("after a session was counted does not leave it counted", async () => {
    const sessions = replica();
    records.failing.set("setIfAbsent", down());
    expect(codeOf(await sessions.open(asked()))).toBe("STORE_UNAVAILABLE");
    expect([...records.sets.values()].map((set) => set.size)).toEqual([0, 0]);
  });

  it("when a session is deleted leaves it as it is", async () => {
    const sessions = replica();
    const { id } = await opened(sessions);
    records.failing.set("delete", down());
    expect(codeOf(await sessions.end({ id, principal: principal(), server: "support" }))).toBe("STORE_UNAVAILABLE");
    expect(await find(sessions, id)).toBe("ok");
  });

  it("when a use is noted lets the request go on, and the session ages", async () => {
    const sessions = replica();
    const { id } = await opened(sessions);
    records.failing.set("replace", down());
    clock += idle - 1;
    expect(await find(sessions, id)).toBe("ok");
    clock += 1;
    expect(await find(sessions, id)).toBe("SESSION_UNKNOWN");
  });

  it("for a reason that is our own bug is not hidden", async () => {
    const sessions = replica();
    const { id } = await opened(sessions);
    records.failing.set("get", new TypeError("bug"));
    await expect(find(sessions, id)).rejects.toThrow("bug");
    records.failing.clear();
    records.failing.set("replace", new TypeError("bug"));
    clock += touch;
    await expect(find(sessions, id)).rejects.toThrow("bug");
  });
});

describe("MAC keys", () => {
  it.each<[string, SessionsOptions["macKeys"], RegExp | undefined]>([
    ["of 32 bytes", { current: key("k1"), previous: [] }, undefined],
    ["of 31 bytes", { current: { kid: "a", key: new Uint8Array(31) }, previous: [] }, /shorter than 32 bytes/],
    ["that are short and retired", { current: key("k1"), previous: [{ kid: "a", key: new Uint8Array(8) }] }, /shorter/],
    ["with a full stop in the name", { current: { ...key("k1"), kid: "a.b" }, previous: [] }, /other characters/],
    ["without a name", { current: { ...key("k1"), kid: "" }, previous: [] }, /other characters/],
    ["of the same name", { current: key("k1"), previous: [key("k1")] }, /share a name/],
  ])("%s", (_, macKeys, message) => {
    if (message === undefined) expect(() => replica({ macKeys })).not.toThrow();
    else expect(() => replica({ macKeys })).toThrow(message);
  });
});
