import { createHmac } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { limits } from "../../src/model/limits.ts";
import type { Result } from "../../src/model/result.ts";
import type { RelyingPartyOptions, SignedIn } from "../../src/signin/relying-party.ts";
import { segment, signer } from "../auth/mock-issuer.ts";
import { callback, clientId, startProvider } from "./mock-provider.ts";
import type { Behaviour, MockProvider } from "./mock-provider.ts";

let provider: MockProvider;

beforeEach(async () => {
  provider = await startProvider();
});
afterEach(() => provider.close());

const attempt = { redirectUri: callback, state: "state-of-128-bits" };

interface Steps {
  readonly party?: Partial<RelyingPartyOptions>;
  readonly behaviour?: (behaviour: Behaviour) => void;
  readonly answer?: (answer: URLSearchParams) => void;
  readonly state?: string;
}

/** A whole sign-in, with one thing done differently. */
async function signIn(steps: Steps = {}): Promise<Result<SignedIn>> {
  const party = provider.party(steps.party);
  steps.behaviour?.(provider.behaviour);
  const begun = await party.begin(attempt);
  if (!begun.ok) return begun;
  const parameters = provider.approve(begun.value.url);
  steps.answer?.(parameters);
  return party.finish({ ...attempt, state: steps.state ?? attempt.state, kept: begun.value.kept, parameters });
}

describe("a sign-in at the company's provider", () => {
  it("asks for a code with PKCE S256, state and nonce, and keeps what only this browser may know", async () => {
    const begun = await provider.party().begin({ ...attempt, loginHint: "ada@corp.example" });
    const url = new URL(begun.ok ? begun.value.url : "about:blank");
    expect(url.origin + url.pathname).toBe(`${provider.issuer}/authorize`);
    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      response_type: "code",
      client_id: clientId,
      redirect_uri: callback,
      scope: "openid profile offline_access",
      state: attempt.state,
      code_challenge_method: "S256",
      login_hint: "ada@corp.example",
    });
    const kept = begun.ok ? begun.value.kept : "";
    for (const secret of ["nonce", "code_challenge"]) expect(url.searchParams.get(secret)).toMatch(/^[\w-]{43}$/);
    expect(kept).toContain(url.searchParams.get("nonce"));
    expect(url.href).not.toContain(kept.split(".")[1]);
  });

  it("two sign-ins share no secret", async () => {
    const party = provider.party();
    const [one, other] = [await party.begin(attempt), await party.begin(attempt)];
    expect(one.ok && other.ok && one.value.kept !== other.value.kept).toBe(true);
  });

  it("ends with the person, the groups as the provider writes them, and what a recheck needs", async () => {
    const signedIn = await signIn();
    expect(signedIn).toMatchObject({
      ok: true,
      value: {
        subject: "ada",
        name: "Ada L",
        groups: ["staff", "leads"],
        emailVerified: false,
        refreshToken: "refresh-1",
      },
    });
    expect(provider.exchanges[0]?.form.get("redirect_uri")).toBe(callback);
  });

  it.each([
    ["basic, percent-encoded, unless the provider says otherwise", undefined, "Basic"],
    ["in the form where the provider takes it nowhere else", ["client_secret_post"], "form"],
    ["basic where it takes both", ["client_secret_post", "client_secret_basic"], "Basic"],
  ])("the secret goes %s", async (_, methods, where) => {
    expect(
      (await signIn({ behaviour: (b) => (b.metadata["token_endpoint_auth_methods_supported"] = methods) })).ok,
    ).toBe(true);
    const [exchange] = provider.exchanges;
    const header = Buffer.from("gateway+at+corp:s3cret+of+the+gateway").toString("base64");
    expect(exchange?.authorization).toBe(where === "Basic" ? `Basic ${header}` : undefined);
    expect(exchange?.form.get("client_secret")).toBe(where === "form" ? "s3cret of the gateway" : null);
  });

  it("a public client shows its id alone", async () => {
    expect((await signIn({ party: { clientSecret: undefined } })).ok).toBe(true);
    expect(provider.exchanges[0]?.form.get("client_id")).toBe(clientId);
    expect(provider.exchanges[0]?.authorization).toBeUndefined();
  });
});

