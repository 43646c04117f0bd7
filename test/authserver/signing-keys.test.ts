import { createLocalJWKSet, jwtVerify } from "jose";
import { afterEach, describe, expect, it } from "vitest";
import { sharedSigningKeys } from "../../src/authserver/signing-keys.ts";
import type { SigningKeySource } from "../../src/authserver/signing-keys.ts";
import { configSchema } from "../../src/config/schema.ts";
import { limits } from "../../src/model/limits.ts";
import { StoreUnavailable } from "../../src/model/records.ts";
import { storeKey } from "../../src/store/keys.ts";
import { createMemoryRecords } from "./memory-records.ts";
import type { MemoryRecords } from "./memory-records.ts";
import { decodeToken, exchange, obtainCode, postForm, refresh, robot, startHarness } from "./harness.ts";
import type { Harness } from "./harness.ts";

const { oauthSigningKeyMs: ageMs, oauthSigningKeysReadMs: readMs } = limits;

interface Clock {
  now: number;
}

const recordsAt = (clock: Clock): MemoryRecords => createMemoryRecords(() => clock.now);

function replica(
  records: MemoryRecords,
  clock: Clock,
  { secret = "a secret of some length", events = [] as string[] } = {},
): Promise<SigningKeySource> {
  const log = (event: string): void => {
    events.push(event);
  };
  return sharedSigningKeys({ records, sealingKeys: [secret], now: () => clock.now, log });
}

const kidsOf = async (source: SigningKeySource): Promise<unknown[]> =>
  (await source.current()).publicKeys.map(({ kid }) => kid);

describe("generated signing keys", () => {
  it("change by age: the next one was published for a whole life before it signs, the last one for one after", async () => {
    const clock = { now: 1 };
    const source = await replica(recordsAt(clock), clock);
    const history: unknown[][] = [];
    for (let period = 0; period < 4; period += 1) {
      history.push(await kidsOf(source));
      clock.now += ageMs;
    }
    const signers = history.map(([signs]) => signs);
    expect(new Set(signers).size).toBe(4);
    for (const [at, published] of history.entries()) {
      if (at > 0) expect(history[at - 1]).toContain(signers[at]);
      if (at > 0) expect(published).toContain(signers[at - 1]);
      if (at > 1) expect(published).not.toContain(signers[at - 2]);
    }
  });

  it("stay what they are until then, also over a restart", async () => {
    const clock = { now: 1 };
    const records = recordsAt(clock);
    const [first] = await kidsOf(await replica(records, clock));
    clock.now += ageMs - 1;
    const late = await replica(records, clock);
    expect((await kidsOf(late))[0]).toBe(first);
    clock.now += 1;
    expect((await kidsOf(await replica(records, clock)))[0]).not.toBe(first);
    expect((await kidsOf(late))[0]).toBe(first);
    clock.now += readMs;
    expect((await kidsOf(late))[0]).not.toBe(first);
  });

  it("of replicas that come to change them at once one does, and the others follow", async () => {
    const clock = { now: 1 };
    const [records, events] = [recordsAt(clock), [] as string[]];
    const replicas = await Promise.all(Array.from({ length: 4 }, () => replica(records, clock, { events })));
    clock.now += ageMs;
    const signers = await Promise.all(replicas.map(async (source) => (await source.current()).kid));
    expect(new Set(signers).size).toBe(1);
    expect(events).toEqual(["authserver.signing-keys-changed", "authserver.signing-keys-changed"]);
  });

  it("are the same object until they change, and what is held serves to verify while the store is down", async () => {
    const clock = { now: 1 };
    const records = recordsAt(clock);
    const source = await replica(records, clock);
    const first = await source.current();
    clock.now += readMs;
    expect(await source.current()).toBe(first);
    records.setDown(true);
    clock.now += readMs - 1;
    expect(await source.current()).toBe(first);
    clock.now += 1;
    await expect(source.current()).rejects.toThrow(StoreUnavailable);
    expect(source.held()).toBe(first);
    records.setDown(false);
    expect(await source.current()).toBe(first);
  });

  it("that another secret sealed meanwhile: what a running replica holds serves while it is published, and no longer", async () => {
    const clock = { now: 1 };
    const [records, events] = [recordsAt(clock), [] as string[]];
    const source = await replica(records, clock, { events });
    records.clear();
    const other = await replica(records, clock, { secret: "another of some length" });
    const [kid] = await kidsOf(other);
    const own = source.held();
    clock.now += readMs;
    expect(await source.current()).toBe(own);
    expect(events.at(-1)).toBe("authserver.signing-keys-sealed");
    clock.now += ageMs / 2 - readMs;
    await expect(source.current()).rejects.toThrow(StoreUnavailable);
    expect(events.at(-1)).toBe("authserver.signing-keys-sealed");
    expect(await kidsOf(other)).toContain(kid);
  });

  it("are sealed under the secret of now by whoever starts, so that the one before can be given up", async () => {
    const clock = { now: 1 };
    const [records, events] = [recordsAt(clock), [] as string[]];
    const start = (sealingKeys: readonly string[]): Promise<SigningKeySource> =>
      sharedSigningKeys({ records, sealingKeys, now: () => clock.now, log: (event) => events.push(event) });
    const first = await kidsOf(await start(["the old secret"]));
    await start(["the new secret", "the old secret"]);
    expect(await kidsOf(await start(["the new secret"]))).toEqual(first);
    expect(events).toEqual(["authserver.signing-keys-changed"]);
  });

  it("sign for longer than any token lives that they signed, and a replica that looks late", () => {
    const tokenSecondsMax = maximumOf("accessTokenSeconds");
    expect(tokenSecondsMax).toBeGreaterThan(0);
    expect(ageMs).toBeGreaterThan(tokenSecondsMax * 1_000 + readMs + limits.clockLeewaySeconds * 1_000);
    expect(readMs).toBeLessThan(ageMs / 2);
  });

  it("rest where the refusal to start says", () => {
    expect(storeKey(["oauthKeys", "default", "signing"])).toBe("sallyport:default:oauthKeys:signing");
  });
});

