import type { IncomingMessage, ServerResponse } from "node:http";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { recheckLockMs } from "../../src/authserver/brokered-people.ts";
import { limits } from "../../src/model/limits.ts";
import { recheckFetchesMax } from "../../src/signin/relying-party.ts";
import type { Rechecked, RelyingParty } from "../../src/signin/relying-party.ts";
import { createGuardedFetch } from "../../src/upstream/egress.ts";
import { signer } from "../auth/mock-issuer.ts";
import { callback, startProvider } from "./mock-provider.ts";
import type { Behaviour, MockProvider } from "./mock-provider.ts";

let provider: MockProvider;

beforeEach(async () => {
  provider = await startProvider();
});
afterEach(() => provider.close());

const attempt = { redirectUri: callback, state: "state-of-128-bits" };

const gone = { kind: "gone" } as const;
const unreadable = { kind: "unreadable" } as const;
const down = { kind: "unavailable", refreshToken: undefined } as const;

describe("a recheck", () => {
  const recheck = (party: RelyingParty = provider.party()): ReturnType<RelyingParty["recheck"]> =>
    party.recheck("refresh-1");

  it("says present with the groups of now, and the refresh token that counts next", async () => {
    provider.behaviour.claims["groups"] = ["leavers"];
    provider.behaviour.refreshToken = "refresh-2";
    expect(await recheck()).toMatchObject({
      kind: "present",
      person: { groups: ["leavers"] },
      refreshToken: "refresh-2",
    });
    expect(provider.exchanges[0]?.form.get("refresh_token")).toBe("refresh-1");
  });

  it("keeps the refresh token where the provider does not rotate it", async () => {
    provider.behaviour.refreshToken = undefined;
    expect(await recheck()).toMatchObject({ kind: "present", refreshToken: "refresh-1" });
  });

  it("asks UserInfo where the answer has no ID token (OpenID Connect Core §12.2)", async () => {
    provider.behaviour.idToken = null;
    expect(await recheck()).toMatchObject({ kind: "present", person: { subject: "ada", groups: ["staff"] } });
  });

  const wrong = "https://evil.example";

  it.each<[string, Rechecked, (behaviour: Behaviour) => void]>([
    // A no: about the person, by the provider's own word.
    ["invalid_grant", gone, (b) => (b.tokenError = { status: 400, error: "invalid_grant" })],
    ["interaction_required", gone, (b) => (b.tokenError = { status: 400, error: "interaction_required" })],
    ["access_denied", gone, (b) => (b.tokenError = { status: 403, error: "access_denied" })],
    // Lying: it answered, and the answer does not hold.
    ["a page in place of tokens", unreadable, (b) => (b.tokenStatus = 200)],
    ["a page with a 403", unreadable, (b) => (b.tokenStatus = 403)],
    ["an ID token of another issuer", unreadable, (b) => (b.claims["iss"] = wrong)],
    ["an ID token for another client", unreadable, (b) => (b.claims["aud"] = "another-client")],
    ["an expired ID token", unreadable, (b) => (b.claims["exp"] = 1)],
    ["an ID token that is none", unreadable, (b) => (b.idToken = "x.y.z")],
    ["no subject", unreadable, (b) => (b.claims["sub"] = undefined)],
    ["groups that cannot be read", unreadable, (b) => (b.claims["groups"] = 7)],
    ["claims deeper than any bound", unreadable, (b) => (b.claims["deep"] = nested(2_000))],
    ["UserInfo of another person", unreadable, lacking({ sub: "bob", groups: [] })],
    ["UserInfo that is a 404", unreadable, lacking(404)],
    // Down, slow, or at odds with the gateway itself: nothing was said of the person.
    ["an overload", down, (b) => (b.tokenStatus = 503)],
    ["too many requests", down, (b) => (b.tokenStatus = 429)],
    ["too many requests, in words of its own", down, (b) => (b.tokenError = { status: 429, error: "slow_down" })],
    ["a server error", down, (b) => (b.tokenError = { status: 500, error: "server_error" })],
    [
      "a server error that calls itself invalid_grant",
      down,
      (b) => (b.tokenError = { status: 503, error: "invalid_grant" }),
    ],
    ["temporarily_unavailable", down, (b) => (b.tokenError = { status: 400, error: "temporarily_unavailable" })],
    ["an unknown client", down, (b) => (b.tokenError = { status: 401, error: "invalid_client" })],
    ["metadata that is wrong", down, (b) => (b.metadata["issuer"] = wrong)],
    ["a redirect", down, (b) => (b.tokenStatus = 302)],
    ["an overload of UserInfo", { kind: "unavailable", refreshToken: "refresh-1" }, lacking(503)],
  ])("%s: %o", async (_, expected, behave) => {
    behave(provider.behaviour);
    expect(await recheck()).toEqual(expected);
  });

  it("UserInfo that refuses the token just given: gone", async () => {
    lacking(200)(provider.behaviour);
    provider.http.places.set("/userinfo", (_req: IncomingMessage, res: ServerResponse) => {
      res.writeHead(401, { "www-authenticate": 'Bearer error="invalid_token"' }).end();
    });
    expect(await recheck()).toEqual(gone);
  });

  it("nobody answers, or too slowly: unavailable, with nothing lost", async () => {
    const slow = provider.party({
      fetch: createGuardedFetch({ allow: "loopback", timeoutMs: 100, bytesMax: 65_536 }),
    });
    provider.http.places.set("/token", () => undefined);
    expect(await recheck(slow)).toEqual(down);
    const party = provider.party();
    await party.begin(attempt);
    await provider.http.close();
    expect(await recheck(party)).toEqual(down);
  });

  it("keys that cannot be had: unavailable, with the new refresh token", async () => {
    provider.behaviour.refreshToken = "refresh-2";
    provider.http.places.set("/jwks", (_req: IncomingMessage, res: ServerResponse) => {
      res.writeHead(503).end();
    });
    expect(await recheck()).toEqual({ kind: "unavailable", refreshToken: "refresh-2" });
  });

  it("does not accept an ID token that another key signed", async () => {
    provider.behaviour.signer = await signer("k1");
    expect(await recheck()).toEqual(unreadable);
  });

  it("fetches no more than it says, with nothing remembered", async () => {
    lacking({ sub: "ada", groups: [] })(provider.behaviour);
    expect((await recheck()).kind).toBe("present");
    expect(provider.http.asked).toHaveLength(recheckFetchesMax);
    expect(new Set(provider.http.asked).size).toBe(recheckFetchesMax);
  });

  it.each([
    ["the built-in limits", limits],
    ["the longest that can be configured", { ...limits, storeCommandTimeoutMs: 30_000 }],
    ["the shortest", { ...limits, storeCommandTimeoutMs: 10 }],
  ])("its lock outlives the work under it, with %s", (_, { issuerFetchTimeoutMs, storeCommandTimeoutMs }) => {
    // The record is read before and replaced after; each step takes its timeout at most.
    const work = recheckFetchesMax * issuerFetchTimeoutMs + 2 * storeCommandTimeoutMs;
    expect(recheckLockMs(recheckFetchesMax, { issuerFetchTimeoutMs, storeCommandTimeoutMs })).toBeGreaterThan(work);
  });
});

/** No groups in the ID token, so that UserInfo is asked, which answers this. */
function lacking(userInfo: Behaviour["userInfo"]): (behaviour: Behaviour) => void {
  return (behaviour) => {
    behaviour.claims["groups"] = undefined;
    behaviour.userInfo = userInfo;
  };
}

function nested(depth: number): unknown {
  let value: unknown = "deep";
  for (let level = 0; level < depth; level += 1) value = [value];
  return value;
}
