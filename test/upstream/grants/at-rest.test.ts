import { describe, expect, it } from "vitest";
import type { RecordKey } from "../../../src/model/records.ts";
import { createMemoryStore } from "../../../src/store/memory.ts";
import type { Store } from "../../../src/store/store.ts";
import {
  ada,
  asAda,
  benchFor,
  bob,
  connect,
  editor,
  outcome,
  provider,
  redirectUri,
  tokenOf,
  valueOf,
} from "./bench.ts";
import { makeKey, sealerWith } from "./making.ts";

interface Written {
  readonly key: RecordKey;
  readonly value: string;
}

/** A store that shows what was written to it. */
function openStore(now: () => number): { store: Store; written: Written[] } {
  const written: Written[] = [];
  const store = createMemoryStore({ now });
  const note = (key: RecordKey, value: string): void => {
    written.push({ key, value });
  };
  return {
    written,
    store: {
      ...store,
      set: (key, value, ttlMs) => (note(key, value), store.set(key, value, ttlMs)),
      setIfAbsent: (key, value, ttlMs) => (note(key, value), store.setIfAbsent(key, value, ttlMs)),
      replace: (key, expected, value, ttlMs) => (note(key, value), store.replace(key, expected, value, ttlMs)),
      addMember: (key, member, ttlMs) => (note(key, member), store.addMember(key, member, ttlMs)),
    },
  };
}

describe("grants at rest", () => {
  it("hold no token, code, verifier, state or secret in clear, in keys or values", async () => {
    const clock = { now: 1_800_000_000_000 };
    const { store, written } = openStore(() => clock.now);
    const at = await provider({ expiresIn: 60 });
    const bench = benchFor(at.url, { store, clock });
    valueOf(await connect(bench));
    clock.now += 60_000;
    await tokenOf(bench);
    const dump = JSON.stringify(written);
    const shown = at.seen.flatMap(({ params }) =>
      ["code", "code_verifier", "state", "refresh_token", "client_secret"].map((name) => params[name]),
    );
    const secrets = [...at.live, ...shown.filter((one) => one !== undefined)];
    expect(secrets.length).toBeGreaterThan(5);
    expect(secrets.filter((secret) => dump.includes(secret))).toEqual([]);
    expect(dump).not.toMatch(/access-|refresh-[0-9a-f]|dynamic-/);
    const kinds = new Set(written.map(({ key }) => key[0]));
    expect([...kinds].sort()).toEqual([
      "grant",
      "grant-attempt",
      "grant-client",
      "grant-issuer",
      "grant-issuer-first",
      "grant-refresh",
      "grant-set",
    ]);
  });

  it("survive a rotation of the sealing keys, and are written with the new key at the next writing", async () => {
    const clock = { now: 1_800_000_000_000 };
    const { store, written } = openStore(() => clock.now);
    const [old, fresh] = [makeKey("old"), makeKey("new")];
    const at = await provider({ expiresIn: 60 });
    valueOf(await connect(benchFor(at.url, { store, clock, sealer: sealerWith(old) })));
    const rotated = benchFor(at.url, { store, clock, sealer: sealerWith(fresh, old) });
    expect(at.live).toContain(await tokenOf(rotated));
    clock.now += 60_000;
    const token = await tokenOf(rotated);
    expect(at.live).toContain(token);
    expect(written.filter(({ key }) => key[0] === "grant").at(-1)?.value).toMatch(/^v1\.new\./);
    const without = benchFor(at.url, { store, clock, sealer: sealerWith(fresh) });
    expect(await tokenOf(without)).toBe(token);
    expect(at.seen.filter(({ path }) => path === "/register")).toHaveLength(1);
  });

  it("that nothing changes of are written with the new key all the same, with their registration, while they are used", async () => {
    const at = await provider({ expiresIn: undefined });
    const [old, fresh] = [makeKey("old"), makeKey("new")];
    const bench = benchFor(at.url, { sealer: sealerWith(old) });
    valueOf(await connect(bench));
    const rotated = benchFor(at.url, { ...bench, sealer: sealerWith(fresh, old) });
    bench.clock.now += bench.options.limits.grantTouchMs;
    const token = await tokenOf(rotated);
    valueOf(await rotated.grants.pages.begin({ ...asAda, upstream: "up", redirectUri }));
    const without = benchFor(at.url, { ...bench, sealer: sealerWith(fresh) });
    expect(at.live).toContain(token);
    expect(await tokenOf(without)).toBe(token);
    valueOf(await connect(without));
    expect(at.seen.filter(({ path }) => path === "/register")).toHaveLength(1);
  });

  it("that no key opens are as if they were not there, and the log says so", async () => {
    const at = await provider();
    const bench = benchFor(at.url);
    valueOf(await connect(bench));
    const lost = benchFor(at.url, { ...bench, sealer: sealerWith(makeKey("other")) });
    expect(await tokenOf(lost)).toBe("UPSTREAM_CONNECTION_REQUIRED not-connected");
    expect(lost.logged.map(({ event }) => event)).toContain("grant-unreadable");
    expect(outcome(await connect(lost))).toEqual({ upstream: "up" });
  });

  it("open under their own name alone: a record moved to another person's key is no grant of theirs", async () => {
    const clock = { now: 1_800_000_000_000 };
    const { store, written } = openStore(() => clock.now);
    const bench = benchFor((await provider()).url, { store, clock });
    valueOf(await connect(bench));
    const mine = written.find(({ key }) => key[0] === "grant");
    valueOf(await connect(bench, { person: bob, clientId: editor }));
    const theirs = written.filter(({ key }) => key[0] === "grant").at(-1);
    if (mine === undefined || theirs === undefined) throw new Error("nothing was written");
    await store.set(theirs.key, mine.value, 60_000);
    expect(await tokenOf(bench, { person: bob, clientId: editor })).toBe("UPSTREAM_CONNECTION_REQUIRED not-connected");
  });

  it.each([
    ["tenant", { ...ada, tenant: "another" }],
    ["issuer", { ...ada, issuer: "https://other.test" }],
    ["subject", bob],
  ])("differ by %s", async (_name, person) => {
    const bench = benchFor((await provider()).url);
    valueOf(await connect(bench));
    expect(await tokenOf(bench, { person, clientId: editor })).toBe("UPSTREAM_CONNECTION_REQUIRED not-connected");
  });

  it("end when nobody uses them for long, and not while somebody does", async () => {
    const at = await provider({ expiresIn: undefined });
    const bench = benchFor(at.url);
    const { grantIdleMs, grantTouchMs } = bench.options.limits;
    valueOf(await connect(bench));
    bench.clock.now += grantIdleMs - grantTouchMs;
    expect(at.live).toContain(await tokenOf(bench));
    bench.clock.now += grantIdleMs - 1;
    expect(at.live).toContain(await tokenOf(bench));
    bench.clock.now += grantIdleMs;
    expect(await tokenOf(bench)).toBe("UPSTREAM_CONNECTION_REQUIRED not-connected");
  });
});
