import { describe, expect, it } from "vitest";
import { deniedTokenKey, denyDigest } from "../../src/auth/deny-list.ts";
import { createAuthenticator } from "../../src/auth/authenticate.ts";
import type { Authenticator } from "../../src/auth/authenticate.ts";
import type { TrustedIssuer } from "../../src/auth/trusted-issuer.ts";
import { limits } from "../../src/model/limits.ts";
import type { Limits } from "../../src/model/limits.ts";
import type { Principal } from "../../src/model/principal.ts";
import type { Result } from "../../src/model/result.ts";
import { codeOf, denyList, issuer, refusalOf, resource, start, startSeconds } from "./harness.ts";

const endpoint = "https://login.test/introspect";

type Answer = Record<string, unknown> | (() => Response | Promise<Response>);

const good = { active: true, sub: "ada", aud: resource, client_id: "desktop", exp: startSeconds + 600, scope: "a b" };

interface Asked {
  readonly url: string;
  readonly token: string | null;
  readonly hint: string | null;
  readonly authorization: string | null;
}

interface Bench {
  readonly authenticator: Authenticator;
  readonly list: ReturnType<typeof denyList>;
  /** Every question, in order. */
  readonly asked: Asked[];
  /** What tokens are answered with; a token that is absent is not active. */
  readonly answers: Map<string, Answer>;
  present(token: string, laterMs?: number, at?: string): Promise<Result<Principal>>;
}

function bench(more: { readonly trusted?: Partial<TrustedIssuer>; readonly limits?: Partial<Limits> } = {}): Bench {
  const asked: Asked[] = [];
  const answers = new Map<string, Answer>([["good", good]]);
  const fetch = async (url: string | URL, init?: RequestInit): Promise<Response> => {
    const form = init?.body as URLSearchParams;
    const token = form.get("token");
    const headers = new Headers(init?.headers);
    asked.push({
      url: String(url),
      token,
      hint: form.get("token_type_hint"),
      authorization: headers.get("authorization"),
    });
    const answer = answers.get(token ?? "") ?? { active: false };
    return typeof answer === "function" ? answer() : Promise.resolve(Response.json(answer));
  };
  const trusted: TrustedIssuer = {
    alias: "corp",
    issuer,
    keys: { kind: "local", keys: () => ({ keys: [] }) },
    introspection: { clientId: "gate way", clientSecret: "a:b%", endpoint },
    ...more.trusted,
  };
  const list = denyList();
  const authenticator = createAuthenticator({
    issuers: [trusted],
    opaqueIssuers: new Map([[resource, "corp"]]),
    fetch,
    denyList: list,
    limits: { ...limits, ...more.limits },
  });
  const present: Bench["present"] = async (token, laterMs = 0, at = resource) =>
    authenticator.authenticate({ authorization: [`Bearer ${token}`], resource: at, now: start + laterMs });
  return { authenticator, list, asked, answers, present };
}

