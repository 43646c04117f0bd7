import type { ServerResponse } from "node:http";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { metadataUrls } from "../../src/auth/issuer-metadata.ts";
import type { KeySource, TrustedIssuer } from "../../src/auth/trusted-issuer.ts";
import type { Limits } from "../../src/model/limits.ts";
import { bench, codeOf, goodClaims, refusalOf } from "./harness.ts";
import type { Bench } from "./harness.ts";
import { mockIssuer, sign, signer } from "./mock-issuer.ts";
import type { MockIssuer, Signer } from "./mock-issuer.ts";

let idp: MockIssuer;
let first: Signer;
let second: Signer;

beforeEach(async () => {
  idp = await mockIssuer();
  [first, second] = await Promise.all([signer("k1"), signer("k2")]);
});

afterEach(() => idp.close());

/** A gateway that trusts `iss` over real sockets, and a way to make tokens of it. */
function trusting(
  iss: string,
  options: { keys?: KeySource; limits?: Partial<Limits> } = {},
): Bench & { token: (by: Signer) => Promise<string> } {
  const trusted: TrustedIssuer = { alias: "corp", issuer: iss, keys: options.keys ?? { kind: "discovery" } };
  const one = bench([trusted], { fetch, limits: options.limits ?? {} });
  return { ...one, token: (by) => sign(by, { ...goodClaims, iss }) };
}

function publish(path: string, iss: string): void {
  idp.places.set(path, { issuer: iss, jwks_uri: `${idp.origin}/jwks` });
  idp.places.set("/jwks", { keys: [first.jwk] });
}