describe("an answer that does not hold is refused as SIGNIN_ANSWER_INVALID", () => {
  const foreign = signer("k1");
  const now = Math.floor(Date.now() / 1_000);
  const hs256 = (key: string): string => {
    const claims = { iss: provider.issuer, sub: "ada", aud: clientId, iat: now, exp: now + 300 };
    const input = `${segment({ alg: "HS256", kid: "k1" })}.${segment(claims)}`;
    return `${input}.${createHmac("sha256", key).update(input).digest("base64url")}`;
  };

  it.each<[string, Steps]>([
    [
      "another state",
      {
        answer: (a) => {
          a.set("state", "another");
        },
      },
    ],
    [
      "no state",
      {
        answer: (a) => {
          a.delete("state");
        },
      },
    ],
    [
      "a state twice",
      {
        answer: (a) => {
          a.append("state", attempt.state);
        },
      },
    ],
    ["the state of another browser", { state: "another-browser-state" }],
    [
      "no iss although it is advertised (RFC 9207)",
      {
        answer: (a) => {
          a.delete("iss");
        },
      },
    ],
    [
      "another server's iss: mix-up",
      {
        answer: (a) => {
          a.set("iss", "https://evil.example");
        },
      },
    ],
    [
      "an iss with a slash more",
      {
        answer: (a) => {
          a.set("iss", `${provider.issuer}/`);
        },
      },
    ],
    [
      "a code that was stolen from elsewhere",
      {
        answer: (a) => {
          a.set("code", "stolen");
        },
      },
    ],
    [
      "an ID token beside the code",
      {
        answer: (a) => {
          a.set("id_token", "x.y.z");
        },
      },
    ],
    ["no ID token", { behaviour: (b) => (b.idToken = null) }],
    ["another nonce", { behaviour: (b) => (b.claims["nonce"] = "another") }],
    ["no nonce", { behaviour: (b) => (b.claims["nonce"] = undefined) }],
    ["another audience", { behaviour: (b) => (b.claims["aud"] = "another-client") }],
    ["several audiences without azp", { behaviour: (b) => (b.claims["aud"] = [clientId, "another-client"]) }],
    ["another issuer", { behaviour: (b) => (b.claims["iss"] = "https://evil.example") }],
    ["an expired ID token", { behaviour: (b) => (b.claims["exp"] = now - 3_600) }],
    ["one that is not valid yet", { behaviour: (b) => (b.claims["nbf"] = now + 3_600) }],
    ["no subject", { behaviour: (b) => (b.claims["sub"] = undefined) }],
    ["alg none", { behaviour: (b) => (b.idToken = `${segment({ alg: "none" })}.${segment({ sub: "ada" })}.`) }],
    ["groups of the wrong shape", { behaviour: (b) => (b.claims["groups"] = { staff: true }) }],
    ["groups that are elsewhere", { behaviour: (b) => (b.claims["_claim_names"] = { groups: "src1" }) }],
    ["an empty subject", { party: { subjectFrom: "oid" }, behaviour: (b) => (b.claims["oid"] = "") }],
    ["a subject that is too long", { behaviour: (b) => (b.claims["sub"] = "x".repeat(limits.identityCharsMax + 1)) }],
    [
      "an email nobody verified",
      { party: { subjectFrom: "email" }, behaviour: (b) => (b.claims["email"] = "a@b.test") },
    ],
    [
      "an email nobody verified, by its pointer",
      { party: { subjectFrom: "/email" }, behaviour: (b) => (b.claims["email"] = "a@b.test") },
    ],
  ])("%s", async (_, steps) => {
    expect(await signIn(steps)).toMatchObject({ ok: false, refusal: { code: "SIGNIN_ANSWER_INVALID" } });
  });

  it("a signature by a key that the provider does not publish", async () => {
    const forged = await foreign;
    expect(await signIn({ behaviour: (b) => (b.signer = forged) })).toMatchObject({
      refusal: { code: "SIGNIN_ANSWER_INVALID" },
    });
  });

  it("HS256 with the client's own secret or the public key", async () => {
    for (const key of ["s3cret of the gateway", JSON.stringify(provider.key.jwk)]) {
      const steps: Steps = {
        behaviour: (b) => {
          b.metadata["id_token_signing_alg_values_supported"] = ["HS256", "ES256"];
          b.idToken = hs256(key);
        },
      };
      expect(await signIn(steps)).toMatchObject({ refusal: { code: "SIGNIN_ANSWER_INVALID" } });
    }
  });

  it("an attempt of which nothing was kept", async () => {
    const answer = { ...attempt, kept: "", parameters: new URLSearchParams() };
    expect(await provider.party().finish(answer)).toMatchObject({ refusal: { code: "SIGNIN_ANSWER_INVALID" } });
  });

  it("the code of one attempt brought to another: the verifier does not fit", async () => {
    const party = provider.party();
    const [mine, theirs] = [await party.begin(attempt), await party.begin(attempt)];
    if (!mine.ok || !theirs.ok) throw new Error("no attempt");
    const parameters = provider.approve(theirs.value.url);
    const finished = await party.finish({ ...attempt, kept: mine.value.kept, parameters });
    expect(finished).toMatchObject({ refusal: { code: "SIGNIN_ANSWER_INVALID" } });
  });

  it("carries neither code nor token into the refusal", async () => {
    const refused = await signIn({ behaviour: (b) => (b.claims["nonce"] = "another") });
    if (refused.ok) throw new Error("was accepted");
    expect(Object.keys(refused.refusal)).toEqual(["code", "facts"]);
    expect(JSON.stringify(refused.refusal)).not.toMatch(/eyJ|access|refresh-1/);
  });
});