describe("a token that is no JWT", () => {
  it("is who its issuer says, which is asked as RFC 7662 and RFC 6749 say", async () => {
    const one = bench();
    const result = await one.present("good");
    expect(result.ok && result.value).toMatchObject({
      issuer,
      subject: "ada",
      clientId: "desktop",
      scopes: ["a", "b"],
      expiresAt: startSeconds + 600,
    });
    const authorization = `Basic ${Buffer.from("gate+way:a%3Ab%25").toString("base64")}`;
    expect(one.asked).toEqual([{ url: endpoint, token: "good", hint: "access_token", authorization }]);
  });

  it.each(["one.two", "a.b.c.d", "a.b.c.d.e"])("may have dots: %s", async (token) => {
    const one = bench();
    one.answers.set(token, good);
    expect(codeOf(await one.present(token))).toBe("ok");
  });

  it("is never shown to anybody at a server whose issuer is not asked", async () => {
    const one = bench();
    expect(codeOf(await one.present("good", 0, "https://gw.test/billing/mcp"))).toBe("AUTH_TOKEN_MALFORMED");
    expect(codeOf(await one.present("a.b.c.d.e", 0, "https://gw.test/billing/mcp"))).toBe("AUTH_TOKEN_ENCRYPTED");
    expect(one.asked).toEqual([]);
  });

  it("that looks like a JWT is judged as one, and nobody is asked", async () => {
    const one = bench();
    expect(codeOf(await one.present("a.b.c"))).toBe("AUTH_TOKEN_MALFORMED");
    expect(one.asked).toEqual([]);
  });

  it.each<[string, Record<string, unknown>, string]>([
    ["not active", { active: false }, "AUTH_TOKEN_INACTIVE"],
    ["not active, whatever else is said", { ...good, active: false }, "AUTH_TOKEN_INACTIVE"],
    ["for another server", { ...good, aud: "https://gw.test/billing/mcp" }, "AUTH_AUDIENCE_MISMATCH"],
    ["for nobody in particular", { ...good, aud: undefined }, "AUTH_AUDIENCE_MISMATCH"],
    ["of several audiences, one of them this", { ...good, aud: ["x", resource] }, "ok"],
    ["of this issuer in so many words", { ...good, iss: issuer }, "ok"],
    ["of another issuer", { ...good, iss: "https://evil.test" }, "AUTH_ISSUER_UNKNOWN"],
    ["of an issuer that is no text", { ...good, iss: 1 }, "AUTH_CLAIM_INVALID"],
    ["expired all the same", { ...good, exp: startSeconds - 60 }, "AUTH_TOKEN_EXPIRED"],
    ["not valid yet", { ...good, nbf: startSeconds + 60 }, "AUTH_TOKEN_NOT_YET_VALID"],
    ["a refresh token", { ...good, token_type: "refresh_token" }, "AUTH_TOKEN_TYPE_REFUSED"],
    ["a refresh token by its claim", { ...good, typ: "Refresh" }, "AUTH_TOKEN_TYPE_REFUSED"],
    ["an access token in so many words", { ...good, token_type: "bearer" }, "ok"],
    ["bound in a way that is not known", { ...good, cnf: { kid: "k" } }, "AUTH_TOKEN_TYPE_REFUSED"],
    ["of the DPoP kind, without a key", { ...good, token_type: "DPoP" }, "AUTH_TOKEN_TYPE_REFUSED"],
    ["nobody's", { ...good, sub: undefined }, "AUTH_CLAIM_INVALID"],
  ])("is %s", async (_, answer, expected) => {
    const one = bench();
    one.answers.set("t", answer);
    expect(codeOf(await one.present("t"))).toBe(expected);
  });

  it("without an expiry counts for as long as it may be remembered", async () => {
    const one = bench();
    one.answers.set("t", { ...good, exp: undefined });
    const result = await one.present("t");
    expect(result.ok && result.value.expiresAt).toBe(startSeconds + limits.verifiedTokenSecondsMax);
  });
});