describe("metadataUrls", () => {
  it.each([
    ["https://a.test", ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"]],
    ["https://a.test/", ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"]],
    [
      "https://a.test/realms/x",
      [
        "/.well-known/oauth-authorization-server/realms/x",
        "/.well-known/openid-configuration/realms/x",
        "/realms/x/.well-known/openid-configuration",
      ],
    ],
    [
      "https://a.test/realms/x/",
      [
        "/.well-known/oauth-authorization-server/realms/x",
        "/.well-known/openid-configuration/realms/x",
        "/realms/x/.well-known/openid-configuration",
      ],
    ],
  ])("of %s", (issuer, paths) => {
    expect(metadataUrls(issuer)).toEqual(paths.map((path) => `https://a.test${path}`));
  });
});

describe("an issuer's metadata", () => {
  it.each([
    "/.well-known/oauth-authorization-server/realm",
    "/.well-known/openid-configuration/realm",
    "/realm/.well-known/openid-configuration",
  ])("is found at %s", async (path) => {
    const iss = `${idp.origin}/realm`;
    publish(path, iss);
    const one = trusting(iss);
    expect(codeOf(await one.present(await one.token(first)))).toBe("ok");
    expect(idp.asked.slice(-2)).toEqual([path, "/jwks"]);
  });

  it("of an issuer that differs by a slash is not used", async () => {
    publish("/.well-known/oauth-authorization-server/realm", `${idp.origin}/realm/`);
    const one = trusting(`${idp.origin}/realm`);
    expect(codeOf(await one.present(await one.token(first)))).toBe("AUTH_ISSUER_UNAVAILABLE");
    expect(idp.asked).not.toContain("/jwks");
  });

  it("of another issuer at the first place does not hide the right one at the next", async () => {
    const iss = `${idp.origin}/realm`;
    publish("/.well-known/oauth-authorization-server/realm", "https://evil.test");
    publish("/realm/.well-known/openid-configuration", iss);
    const one = trusting(iss);
    expect(codeOf(await one.present(await one.token(first)))).toBe("ok");
  });

  it("is not followed through a redirect", async () => {
    const iss = `${idp.origin}/realm`;
    publish("/elsewhere", iss);
    idp.places.set("/.well-known/oauth-authorization-server/realm", (_: unknown, response: ServerResponse) => {
      response.writeHead(302, { location: "/elsewhere" }).end();
    });
    const one = trusting(iss);
    expect(codeOf(await one.present(await one.token(first)))).toBe("AUTH_ISSUER_UNAVAILABLE");
    expect(idp.asked).not.toContain("/elsewhere");
  });

  it.each([
    ["without a jwks_uri", {}],
    ["with a jwks_uri that is no URL", { jwks_uri: "/jwks" }],
  ])("%s is none", async (_, more) => {
    const iss = idp.origin;
    idp.places.set("/.well-known/oauth-authorization-server", { issuer: iss, ...more });
    const one = trusting(iss);
    expect(codeOf(await one.present(await one.token(first)))).toBe("AUTH_ISSUER_UNAVAILABLE");
  });

  it("of an issuer with TLS may not lead to keys without it", async () => {
    const iss = "https://login.test";
    const asked: string[] = [];
    const answer = (url: string | URL | Request): Promise<Response> => {
      asked.push(url as string);
      return Promise.resolve(Response.json({ issuer: iss, jwks_uri: "http://login.test/jwks" }));
    };
    const one = bench([{ alias: "corp", issuer: iss, keys: { kind: "discovery" } }], { fetch: answer });
    expect(codeOf(await one.present(await sign(first, { ...goodClaims, iss })))).toBe("AUTH_ISSUER_UNAVAILABLE");
    expect(asked).not.toContain("http://login.test/jwks");
  });
});

describe("an issuer's keys over the wire", () => {
  const iss = "https://login.test";
  const at = (): KeySource => ({ kind: "jwksUri", uri: `${idp.origin}/jwks` });

  it("rotate: a new key's first token is accepted after one fetch, and the old key's are refused", async () => {
    idp.places.set("/jwks", { keys: [first.jwk] });
    const one = trusting(iss, { keys: at() });
    const old = await one.token(first);
    expect(codeOf(await one.present(old))).toBe("ok");
    idp.places.set("/jwks", { keys: [second.jwk] });
    const fresh = await one.token(second);
    const found = await Promise.all(Array.from({ length: 10 }, () => one.present(fresh, 1)));
    expect(new Set(found.map(codeOf))).toEqual(new Set(["ok"]));
    expect(idp.asked).toEqual(["/jwks", "/jwks"]);
    expect(codeOf(await one.present(old, 2))).toBe("AUTH_KEY_UNKNOWN");
  });

  it("are fetched at most twice for a storm of unknown kids", async () => {
    idp.places.set("/jwks", { keys: [first.jwk] });
    const one = trusting(iss, { keys: at() });
    const tokens = await Promise.all(
      Array.from({ length: 200 }, (_, index) => sign(first, { ...goodClaims, iss }, { kid: `random-${index}` })),
    );
    const outcomes = await Promise.all(tokens.map((token, index) => one.present(token, index)));
    expect(new Set(outcomes.map(codeOf))).toEqual(new Set(["AUTH_KEY_UNKNOWN"]));
    expect(idp.asked.length).toBeLessThanOrEqual(2);
  });

  it("are not fetched for a token that would be refused anyway", async () => {
    const one = trusting(iss, { keys: at() });
    await one.present(await sign(first, { ...goodClaims, iss, aud: "other" }));
    await one.present(await sign(first, { ...goodClaims, iss, exp: 1 }));
    await one.present(await sign(first, { ...goodClaims, iss: "https://evil.test" }));
    expect(idp.asked).toEqual([]);
  });

  it("are refused beyond the greatest size, and accepted at it", async () => {
    const set = JSON.stringify({ keys: [first.jwk] });
    idp.places.set("/jwks", { keys: [first.jwk] });
    const exact = trusting(iss, { keys: at(), limits: { issuerMetadataBytesMax: set.length } });
    expect(codeOf(await exact.present(await exact.token(first)))).toBe("ok");
    const tight = trusting(iss, { keys: at(), limits: { issuerMetadataBytesMax: set.length - 1 } });
    expect(codeOf(await tight.present(await tight.token(first)))).toBe("AUTH_ISSUER_UNAVAILABLE");
  });

  it("that never end are read no further than the greatest size", async () => {
    let closed = false;
    idp.places.set("/jwks", (_: unknown, response: ServerResponse) => {
      const more = setInterval(() => response.write(" ".repeat(10_000)), 1);
      response.on("close", () => {
        closed = true;
        clearInterval(more);
      });
    });
    const one = trusting(iss, { keys: at() });
    expect(codeOf(await one.present(await one.token(first)))).toBe("AUTH_ISSUER_UNAVAILABLE");
    await expect.poll(() => closed).toBe(true);
  });

  it.each<[string, (response: ServerResponse) => void]>([
    ["an error", (response) => response.writeHead(500).end("{}")],
    ["a page", (response) => response.writeHead(200, { "content-type": "text/html" }).end("<html>")],
    ["a list", (response) => response.writeHead(200).end("[]")],
    ["a broken connection", (response) => response.destroy()],
    [
      "half a body",
      (response) => response.writeHead(200, { "content-length": "100" }).write("{", () => response.destroy()),
    ],
  ])("answered with %s make the issuer unavailable, and the message quotes nothing of it", async (_, answer) => {
    idp.places.set("/jwks", (__: unknown, response: ServerResponse) => {
      answer(response);
    });
    const one = trusting(iss, { keys: at() });
    const refusal = refusalOf(await one.present(await one.token(first)));
    expect(refusal).toMatchObject({ code: "AUTH_ISSUER_UNAVAILABLE", facts: { issuer: "corp" } });
    expect(String(refusal?.cause)).not.toContain("<html>");
  });

  it("that do not answer in time make the issuer unavailable", async () => {
    idp.places.set("/jwks", () => undefined);
    const one = trusting(iss, { keys: at(), limits: { issuerFetchTimeoutMs: 50 } });
    expect(codeOf(await one.present(await one.token(first)))).toBe("AUTH_ISSUER_UNAVAILABLE");
  });

  it("that stop in the middle of the body make the issuer unavailable too", async () => {
    idp.places.set("/jwks", (_: unknown, response: ServerResponse) => {
      response.writeHead(200).write('{"keys":');
    });
    const one = trusting(iss, { keys: at(), limits: { issuerFetchTimeoutMs: 200 } });
    expect(codeOf(await one.present(await one.token(first)))).toBe("AUTH_ISSUER_UNAVAILABLE");
  });

  it("come through the issuer's own fetch where it has one", async () => {
    idp.places.set("/jwks", { keys: [first.jwk] });
    const one = bench([{ alias: "corp", issuer: iss, keys: at(), fetch }]);
    expect(codeOf(await one.present(await sign(first, { ...goodClaims, iss })))).toBe("ok");
  });
});
