import { afterEach, describe, expect, it } from "vitest";
import type { LookupAddress } from "node:dns";
import { limits } from "../../src/model/limits.ts";
import { neverCancelled } from "../../src/model/cancellation.ts";
import type { Refusal } from "../../src/model/refusal.ts";
import { fileRefusalIn } from "../../src/upstream/file-delivery.ts";
import { createFileSource, fileTicketHeader, type FileErrand, type FileSource } from "../../src/upstream/files.ts";
import type { UpstreamOptions } from "../../src/upstream/options.ts";
import { startScriptedUpstream, type ScriptedUpstream } from "./scripted-upstream.ts";

let upstream: ScriptedUpstream;
let source: FileSource;
afterEach(async () => {
  await source.close();
  await upstream.close();
});

async function open(options: Partial<UpstreamOptions>): Promise<void> {
  upstream = await startScriptedUpstream();
  upstream.script((request, wire) => {
    wire.respond(200, "application/pdf", `%PDF of ${request.path}`);
    return true;
  });
  source = createFileSource({
    upstreams: { crm: { url: upstream.url, addresses: "loopback", ...options } },
    limits,
    now: () => 0,
  });
}

const authentication = { method: "client_secret_basic", clientSecret: "s" } as const;

const errand: FileErrand = {
  account: { tenant: "default", principalKey: "alice", clientSession: undefined, caller: undefined },
  upstream: "crm",
  method: "GET",
  target: "/reports/7.pdf",
  headers: {},
  bytesMax: 1_000,
  signal: neverCancelled,
  judge: () => undefined,
  onBytes: () => undefined,
};

/** What the library does: a request of its own making, with the ticket among its headers. */
async function fetchWith(
  ticket: string | undefined,
  changed: { path?: string; method?: "GET" | "HEAD" | "POST"; origin?: string; body?: string } = {},
): Promise<string> {
  const { origin } = new URL(upstream.url);
  const headers = { "x-canary": "canary", ...(ticket === undefined ? {} : { [fileTicketHeader]: ticket }) };
  const request = { origin, path: "/reports/7.pdf", method: "GET" as const, headers, ...changed };
  const { body } = await source.dispatcher.request(request);
  return body.text();
}

async function refusalOf(fetching: Promise<string>): Promise<Refusal | undefined> {
  const error: unknown = await fetching.then(
    () => undefined,
    (fault: unknown) => fault,
  );
  return fileRefusalIn(error);
}

describe("only what was judged is sent", () => {
  it("is sent once, with no header of whoever made the request", async () => {
    await open({});
    const ticket = source.announce(errand);
    expect(await fetchWith(ticket)).toBe("%PDF of /reports/7.pdf");
    expect(upstream.received.length).toBe(1);
    expect(upstream.received[0]!.raw.toString()).not.toMatch(/canary|sallyport/);
    expect((await refusalOf(fetchWith(ticket)))?.code).toBe("INTERNAL_FAULT");
    expect(upstream.received.length).toBe(1);
  });

  it.each([
    ["another path", { path: "/reports/8.pdf" }],
    ["the path decoded or changed in any byte", { path: "/reports/%37.pdf" }],
    ["a query more", { path: "/reports/7.pdf?" }],
    ["another method", { method: "HEAD" as const }],
    ["another origin", { origin: "http://127.0.0.2:1" }],
    ["a body", { body: "canary" }],
  ])("not with %s", async (_name, changed) => {
    await open({});
    const refusal = await refusalOf(fetchWith(source.announce(errand), changed));
    expect(refusal?.code).toBe("INTERNAL_FAULT");
    expect(upstream.received.length).toBe(0);
  });

  it.each([
    ["no ticket", undefined],
    ["a ticket that nobody announced", "7"],
  ])("not with %s", async (_name, ticket) => {
    await open({});
    expect((await refusalOf(fetchWith(ticket)))?.code).toBe("INTERNAL_FAULT");
    expect(upstream.received.length).toBe(0);
  });

  it("not after it was withdrawn", async () => {
    await open({});
    const ticket = source.announce(errand);
    source.withdraw(ticket);
    expect((await refusalOf(fetchWith(ticket)))?.code).toBe("INTERNAL_FAULT");
  });
});

