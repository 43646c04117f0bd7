import { createServer, type ServerOptions } from "node:https";
import type { AddressInfo } from "node:net";
import { TLSSocket, type PeerCertificate } from "node:tls";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { limits } from "../../src/model/limits.ts";
import { neverCancelled } from "../../src/model/cancellation.ts";
import { createFileSource, fileTicketHeader } from "../../src/upstream/files.ts";
import type { TlsOptions, UpstreamOptions } from "../../src/upstream/options.ts";
import { startAuthority, type Authority } from "../setup/authority.ts";
import type { Certificate } from "../setup/self-signed.ts";
import { alice, call, closeAfter, roomFor, summary } from "./setup.ts";

let authority: Authority;
let foreign: Authority;
let server: Certificate;
let gateway: Certificate;
let stranger: Certificate;

beforeAll(async () => {
  [authority, foreign] = await Promise.all([startAuthority(), startAuthority()]);
  [server, gateway] = [await authority.issue("upstream"), await authority.issue("gateway")];
  stranger = await foreign.issue("gateway");
});

afterAll(async () => {
  await Promise.all([authority.remove(), foreign.remove()]);
});

interface Upstream {
  readonly url: string;
  /** Common names of those who asked, as far as they were verified; undefined: nobody said. */
  readonly seen: (string | undefined)[];
}

/** An upstream of the modern era behind TLS, and its authorization server in one. */
async function upstream(options: ServerOptions = {}): Promise<Upstream> {
  const seen: (string | undefined)[] = [];
  const listening = createServer({ ...server, ...options }, (request, response) => {
    seen.push(peerOf(request.socket));
    const { port } = listening.address() as AddressInfo;
    const origin = `https://localhost:${port}`;
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      response.setHeader(
        "content-type",
        request.url?.startsWith("/reports") === true ? "application/pdf" : "application/json",
      );
      if (request.url?.startsWith("/.well-known") === true) {
        response.end(JSON.stringify({ issuer: origin, token_endpoint: `${origin}/token` }));
      } else if (request.url === "/token") response.end('{"access_token":"t","token_type":"Bearer"}');
      else if (request.url === "/mcp") {
        const { id } = JSON.parse(body) as { id: string };
        response.end(JSON.stringify({ jsonrpc: "2.0", id, result: { content: [] } }));
      } else response.end("%PDF");
    });
  });
  await new Promise<void>((resolve) => listening.listen(0, "127.0.0.1", resolve));
  closeAfter(async () => {
    listening.closeAllConnections();
    await new Promise((resolve) => listening.close(resolve));
  });
  return { url: `https://localhost:${(listening.address() as AddressInfo).port}/mcp`, seen };
}

function peerOf(socket: object): string | undefined {
  if (!(socket instanceof TLSSocket)) return undefined;
  // Empty where no certificate was shown, whatever its type says.
  const certificate: Partial<PeerCertificate> = socket.getPeerCertificate();
  const name: unknown = certificate.subject === undefined ? undefined : certificate.subject.CN;
  return typeof name === "string" ? name : undefined;
}

async function asked(url: string, options: Partial<UpstreamOptions>): Promise<string> {
  return summary(await roomFor(url, { options: { era: "modern", ...options } }).upstreams.request(call()));
}

const mutual = (): ServerOptions => ({ requestCert: true, rejectUnauthorized: true, ca: authority.ca });

describe("an upstream with a private authority", () => {
  it("is reached where that authority is configured", async () => {
    const { url, seen } = await upstream();
    expect(await asked(url, { tls: { ca: authority.ca } })).toBe("result");
    expect(seen).toEqual([undefined]);
  });

  it.each([
    ["none is", (): TlsOptions | undefined => undefined],
    ["another one is", () => ({ ca: foreign.ca })],
  ])("is not where %s, and hears nothing", async (_name, tls) => {
    const { url, seen } = await upstream();
    expect(await asked(url, { tls: tls() })).toBe("failed UPSTREAM_UNREACHABLE");
    expect(seen).toEqual([]);
  });

  it("is not under another name than its certificate's", async () => {
    const { url, seen } = await upstream(await authority.issue("upstream", "DNS:other.example"));
    expect(await asked(url, { tls: { ca: authority.ca } })).toBe("failed UPSTREAM_UNREACHABLE");
    expect(seen).toEqual([]);
  });

  it("has its authorization server trusted by the same authority", async () => {
    const { url, seen } = await upstream();
    const authentication = { method: "client_secret_basic", clientSecret: "s" } as const;
    const credential = {
      type: "clientCredentials",
      issuer: new URL(url).origin,
      clientId: "g",
      authentication,
    } as const;
    expect(await asked(url, { credential, tls: { ca: authority.ca } })).toBe("result");
    expect(seen).toHaveLength(3);
    expect(await asked(url, { credential })).toBe("failed UPSTREAM_CREDENTIAL_UNAVAILABLE");
  });
});

describe("an upstream that asks for a certificate", () => {
  it("is shown the gateway's", async () => {
    const { url, seen } = await upstream(mutual());
    expect(await asked(url, { tls: { ca: authority.ca, ...gateway } })).toBe("result");
    expect(seen).toEqual(["gateway"]);
  });

  it.each([
    ["none is configured", () => ({})],
    ["another authority's is", () => stranger],
  ])("hears nothing where %s", async (_name, shown) => {
    const { url, seen } = await upstream(mutual());
    expect(await asked(url, { tls: { ca: authority.ca, ...shown() } })).toMatch(/^(failed|unknown) UPSTREAM_/);
    expect(seen).toEqual([]);
  });

  it("is shown it for files too", async () => {
    const { url, seen } = await upstream(mutual());
    const source = createFileSource({
      upstreams: { crm: { url, addresses: "loopback", tls: { ca: authority.ca, ...gateway } } },
      limits,
      now: () => 0,
    });
    closeAfter(() => source.close());
    const target = "/reports/7.pdf";
    const ticket = source.announce({
      ...{ upstream: "crm", account: alice, method: "GET", target, headers: {}, bytesMax: 100 },
      signal: neverCancelled,
      judge: () => undefined,
      onBytes: () => undefined,
    });
    const { origin } = new URL(url);
    const { body } = await source.dispatcher.request({
      origin,
      path: target,
      method: "GET",
      headers: { [fileTicketHeader]: ticket },
    });
    expect([await body.text(), seen]).toEqual(["%PDF", ["gateway"]]);
  });
});