describe("what the provider says no to, or cannot say", () => {
  it("its error is SIGNIN_DECLINED with the code, and text of its own is not repeated", async () => {
    const declined = (error: string): Promise<Result<SignedIn>> =>
      signIn({
        answer: (a) => {
          a.delete("code");
          a.set("error", error);
        },
      });
    expect(await declined("access_denied")).toMatchObject({
      refusal: { code: "SIGNIN_DECLINED", facts: { error: "access_denied" } },
    });
    expect(await declined("<b>call 555</b>")).toMatchObject({ refusal: { facts: { error: "unreadable" } } });
  });

  it("an error without the right state is no answer to this attempt", async () => {
    const steps: Steps = {
      answer: (a) => {
        a.set("error", "access_denied");
        a.set("state", "another");
      },
    };
    expect(await signIn(steps)).toMatchObject({ refusal: { code: "SIGNIN_ANSWER_INVALID" } });
  });

  it.each<[string, (behaviour: Behaviour) => void]>([
    ["its token endpoint is overloaded", (b) => (b.tokenStatus = 503)],
    ["it does not know the gateway", (b) => (b.tokenError = { status: 401, error: "invalid_client" })],
    ["its token endpoint fails", (b) => (b.tokenError = { status: 500, error: "server_error" })],
    ["its metadata names another issuer", (b) => (b.metadata["issuer"] = "https://evil.example")],
    ["its metadata adds a slash to the issuer", (b) => (b.metadata["issuer"] = `${provider.issuer}/`)],
    ["its metadata has no keys", (b) => (b.metadata["jwks_uri"] = undefined)],
    ["its metadata has no token endpoint", (b) => (b.metadata["token_endpoint"] = undefined)],
    [
      "it sends browsers elsewhere than to the web",
      (b) => (b.metadata["authorization_endpoint"] = "javascript:alert(1)"),
    ],
    ["its token endpoint is inside", (b) => (b.metadata["token_endpoint"] = "http://10.0.0.1/token")],
    ["its keys are at the cloud's metadata service", (b) => (b.metadata["jwks_uri"] = "http://169.254.169.254/k")],
    [
      "groups are missing and UserInfo fails",
      (b) => {
        b.claims["groups"] = undefined;
        b.userInfo = 500;
      },
    ],
  ])("SIGNIN_PROVIDER_UNAVAILABLE: %s", async (_, behave) => {
    expect(await signIn({ behaviour: behave })).toMatchObject({ refusal: { code: "SIGNIN_PROVIDER_UNAVAILABLE" } });
  });

  it("a provider that is down is asked again only after a pause, and metadata that came is kept for its age", async () => {
    let now = Date.now();
    const party = provider.party({ now: () => now });
    const asked = (): number => provider.http.asked.filter((path) => path.includes("openid-configuration")).length;
    provider.behaviour.metadata["issuer"] = "https://evil.example";
    expect((await party.begin(attempt)).ok).toBe(false);
    provider.behaviour.metadata = {};
    now += limits.issuerKeysRetryMsMin - 1;
    expect((await party.begin(attempt)).ok).toBe(false);
    expect(asked()).toBe(1);
    now += 1;
    expect((await party.begin(attempt)).ok).toBe(true);
    now += limits.issuerKeysAgeMsMax - 1;
    expect((await party.begin(attempt)).ok).toBe(true);
    expect(asked()).toBe(2);
    now += 1;
    await Promise.all([party.begin(attempt), party.begin(attempt)]);
    expect(asked()).toBe(3);
  });
});

