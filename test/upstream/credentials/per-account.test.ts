import { describe, expect, it } from "vitest";
import { StoreUnavailable } from "../../../src/model/records.ts";
import { refuse } from "../../../src/model/refusal.ts";
import { ok } from "../../../src/model/result.ts";
import type { Credential } from "../../../src/upstream/credentials/credential.ts";
import { call, roomFor, scripted, summary, until, type Room } from "../setup.ts";
import type { ScriptedUpstream } from "../scripted-upstream.ts";
import { watch } from "../watch-under-test.ts";
import { accountOf, ownAccount } from "./token-server.ts";

/** A credential that says who calls. */
const naming: Credential = {
  generation: ({ principalKey }) => principalKey,
  headers: ({ caller }) => Promise.resolve(ok(["x-caller", caller?.principal.subject ?? "gateway"])),
};

async function bench(credential: Credential): Promise<{ readonly upstream: ScriptedUpstream; readonly room: Room }> {
  const upstream = await scripted({ era: "modern" });
  const room = roomFor(upstream.url, { options: { era: "modern", credential: { type: "made", credential } } });
  return { upstream, room };
}

describe("a 403 of the upstream", () => {
  it.each([
    ["becomes what the credential makes of its challenge", "scope", "failed UPSTREAM_CONNECTION_REQUIRED"],
    ["stays what it is where the credential knows nothing better", "other", "failed UPSTREAM_AUTH_FAILED"],
  ])("%s", async (_name, error, expected) => {
    const seen: unknown[] = [];
    const { upstream, room } = await bench({
      ...naming,
      forbidden: ({ caller }, challenge) => {
        seen.push([caller?.principal.subject, challenge]);
        const known = challenge?.includes("scope") === true;
        return Promise.resolve(known ? refuse("UPSTREAM_CONNECTION_REQUIRED", { reason: "scope" }) : undefined);
      },
    });
    upstream.script((_request, wire) => {
      wire.json(403, {}, [`WWW-Authenticate: Bearer error="${error}"`]);
      return true;
    });
    expect(summary(await room.upstreams.request(call({ account: accountOf() })))).toBe(expected);
    expect(seen).toEqual([["ada", `Bearer error="${error}"`]]);
    expect(upstream.received).toHaveLength(1);
  });

  it("after a renewed credential is heard too", async () => {
    const { upstream, room } = await bench({
      ...naming,
      renew: () => Promise.resolve(ok(["x-caller", "renewed"])),
      forbidden: () => Promise.resolve(refuse("UPSTREAM_CONNECTION_REQUIRED")),
    });
    upstream.script((request, wire) => {
      wire.json(request.header("x-caller") === "renewed" ? 403 : 401, {});
      return true;
    });
    expect(summary(await room.upstreams.request(call({ account: accountOf() })))).toBe(
      "failed UPSTREAM_CONNECTION_REQUIRED",
    );
  });
});

describe("a credential whose means fail", () => {
  const failing = [
    ["the store is down", new StoreUnavailable("down"), "failed STORE_UNAVAILABLE"],
    ["a fault of ours", new Error("bug"), "failed INTERNAL_FAULT"],
  ] as const;

  it.each(failing)("%s: the call is refused, and nothing is sent", async (_name, fault, expected) => {
    const { upstream, room } = await bench({ ...naming, headers: () => Promise.reject(fault) });
    expect(summary(await room.upstreams.request(call({ account: accountOf() })))).toBe(expected);
    expect(upstream.received).toEqual([]);
  });

  it.each(failing)("%s while it is renewed: the call is refused", async (_name, fault, expected) => {
    const { upstream, room } = await bench({ ...naming, renew: () => Promise.reject(fault) });
    upstream.script((_request, wire) => {
      wire.json(401, {});
      return true;
    });
    expect(summary(await room.upstreams.request(call({ account: accountOf() })))).toBe(expected);
    expect(upstream.received).toHaveLength(1);
  });
});

describe("a stream at an upstream where only people have accounts", () => {
  const forPeople: Credential = {
    ...naming,
    headers: () => refuse("UPSTREAM_CONNECTION_REQUIRED", { reason: "not-connected" }),
  };

  it.each([
    ["on the gateway's own account is given up for long", ownAccount, "not-offered"],
    ["on a person's account is tried again, as they may connect", accountOf(), "lost"],
  ])("%s", async (_name, account, expected) => {
    const { upstream, room } = await bench(forPeople);
    const states: string[] = [];
    const { watching } = watch(room, { account, onState: (state) => states.push(state) });
    await until(() => states.length > 0);
    watching.end();
    expect([states, upstream.received]).toEqual([[expected], []]);
  });
});

describe("what one caller lacks", () => {
  it("suspends the upstream for nobody", async () => {
    const { room } = await bench({
      ...naming,
      headers: (account) =>
        account.caller?.principal.subject === "bob"
          ? refuse("UPSTREAM_CONNECTION_REQUIRED", { reason: "not-connected" })
          : naming.headers(account),
    });
    const ask = async (subject: string): Promise<string> =>
      summary(await room.upstreams.request(call({ account: accountOf({ subject }) })));
    for (let at = 0; at < 20; at += 1) expect(await ask("bob")).toBe("failed UPSTREAM_CONNECTION_REQUIRED");
    expect(await ask("ada")).toBe("result");
  });
});
