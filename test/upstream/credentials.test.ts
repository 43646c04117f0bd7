import { createServer } from "node:http";
import type { IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { metadataUrls } from "../../src/upstream/credentials/discover-issuer.ts";
import { staticHeaders } from "../../src/upstream/credentials/static-headers.ts";
import { alice, bob, call, closeAfter, roomFor, scripted, summary } from "./setup.ts";

interface Issuer {
  readonly url: string;
  readonly asked: { readonly headers: IncomingHttpHeaders; readonly body: string }[];
  tokenStatus: number;
  expiresIn: number | undefined;
  tokenType: string;
  named: string | undefined;
  wellKnown: string;
  tokenEndpoint: string | undefined;
}

async function issuer(): Promise<Issuer> {
  let count = 0;
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      response.setHeader("content-type", "application/json");
      if (request.url === state.wellKnown) {
        response.end(
          JSON.stringify({
            issuer: state.named ?? state.url,
            token_endpoint: state.tokenEndpoint ?? `${state.url}/token`,
          }),
        );
      } else if (request.url === "/token") {
        state.asked.push({ headers: request.headers, body });
        count += 1;
        response.statusCode = state.tokenStatus;
        const token = { access_token: `token-${count}`, token_type: state.tokenType, expires_in: state.expiresIn };
        response.end(JSON.stringify(state.tokenStatus === 200 ? token : { error: "invalid_client" }));
      } else {
        response.statusCode = 404;
        response.end("{}");
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closeAfter(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  const state: Issuer = {
    url: `http://127.0.0.1:${port}`,
    asked: [],
    tokenStatus: 200,
    expiresIn: 600,
    tokenType: "Bearer",
    named: undefined,
    wellKnown: "/.well-known/oauth-authorization-server",
    tokenEndpoint: undefined,
  };
  return state;
}

const secret = { method: "client_secret_basic", clientSecret: "s:e/c" } as const;
const client = { type: "clientCredentials", clientId: "gate way", authentication: secret } as const;

describe("client credentials", () => {
  it("fetch one token for parallel calls of two accounts and send it to the upstream alone", async () => {
    const [upstream, idp] = [await scripted(), await issuer()];
    const credential = { ...client, issuer: idp.url, scopes: ["a", "b"], resource: "https://up.example/mcp" };
    const { upstreams } = roomFor(upstream.url, { options: { era: "modern", credential } });
    const answers = await Promise.all([alice, bob, alice].map((account) => upstreams.request(call({ account }))));
    expect(answers.map(summary)).toEqual(["result", "result", "result"]);
    expect(idp.asked).toHaveLength(1);
    expect(Object.fromEntries(new URLSearchParams(idp.asked[0]?.body))).toEqual({
      grant_type: "client_credentials",
      scope: "a b",
      resource: "https://up.example/mcp",
    });
    expect(idp.asked[0]?.headers.authorization).toBe(`Basic ${Buffer.from("gate+way:s%3Ae%2Fc").toString("base64")}`);
    expect(upstream.received.map((request) => request.header("authorization"))).toEqual([
      "Bearer token-1",
      "Bearer token-1",
      "Bearer token-1",
    ]);
  });

  it("may be posted in the body", async () => {
    const [upstream, idp] = [await scripted(), await issuer()];
    const authentication = { ...secret, method: "client_secret_post" } as const;
    const credential = { ...client, issuer: idp.url, authentication };
    await roomFor(upstream.url, { options: { era: "modern", credential } }).upstreams.request(call());
    expect(idp.asked[0]?.headers.authorization).toBeUndefined();
    expect(Object.fromEntries(new URLSearchParams(idp.asked[0]?.body))).toMatchObject({
      client_id: "gate way",
      client_secret: "s:e/c",
    });
  });

  it.each([
    { expiresIn: 600, aliveMs: 569_999 },
    { expiresIn: 20, aliveMs: 9_999 },
    { expiresIn: undefined, aliveMs: 29_999 },
  ])("are renewed before they expire ($expiresIn s)", async ({ expiresIn, aliveMs }) => {
    const [upstream, idp] = [await scripted(), await issuer()];
    idp.expiresIn = expiresIn;
    const credential = { ...client, issuer: idp.url };
    const { upstreams, clock } = roomFor(upstream.url, { options: { era: "modern", credential } });
    await upstreams.request(call());
    clock.now += aliveMs;
    await upstreams.request(call());
    expect(idp.asked).toHaveLength(1);
    clock.now += 1;
    await upstreams.request(call());
    expect(idp.asked).toHaveLength(2);
  });

  it("are renewed once after a 401, by one of many, and the calls are executed once each", async () => {
    const [upstream, idp] = [await scripted(), await issuer()];
    const credential = { ...client, issuer: idp.url };
    const { upstreams } = roomFor(upstream.url, { options: { era: "modern", credential } });
    await upstreams.request(call());
    upstream.script((request, wire) => {
      if (request.header("authorization") !== "Bearer token-1") return false;
      wire.json(401, { error: "invalid_token" }, ['WWW-Authenticate: Bearer error="invalid_token"']);
      return true;
    });
    const answers = await Promise.all(Array.from({ length: 10 }, () => upstreams.request(call())));
    expect(answers.map(summary)).toEqual(answers.map(() => "result"));
    expect(idp.asked).toHaveLength(2);
    expect(upstream.ledger).toHaveLength(11);
    upstream.script((_request, wire) => {
      wire.json(401, {});
      return true;
    });
    const before = upstream.received.length;
    expect(summary(await upstreams.request(call()))).toBe("failed UPSTREAM_AUTH_FAILED");
    expect(upstream.received.length - before).toBe(2);
  });

  it("that cannot be had fail the call before anything is sent, and the issuer is left in peace for a while", async () => {
    const [upstream, idp] = [await scripted(), await issuer()];
    idp.tokenStatus = 401;
    const credential = { ...client, issuer: idp.url };
    const { upstreams, clock } = roomFor(upstream.url, { options: { era: "modern", credential } });
    const answered = await upstreams.request(call());
    expect(summary(answered)).toBe("failed UPSTREAM_CREDENTIAL_UNAVAILABLE");
    expect(JSON.stringify(answered)).not.toContain("s:e/c");
    await upstreams.request(call());
    expect(idp.asked).toHaveLength(1);
    idp.tokenStatus = 200;
    clock.now += 1_000;
    expect(summary(await upstreams.request(call()))).toBe("result");
    expect(upstream.received).toHaveLength(1);
  });

  it.each([
    { fault: "metadata of another issuer", change: { named: "https://evil.example" } },
    { fault: "metadata whose issuer has a trailing slash more", change: { slash: true } },
    { fault: "no metadata", change: { wellKnown: "/nowhere" } },
    { fault: "a token that is no bearer token", change: { tokenType: "mac" } },
  ])("are not had from $fault", async ({ change }) => {
    const [upstream, idp] = [await scripted(), await issuer()];
    if ("slash" in change) idp.named = `${idp.url}/`;
    else Object.assign(idp, change);
    const { upstreams } = roomFor(upstream.url, {
      options: { era: "modern", credential: { ...client, issuer: idp.url } },
    });
    expect(summary(await upstreams.request(call()))).toBe("failed UPSTREAM_CREDENTIAL_UNAVAILABLE");
    expect(upstream.received).toEqual([]);
  });

  it("are not asked for where the egress guard forbids it: the issuer itself, or the endpoint it names", async () => {
    const [upstream, idp] = [await scripted(), await issuer()];
    const options = { era: "modern", credential: { ...client, issuer: idp.url, addresses: "public" } } as const;
    expect(summary(await roomFor(upstream.url, { options }).upstreams.request(call()))).toBe(
      "failed UPSTREAM_ADDRESS_FORBIDDEN",
    );
    idp.tokenEndpoint = "http://169.254.169.254/token";
    const named = { era: "modern", credential: { ...client, issuer: idp.url } } as const;
    expect(summary(await roomFor(upstream.url, { options: named }).upstreams.request(call()))).toBe(
      "failed UPSTREAM_ADDRESS_FORBIDDEN",
    );
    expect(idp.asked).toEqual([]);
  });

  it("metadata is looked for at the three well-known forms in order", () => {
    const hrefs = (issuerUrl: string): string[] => metadataUrls(new URL(issuerUrl)).map(({ href }) => href);
    expect(hrefs("https://i.example/tenant/")).toEqual([
      "https://i.example/.well-known/oauth-authorization-server/tenant",
      "https://i.example/.well-known/openid-configuration/tenant",
      "https://i.example/tenant/.well-known/openid-configuration",
    ]);
    expect(hrefs("https://i.example")).toEqual([
      "https://i.example/.well-known/oauth-authorization-server",
      "https://i.example/.well-known/openid-configuration",
    ]);
  });

  it("metadata at the second form is found", async () => {
    const [upstream, idp] = [await scripted(), await issuer()];
    idp.wellKnown = "/.well-known/openid-configuration";
    const { upstreams } = roomFor(upstream.url, {
      options: { era: "modern", credential: { ...client, issuer: idp.url } },
    });
    expect(summary(await upstreams.request(call()))).toBe("result");
  });
});

describe("static headers", () => {
  it("go with every request to their upstream, legacy and modern", async () => {
    const upstream = await scripted({ era: "both" });
    const credential = { type: "static", headers: { Authorization: "Bearer fixed", "X-Api-Key": "k" } } as const;
    for (const era of ["modern", "legacy"] as const) {
      await roomFor(upstream.url, { options: { era, credential } }).upstreams.request(call());
    }
    expect(upstream.received.length).toBeGreaterThan(3);
    for (const request of upstream.received) {
      expect([request.header("authorization"), request.header("x-api-key")]).toEqual(["Bearer fixed", "k"]);
    }
  });

  it.each([
    "Host",
    "Mcp-Session-Id",
    "mcp-name",
    "MCP-Protocol-Version",
    "Connection",
    "Transfer-Encoding",
    "Content-Length",
    "Content-Type",
    "Accept",
    "TE",
    "a b",
    "x\r\ny",
    "",
  ])("may not name %j", (name) => {
    expect(() => staticHeaders({ [name]: "v" })).toThrow("credential header");
  });

  it.each(["a\r\nb", "a\nb", "é", " a", "a ", "a\0"])(
    "may not hold %j, and the message does not repeat it",
    (value) => {
      expect(() => staticHeaders({ "x-key": value })).toThrow(
        /^credential header "x-key": its value may hold printable/,
      );
    },
  );

  it("of two values are two generations, of which nothing can be read back", () => {
    const [first, second, again] = ["secret-a", "secret-b", "secret-a"].map((value) =>
      staticHeaders({ "x-key": value }),
    );
    expect(first?.generation(alice)).not.toBe(second?.generation(alice));
    expect(first?.generation(alice)).toBe(again?.generation(alice));
    expect(first?.generation(alice)).not.toContain("secret");
  });
});

describe("an upstream's URL", () => {
  it.each(["ftp://a.example/", "https://user:pw@a.example/mcp", "not a url"])(
    "%s is refused at construction",
    (url) => {
      expect(() => roomFor(url)).toThrow();
    },
  );
});