/** The largest value that configuration takes for a key of this name. */
function maximumOf(name: string): number {
  const found = new RegExp(`"${name}":\\{[^}]*"maximum":(\\d+)`).exec(JSON.stringify(configSchema));
  return Number(found?.[1]);
}

describe("the authorization server over a change of keys", () => {
  const open: Harness[] = [];
  afterEach(async () => {
    for (const harness of open.splice(0)) await harness.close();
  });

  const serviceToken = async (at: Harness): Promise<unknown> => {
    const fields = { grant_type: "client_credentials", client_id: robot.clientId, client_secret: robot.clientSecret };
    const { body } = await postForm(at, "/token", { ...fields, resource: `${at.server.issuer}/support/mcp` });
    return body["access_token"];
  };

  it("signs with the next key at both replicas, verifies what was signed before, and goes on with every sign-in", async () => {
    const first = await startHarness();
    const second = await startHarness({ publicUrl: first.server.issuer, records: first.records });
    open.push(first, second);
    const flow = await obtainCode(first);
    const { body } = await exchange(first, flow);
    const waiting = await obtainCode(first, {}, flow.clientId);
    const before = await serviceToken(second);
    for (const replica of [first, second]) replica.advance(ageMs);
    const after = [await serviceToken(first), await serviceToken(second)];
    const kids = [before, ...after].map((token) => decodeToken(token).header["kid"]);
    expect(kids[1]).not.toBe(kids[0]);
    expect(kids[2]).toBe(kids[1]);
    for (const { server } of [first, second]) {
      for (const token of [before, ...after])
        await jwtVerify(String(token), createLocalJWKSet(server.publicKeys()), { currentDate: new Date() });
    }
    expect((await exchange(second, waiting)).status).toBe(200);
    expect((await refresh(second, flow.clientId, body["refresh_token"])).status).toBe(200);
  });

  it("a replica that only verifies hears of new keys as well", async () => {
    const first = await startHarness();
    const second = await startHarness({ publicUrl: first.server.issuer, records: first.records });
    open.push(first, second);
    for (let period = 0; period < 3; period += 1) {
      first.advance(ageMs);
      second.advance(ageMs);
      const token = await serviceToken(first);
      await jwtVerify(String(token), createLocalJWKSet(second.server.publicKeys()));
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  });

  it("answers where its keys and metadata are while the store is down, and signs nothing", async () => {
    const harness = await startHarness();
    open.push(harness);
    harness.advance(readMs);
    harness.records.setDown(true);
    const statuses = ["/.well-known/oauth-authorization-server", "/oauth/jwks"].map(
      async (path) => (await fetch(harness.origin + path)).status,
    );
    expect(await Promise.all(statuses)).toEqual([200, 200]);
    expect(await serviceToken(harness)).toBeUndefined();
    harness.records.setDown(false);
    expect(await serviceToken(harness)).toBeTypeOf("string");
  });
});