describe("the egress guard holds for files", () => {
  const address = (text: string): LookupAddress => ({ address: text, family: 4 });
  it.each([
    ["metadata", [address("169.254.169.254")]],
    ["private", [address("10.0.0.1")]],
    ["one of them forbidden", [address("127.0.0.1"), address("169.254.169.254")]],
  ])("%s", async (_name, addresses) => {
    await open({});
    const { port } = upstream;
    await source.close();
    source = createFileSource({
      upstreams: { crm: { url: `http://crm.example:${port}/mcp`, addresses: "loopback" } },
      limits,
      now: () => 0,
      resolve: (_host, answer) => {
        answer(null, addresses);
      },
    });
    const origin = `http://crm.example:${port}`;
    const refusal = await refusalOf(fetchWith(source.announce(errand), { origin }));
    expect(refusal?.code).toBe("UPSTREAM_ADDRESS_FORBIDDEN");
    expect(upstream.received.length).toBe(0);
  });

  it("an upstream that nobody listens for is unreachable", async () => {
    await open({});
    await upstream.close();
    expect((await refusalOf(fetchWith(source.announce(errand))))?.code).toBe("UPSTREAM_UNREACHABLE");
  });
});

describe("the upstream's credential", () => {
  it("is attached, and one that is not admitted is told apart from a file", async () => {
    await open({ credential: { type: "static", headers: { "X-Key": "k" } } });
    expect(await fetchWith(source.announce(errand))).toContain("%PDF");
    expect(upstream.received[0]!.header("x-key")).toBe("k");
  });

  it.each([
    [1, "%PDF"],
    [2, "no"],
  ])("that expires is renewed once: refused %i times", async (times, text) => {
    const issuer = await startScriptedUpstream();
    const origin = new URL(issuer.url).origin;
    let minted = 0;
    issuer.script((request, wire) => {
      if (request.path.startsWith("/.well-known/oauth-authorization-server"))
        wire.json(200, { issuer: origin, token_endpoint: `${origin}/token` });
      else wire.json(200, { access_token: `t${(minted += 1)}`, token_type: "Bearer", expires_in: 600 });
      return true;
    });
    await open({ credential: { type: "clientCredentials", issuer: origin, clientId: "g", authentication } });
    upstream.script((request, wire) => {
      const isStale = upstream.received.length <= times;
      wire.respond(
        isStale ? 401 : 200,
        "application/pdf",
        isStale ? "no" : `%PDF for ${request.header("authorization")}`,
      );
      return true;
    });
    expect(await fetchWith(source.announce(errand))).toContain(text);
    expect(upstream.received.map((request) => request.header("authorization"))).toEqual(["Bearer t1", "Bearer t2"]);
    await issuer.close();
  });

  it("that cannot be had is a refusal, and the upstream is not asked", async () => {
    const issuer = await startScriptedUpstream();
    issuer.script((_request, wire) => {
      wire.respond(404, undefined, "");
      return true;
    });
    const credential = { issuer: new URL(issuer.url).origin, clientId: "g", authentication };
    await open({ credential: { type: "clientCredentials", ...credential } });
    expect((await refusalOf(fetchWith(source.announce(errand))))?.code).toBe("UPSTREAM_CREDENTIAL_UNAVAILABLE");
    expect(upstream.received.length).toBe(0);
    await issuer.close();
  });
});

describe("a client that has left", () => {
  it("before it is asked for has nothing fetched", async () => {
    await open({});
    const gone = new AbortController();
    gone.abort();
    expect((await refusalOf(fetchWith(source.announce({ ...errand, signal: gone.signal }))))?.code).toBe("CLIENT_GONE");
    expect(upstream.received.length).toBe(0);
  });
});