describe("an answer", () => {
  it("is remembered for a minute, and not a millisecond longer", async () => {
    const one = bench();
    for (const laterMs of [0, 1, 59_999]) expect(codeOf(await one.present("good", laterMs))).toBe("ok");
    expect(one.asked).toHaveLength(1);
    expect(codeOf(await one.present("good", 60_000))).toBe("ok");
    expect(one.asked).toHaveLength(2);
  });

  it("is not remembered beyond the token's expiry", async () => {
    const one = bench();
    one.answers.set("t", { ...good, exp: startSeconds + 5 });
    expect(codeOf(await one.present("t", 4_999))).toBe("ok");
    one.answers.set("t", { active: false });
    expect(codeOf(await one.present("t", 5_000))).toBe("AUTH_TOKEN_INACTIVE");
  });

  it("that somebody is denied wins over what is remembered, and what was remembered is forgotten", async () => {
    const one = bench();
    await one.present("good");
    const key = JSON.stringify(deniedTokenKey("default", denyDigest("good")));
    one.list.denied.add(key);
    expect(codeOf(await one.present("good", 1))).toBe("AUTH_TOKEN_REVOKED");
    one.list.denied.delete(key);
    one.answers.set("good", { active: false });
    expect(codeOf(await one.present("good", 2))).toBe("AUTH_TOKEN_INACTIVE");
  });

  it("of one token says nothing of another that begins alike", async () => {
    const one = bench();
    one.list.denied.add(JSON.stringify(deniedTokenKey("default", denyDigest("good"))));
    one.answers.set("goof", good);
    expect(codeOf(await one.present("goof"))).toBe("ok");
  });

  it("is shared by all who ask about the same token at once", async () => {
    const one = bench();
    const found = await Promise.all(Array.from({ length: 50 }, () => one.present("good")));
    expect(new Set(found.map(codeOf))).toEqual(new Set(["ok"]));
    expect(one.asked).toHaveLength(1);
  });
});

describe("strangers", () => {
  it("who repeat a token that is not active cost one question in ten seconds", async () => {
    const one = bench();
    for (const laterMs of [0, 1, 9_999]) expect(codeOf(await one.present("bad", laterMs))).toBe("AUTH_TOKEN_INACTIVE");
    expect(one.asked).toHaveLength(1);
    await one.present("bad", 10_000);
    expect(one.asked).toHaveLength(2);
  });

  it("who make tokens up cost a bounded number of questions in a window, and people who are signed in nothing", async () => {
    const one = bench({ limits: { verifiedTokenSecondsMax: 0 } });
    await one.present("good");
    for (let index = 0; index < 500; index += 1) await one.present(`made-up-${index}`, index);
    expect(one.asked).toHaveLength(1 + limits.introspectionsInactivePerWindowMax);
    const refusal = refusalOf(await one.present("made-up", 600));
    expect(refusal).toMatchObject({
      code: "AUTH_ISSUER_UNAVAILABLE",
      facts: { reason: "too many tokens were not active" },
    });
    expect(codeOf(await one.present("good", 601))).toBe("ok");
    one.answers.set("fresh", good);
    expect(codeOf(await one.present("fresh", 602))).toBe("AUTH_ISSUER_UNAVAILABLE");
    expect(codeOf(await one.present("fresh", limits.introspectionWindowMs))).toBe("ok");
  });

  it("who make the endpoint fail with what they send stop nobody who is signed in, and one another", async () => {
    const one = bench({ limits: { verifiedTokenSecondsMax: 0 } });
    await one.present("good");
    for (const odd of ["odd", "odder"]) one.answers.set(odd, () => new Response("{}", { status: 400 }));
    expect(codeOf(await one.present("odd", 1))).toBe("AUTH_ISSUER_UNAVAILABLE");
    expect(codeOf(await one.present("odder", 2))).toBe("AUTH_ISSUER_UNAVAILABLE");
    expect(one.asked.map(({ token }) => token)).toEqual(["good", "odd"]);
    expect(codeOf(await one.present("good", 3))).toBe("ok");
    one.answers.set("good", () => new Response("{}", { status: 500 }));
    for (const laterMs of [4, 5, 1_003]) await one.present("good", laterMs);
    expect(one.asked.map(({ token }) => token)).toEqual(["good", "odd", "good", "good"]);
    await one.present("good", 1_004);
    expect(one.asked).toHaveLength(5);
  });

  it("who come all at once keep a bounded number of questions open", async () => {
    const one = bench();
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const answer = async (): Promise<Response> => {
      await held;
      return Response.json({ active: false });
    };
    const tokens = Array.from({ length: 100 }, (_, index) => `made-up-${index}`);
    for (const token of tokens) one.answers.set(token, answer);
    const outcomes = tokens.map((token) => one.present(token));
    const last = refusalOf(await outcomes.at(-1)!);
    expect(last).toMatchObject({ code: "AUTH_ISSUER_UNAVAILABLE", facts: { reason: "too many questions are open" } });
    expect(one.asked).toHaveLength(limits.introspectionsInFlightMax);
    release();
    await Promise.all(outcomes);
    expect(codeOf(await one.present("good"))).toBe("ok");
  });
});

