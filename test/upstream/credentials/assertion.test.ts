import { createLocalJWKSet, decodeProtectedHeader, jwtVerify } from "jose";
import type { JSONWebKeySet, JWTPayload } from "jose";
import { describe, expect, it } from "vitest";
import { limits } from "../../../src/model/limits.ts";
import { assertion } from "../../../src/upstream/credentials/assertion.ts";
import { createAssertionKeys, type AssertionKeys } from "../../../src/upstream/credentials/assertion-keys.ts";
import type { Credential } from "../../../src/upstream/credentials/credential.ts";
import { principalKey } from "../../../src/model/principal.ts";
import type { HeldTokensLimits } from "../../../src/upstream/credentials/held-tokens.ts";
import type { OnAccountOf } from "../../../src/upstream/port.ts";
import { call, memoryRecords, roomFor, scripted, summary } from "../setup.ts";
import { plainSealer } from "./assertion-bench.ts";
import { accountOf, ownAccount, startMs } from "./token-server.ts";

const audience = "https://crm.internal/mcp";

interface Bench {
  readonly credential: Credential;
  readonly keys: AssertionKeys;
  readonly clock: { now: number };
  /** The token that an account shows. */
  readonly shown: (account: OnAccountOf) => Promise<string>;
  /** Its claims, once it verified as an upstream would verify it. */
  readonly claims: (account: OnAccountOf) => Promise<JWTPayload>;
}

function bench(lifeSeconds = 120, held: HeldTokensLimits = limits, subject: "plain" | "qualified" = "plain"): Bench {
  const clock = { now: startMs };
  const keys = createAssertionKeys({
    issuer: "https://gw.example",
    configured: [],
    records: { ...memoryRecords(), setIfAbsent: () => Promise.resolve(true) },
    sealer: plainSealer,
    now: () => clock.now,
    limits,
    log: () => undefined,
  });
  const credential = assertion(
    { audience, subject, lifeSeconds },
    { signer: keys, now: () => clock.now, limits: held },
  );
  const shown = async (account: OnAccountOf): Promise<string> => tokenIn(await credential.headers(account));
  return { credential, keys, clock, shown, claims: async (account) => verified(await shown(account), keys, clock.now) };
}

function tokenIn(result: Awaited<ReturnType<Credential["headers"]>>): string {
  if (!result.ok) throw new Error(result.refusal.code);
  expect(result.value[0]).toBe("authorization");
  return (result.value[1] ?? "").replace(/^Bearer /, "");
}

async function verified(token: string, keys: AssertionKeys, now: number): Promise<JWTPayload> {
  const keySet = createLocalJWKSet((await keys.publicKeys()) as unknown as JSONWebKeySet);
  const checks = { issuer: "https://gw.example", audience, typ: "at+jwt", currentDate: new Date(now) };
  return (await jwtVerify(token, keySet, checks)).payload;
}

/** Somebody whom another issuer names. */
function accountOfPartner(subject: string): OnAccountOf {
  const account = accountOf({ subject });
  const who = { ...account.caller!.principal, issuer: "https://partner.example", issuerAlias: "partner" };
  const principal = { ...who, key: principalKey(who) };
  return { ...account, principalKey: principal.key, caller: { principal, token: undefined } };
}

