import { createHmac } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { wireRules } from "../../src/gateway/wire-rules.ts";
import type { RefusalCode } from "../../src/model/refusal.ts";
import { send } from "./http-client.ts";
import { eras, expectRefused, openBench } from "./refusal-bench.ts";
import type { RefusalBench } from "./refusal-bench.ts";
import { legacyCall, modernCall, refusalIn } from "./wire-client.ts";

let bench: RefusalBench;

beforeAll(async () => {
  bench = await openBench();
});

afterAll(async () => {
  await bench.close();
});

/** References that strangers were given, with the code they were given for. */
const toldStrangers = new Map<string, string>();

describe("a token at fault is answered 401 with one challenge", () => {
  const tokens: readonly {
    fault: string;
    code: RefusalCode;
    error: boolean;
    token: () => Promise<string | undefined>;
  }[] = [
    { fault: "none", code: "AUTH_TOKEN_MISSING", error: false, token: () => Promise.resolve(undefined) },
    { fault: "no JWT", code: "AUTH_TOKEN_MALFORMED", error: true, token: () => Promise.resolve("opaque-token") },
    { fault: "encrypted", code: "AUTH_TOKEN_ENCRYPTED", error: true, token: () => Promise.resolve("eyJ.a.b.c.d") },
    { fault: "expired", code: "AUTH_TOKEN_EXPIRED", error: true, token: () => minted({ exp: seconds() - 31 }) },
    {
      fault: "not yet valid",
      code: "AUTH_TOKEN_NOT_YET_VALID",
      error: true,
      token: () => minted({ nbf: seconds() + 60 }),
    },
    {
      fault: "for another server of this gateway",
      code: "AUTH_AUDIENCE_MISMATCH",
      error: true,
      token: () => minted({ aud: bench.gateway.resource("other") }),
    },
    {
      fault: "for another audience",
      code: "AUTH_AUDIENCE_MISMATCH",
      error: true,
      token: () => minted({ aud: "https://elsewhere.test/mcp" }),
    },
    {
      fault: "an ID token",
      code: "AUTH_TOKEN_TYPE_REFUSED",
      error: true,
      token: () => minted({ nonce: "n", at_hash: "h" }),
    },
    {
      fault: "of an issuer with a slash more",
      code: "AUTH_ISSUER_UNKNOWN",
      error: true,
      token: () => minted({ iss: `${bench.issuer.origin}/` }),
    },
    {
      fault: "signed with the public key as a secret",
      code: "AUTH_ALGORITHM_REFUSED",
      error: true,
      token: async () => {
        const head = Buffer.from('{"alg":"HS256","kid":"current","typ":"at+jwt"}').toString("base64url");
        const input = `${head}.${((await minted({})) ?? "").split(".")[1]}`;
        const secret = JSON.stringify(bench.issuer.key.jwk);
        return `${input}.${createHmac("sha256", secret).update(input).digest("base64url")}`;
      },
    },
    {
      fault: "without an audience",
      code: "AUTH_AUDIENCE_MISMATCH",
      error: true,
      token: () => minted({ aud: undefined }),
    },
    {
      fault: "of another issuer",
      code: "AUTH_ISSUER_UNKNOWN",
      error: true,
      token: () => minted({ iss: "https://evil.test" }),
    },
    {
      fault: "with another signature",
      code: "AUTH_SIGNATURE_INVALID",
      error: true,
      token: async () => {
        const [head, , signature] = ((await minted({})) ?? "").split(".");
        const [, body] = ((await minted({ sub: "root" })) ?? "").split(".");
        return `${head}.${body}.${signature}`;
      },
    },
    {
      fault: "unsigned",
      code: "AUTH_ALGORITHM_REFUSED",
      error: true,
      token: async () => {
        const head = Buffer.from('{"alg":"none","kid":"current","typ":"at+jwt"}').toString("base64url");
        return `${head}.${((await minted({})) ?? "").split(".")[1]}.`;
      },
    },
  ];
  const seconds = (): number => Math.floor(Date.now() / 1000);
  const minted = (claims: Record<string, unknown>): Promise<string | undefined> =>
    bench.issuer.mint(bench.gateway.resource("alpha"), claims);

  it.each(tokens.flatMap((token) => eras.map((era) => ({ era, ...token }))))(
    "$era: $fault is $code",
    async ({ era, code, error, token }) => {
      const { gateway, upstream, aliceInSession } = bench;
      const before = upstream.received.length;
      const caller = { gateway, server: "alpha", token: await token(), session: aliceInSession.session };
      const answer = await (era === "legacy" ? legacyCall(caller, "tools/list") : modernCall(caller, "tools/list"));
      const ref = expectRefused(answer, { status: 401, rpc: -32600, code });
      toldStrangers.set(ref, code);
      const challenge = String(answer.headers["www-authenticate"]);
      const metadata = `${gateway.publicUrl}/.well-known/oauth-protected-resource/alpha/mcp`;
      expect(challenge.startsWith("Bearer ")).toBe(true);
      expect(challenge).toContain(`resource_metadata="${metadata}"`);
      expect(challenge.includes('error="invalid_token"')).toBe(error);
      // What is wrong is said to whoever reads the client's log, and nothing of the token is.
      expect(challenge.includes(`error_description="${wireRules[code].text}"`)).toBe(error);
      expect(upstream.received.length).toBe(before);
    },
  );

  const methods = ["GET", "HEAD", "POST", "DELETE", "PUT", "PATCH", "TRACE", "PROPFIND", "QUERY"];
  const types = [undefined, "application/json", "text/plain", ";;"];
  it.each(methods.flatMap((method) => types.map((type) => ({ method, type }))))(
    "401 comes before 404, 405, 406 and 415: $method as $type",
    async ({ method, type }) => {
      const headers = { "content-type": type, accept: "image/png", "content-length": "2" };
      const answer = await send({ port: bench.gateway.port, path: "/alpha/mcp", method, headers, body: "no" });
      expect(answer.status).toBe(401);
      expect(answer.headers["www-authenticate"]).toContain("resource_metadata=");
      if (method !== "HEAD") toldStrangers.set(refusalIn(answer).ref, "AUTH_TOKEN_MISSING");
    },
  );
});