describe("claims that the ID token lacks are asked of UserInfo", () => {
  const without = (...names: string[]): Steps => ({
    behaviour: (b) => {
      for (const name of names) b.claims[name] = undefined;
    },
  });

  it("groups and the name", async () => {
    expect(await signIn(without("groups", "name"))).toMatchObject({ value: { groups: ["staff"], name: "Ada L" } });
  });

  it("never in place of what the ID token says", async () => {
    const steps = without("name");
    expect(await signIn(steps)).toMatchObject({ value: { groups: ["staff", "leads"] } });
  });

  it("and not of another subject's UserInfo", async () => {
    provider.behaviour.userInfo = { sub: "bob", groups: ["admins"] };
    expect(await signIn(without("groups"))).toMatchObject({ refusal: { code: "SIGNIN_ANSWER_INVALID" } });
  });

  it("a name alone is not worth a failure", async () => {
    provider.behaviour.userInfo = 500;
    expect(await signIn(without("name"))).toMatchObject({ ok: true, value: { name: "ada" } });
  });

  it("nothing is asked when the ID token has it all", async () => {
    await signIn();
    expect(provider.http.asked).not.toContain("/userinfo");
  });
});

describe("who the person is", () => {
  it.each<[string, Partial<RelyingPartyOptions>, Record<string, unknown>, object]>([
    ["a claim that configuration names", { subjectFrom: "oid" }, { oid: "4711" }, { subject: "4711" }],
    [
      "an email that the provider verified, in its one spelling",
      { subjectFrom: "email" },
      { email: "Ada@B.Test", email_verified: true },
      { subject: "ada@b.test", email: "Ada@B.Test" },
    ],
    ["groups within an object", { groupsClaim: "/realm/roles" }, { realm: { roles: ["r1"] } }, { groups: ["r1"] }],
    ["one group as text", {}, { groups: "solo" }, { groups: ["solo"] }],
    ["no groups where none are configured", { groupsClaim: undefined }, {}, { groups: [] }],
    ["the most groups", {}, { groups: Array.from({ length: limits.groupsPerPersonMax }, String) }, { subject: "ada" }],
  ])("%s", async (_, party, claims, expected) => {
    expect(await signIn({ party, behaviour: (b) => Object.assign(b.claims, claims) })).toMatchObject({
      value: expected,
    });
  });

  it("one group more than the most is refused", async () => {
    const groups = Array.from({ length: limits.groupsPerPersonMax + 1 }, String);
    expect(await signIn({ behaviour: (b) => (b.claims["groups"] = groups) })).toMatchObject({ ok: false });
  });
});