describe("an assertion", () => {
  it("tells the upstream who calls, through which client, of which tenant and with which groups", async () => {
    const groups = ["corp:support", "corp:leads"];
    const claims = await bench().claims(accountOf({ subject: "ada", clientId: "editor", tenant: "acme", groups }));
    const { jti, ...others } = claims;
    expect(jti).toMatch(/^[0-9a-f-]{36}$/);
    expect(others).toEqual({
      iss: "https://gw.example",
      aud: audience,
      sub: "ada",
      sub_id: { format: "iss_sub", iss: "https://idp.example", sub: "ada" },
      client_id: "editor",
      act: { iss: "https://idp.example", sub: "editor" },
      tenant: "acme",
      groups,
      iat: 1_000,
      exp: 1_120,
    });
  });

  it("names no client where the caller's token names none, and the gateway itself on its own account", async () => {
    const { claims } = bench();
    const anonymous = await claims(accountOf({ clientId: "" }));
    expect([anonymous["client_id"], anonymous["act"]]).toEqual([undefined, undefined]);
    const gateway = "https://gw.example";
    expect(await claims(ownAccount)).toMatchObject({
      sub: gateway,
      sub_id: { format: "iss_sub", iss: gateway, sub: gateway },
      client_id: gateway,
      tenant: "default",
    });
  });

  it.each([
    ["by sub_id", "plain", ["ada", "ada"]],
    ["by sub as well, where that is asked for", "qualified", ["corp:ada", "partner:ada"]],
  ] as const)("tells two people apart whom two issuers name alike, %s", async (_name, subject, subs) => {
    const { claims } = bench(120, limits, subject);
    const [one, other] = [await claims(accountOf()), await claims(accountOfPartner("ada"))];
    expect([one.sub, other.sub]).toEqual(subs);
    expect([one["sub_id"], other["sub_id"]]).toEqual([
      { format: "iss_sub", iss: "https://idp.example", sub: "ada" },
      { format: "iss_sub", iss: "https://partner.example", sub: "ada" },
    ]);
    // A client is known to the issuer where it registered, so two of one id are told apart too.
    expect([one["act"], other["act"]]).toEqual([
      { iss: "https://idp.example", sub: "editor" },
      { iss: "https://partner.example", sub: "editor" },
    ]);
  });

  it("does not verify for another upstream, and neither does another type of token of the same keys", async () => {
    const { shown, keys, clock } = bench();
    const keySet = createLocalJWKSet((await keys.publicKeys()) as unknown as JSONWebKeySet);
    const token = await shown(accountOf());
    const currentDate = new Date(clock.now);
    await expect(jwtVerify(token, keySet, { audience: "https://other.internal/mcp", currentDate })).rejects.toThrow();
    expect(decodeProtectedHeader(token)).toMatchObject({ typ: "at+jwt", alg: "ES256" });
  });

  it.each([60, 300])("of %i s is shown until half its life is over, then made anew", async (lifeSeconds) => {
    const { shown, clock } = bench(lifeSeconds);
    const first = await shown(accountOf());
    clock.now += lifeSeconds * 500 - 1;
    expect(await shown(accountOf())).toBe(first);
    clock.now += 1;
    expect(await shown(accountOf())).not.toBe(first);
  });

  it.each([
    ["another person", { subject: "bob" }],
    ["another client", { clientId: "bot" }],
    ["another tenant", { tenant: "acme" }],
    ["other groups of the same person", { groups: ["corp:leads"] }],
  ])("is another one for %s", async (_name, other) => {
    const { shown } = bench();
    const first = await shown(accountOf());
    expect(await shown(accountOf())).toBe(first);
    expect(await shown(accountOf(other))).not.toBe(first);
  });

  it("is another one after the upstream refused it, and of a generation of the principal's own", async () => {
    const upstream = await scripted({ era: "modern" });
    const { credential } = bench();
    const { upstreams } = roomFor(upstream.url, {
      options: { era: "modern", credential: { type: "made", credential } },
    });
    upstream.script((_request, wire) => {
      if (upstream.received.length > 1) return false;
      wire.json(401, {});
      return true;
    });
    expect(summary(await upstreams.request(call({ account: accountOf() })))).toBe("result");
    const [first, second] = upstream.received.map((request) => request.header("authorization"));
    expect(first).not.toBe(second);
    const generations = [accountOf(), accountOf({ groups: ["g"] }), accountOf({ subject: "bob" }), ownAccount];
    const [one, same, bob, own] = generations.map((account) => credential.generation(account));
    expect([one === same, new Set([one, bob, own]).size]).toEqual([true, 3]);
  });

  it("of those in memory at most the bound are kept", async () => {
    const { shown } = bench(120, { ...limits, upstreamCredentialsHeldMax: 1 });
    const first = await shown(accountOf());
    await shown(accountOf({ subject: "bob" }));
    expect(await shown(accountOf())).not.toBe(first);
  });
});