describe("strangers' refusals", () => {
  interface Knock {
    readonly at: string;
    readonly path: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly status: number;
    readonly code: RefusalCode;
  }
  const knocks: readonly Knock[] = [
    { at: "a server that is not configured", path: "/nope/mcp", status: 404, code: "SERVER_UNKNOWN" },
    { at: "a path of nothing", path: "/nope", status: 404, code: "ROUTE_UNKNOWN" },
    {
      at: "metadata of no server",
      path: "/.well-known/oauth-protected-resource/nope/mcp",
      status: 404,
      code: "ROUTE_UNKNOWN",
    },
    { at: "root metadata", path: "/.well-known/oauth-protected-resource", status: 404, code: "ROUTE_UNKNOWN" },
    { at: "a malformed URL", path: "/%zz", status: 400, code: "URL_MALFORMED" },
    { at: "another host", path: "/alpha/mcp", headers: { host: "evil.test" }, status: 403, code: "HOST_NOT_ALLOWED" },
    {
      at: "another host, elsewhere",
      path: "/x",
      headers: { host: "evil.test" },
      status: 403,
      code: "HOST_NOT_ALLOWED",
    },
    {
      at: "another origin",
      path: "/alpha/mcp",
      headers: { origin: "https://evil.test" },
      status: 403,
      code: "ORIGIN_NOT_ALLOWED",
    },
    { at: "the null origin", path: "/alpha/mcp", headers: { origin: "null" }, status: 403, code: "ORIGIN_NOT_ALLOWED" },
  ];
  it.each(knocks.flatMap((knock) => ["GET", "POST"].map((method) => ({ method, ...knock }))))(
    "$method $at is $code, whatever the media type",
    async ({ method, path, headers = {}, status, code }) => {
      const all = { "content-type": ";;", ...headers };
      const answer = await send({ port: bench.gateway.port, path, method, headers: all });
      toldStrangers.set(expectRefused(answer, { status, rpc: -32600, code }), code);
      expect(answer.headers["www-authenticate"]).toBeUndefined();
    },
  );

  it("are counted, and each reference that was told leads to its count", async () => {
    await bench.gateway.stop();
    const counted = bench.gateway.audit().filter(({ type }) => type === "strangers");
    const codes = new Map(counted.map(({ ref, refusal }) => [ref, refusal?.code]));
    for (const [ref, code] of toldStrangers) expect(codes.get(ref)).toBe(code);
    expect(counted.every((event) => event.principal === undefined && (event.strangers?.count ?? 0) > 0)).toBe(true);
    expect(bench.upstream.ledger).toEqual([]);
  });
});