describe("an endpoint", () => {
  it.each<[string, () => Response | Promise<Response>]>([
    ["that is down", () => Promise.reject(new Error("ECONNREFUSED"))],
    ["that fails", () => new Response("{}", { status: 500 })],
    ["that does not know the gateway", () => Response.json({ error: "invalid_client" }, { status: 401 })],
    ["that answers a page", () => new Response("<html>", { headers: { "content-type": "text/html" } })],
    ["that answers a list", () => Response.json([])],
    ["that does not say whether the token is active", () => Response.json({ ...good, active: undefined })],
    ["whose `active` is text", () => Response.json({ ...good, active: "true" })],
    ["that answers without end", () => Response.json({ ...good, more: "x".repeat(limits.issuerMetadataBytesMax) })],
  ])("%s leaves open who it is: 503, and one question a second", async (_, answer) => {
    const one = bench();
    one.answers.set("t", answer);
    const refusal = refusalOf(await one.present("t"));
    expect(refusal).toMatchObject({
      code: "AUTH_ISSUER_UNAVAILABLE",
      facts: { issuer: "corp", needed: "introspection" },
    });
    expect(JSON.stringify(refusal?.facts)).not.toContain("good");
    expect(codeOf(await one.present("good", 999))).toBe("AUTH_ISSUER_UNAVAILABLE");
    expect(one.asked).toHaveLength(1);
    expect(codeOf(await one.present("good", 1_000))).toBe("ok");
  });

  it("that is down leaves those in who were verified within the minute", async () => {
    const one = bench();
    await one.present("good");
    one.answers.set("other", () => Promise.reject(new Error("down")));
    await one.present("other", 1);
    expect(codeOf(await one.present("good", 2))).toBe("ok");
  });

  it("is found by the issuer's metadata, read anew every ten minutes, when none is configured", async () => {
    const urls: string[] = [];
    const fetch = (url: string | URL): Promise<Response> => {
      urls.push(String(url));
      const isMetadata = String(url).includes("well-known");
      return Promise.resolve(Response.json(isMetadata ? { issuer, introspection_endpoint: endpoint } : good));
    };
    const one = bench({ trusted: { introspection: { clientId: "g", clientSecret: "s" }, fetch } });
    const metadata = "https://login.test/.well-known/oauth-authorization-server/realm";
    expect(codeOf(await one.present("good"))).toBe("ok");
    expect(codeOf(await one.present("good", 60_000))).toBe("ok");
    expect(urls).toEqual([metadata, endpoint, endpoint]);
    expect(codeOf(await one.present("good", limits.issuerKeysAgeMsMax))).toBe("ok");
    expect(urls.slice(3)).toEqual([metadata, endpoint]);
  });

  it.each([
    ["another issuer's", { issuer: "https://evil.test", introspection_endpoint: endpoint }],
    ["without one", { issuer }],
    ["one without TLS", { issuer, introspection_endpoint: "http://login.test/introspect" }],
  ])("that metadata names is not used when it is %s", async (_, metadata) => {
    const urls: string[] = [];
    const fetch = (url: string | URL): Promise<Response> => {
      urls.push(String(url));
      return Promise.resolve(Response.json(metadata));
    };
    const one = bench({ trusted: { introspection: { clientId: "g", clientSecret: "s" }, fetch } });
    expect(codeOf(await one.present("good"))).toBe("AUTH_ISSUER_UNAVAILABLE");
    expect(urls.every((url) => url.includes("well-known"))).toBe(true);
  });
});
