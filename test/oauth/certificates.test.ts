import { createHash, X509Certificate } from "node:crypto";
import { Agent, request } from "node:https";
import type { AgentOptions } from "node:https";
import { connect as connectInClear } from "node:net";
import { connect } from "node:tls";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startGatewayUnderTest, startIssuer } from "../journey/gateway-under-test.ts";
import { freePort } from "../setup/free-port.ts";
import type { GatewayUnderTest, IssuerUnderTest } from "../journey/gateway-under-test.ts";
import { modernHeaders, modernMeta, modernCall, refusalIn } from "../journey/wire-client.ts";
import { startAuthority } from "../setup/authority.ts";
import type { Authority } from "../setup/authority.ts";
import { selfSigned } from "../setup/self-signed.ts";
import type { Certificate } from "../setup/self-signed.ts";
import { startScriptedUpstream } from "../upstream/scripted-upstream.ts";
import type { ScriptedUpstream } from "../upstream/scripted-upstream.ts";

let authority: Authority;
let [own, mine, theirs, foreign]: Certificate[] = [];
let issuer: IssuerUnderTest;
let upstream: ScriptedUpstream;
/** Asks for client certificates. */
let asking: GatewayUnderTest;
/** Terminates TLS and asks for none. */
let silent: GatewayUnderTest;

beforeAll(async () => {
  authority = await startAuthority();
  [own, mine, theirs] = [await authority.issue("gateway"), await authority.issue("a"), await authority.issue("b")];
  foreign = await selfSigned("a");
  issuer = await startIssuer();
  upstream = await startScriptedUpstream();
  asking = await start({ clientCa: "${env:CLIENT_CA}" });
  silent = await start({});
});

afterAll(async () => {
  await asking.remove();
  await silent.remove();
  await upstream.close();
  await issuer.close();
  await authority.remove();
});

async function start(tls: object, more: object = {}): Promise<GatewayUnderTest> {
  const port = await freePort();
  return startGatewayUnderTest({
    issuer,
    upstreams: { alpha: upstream.url },
    servers: { alpha: { alpha: "" } },
    env: {
      PASSWORD: "correct horse battery",
      TLS_CERT: own?.cert ?? "",
      TLS_KEY: own?.key ?? "",
      CLIENT_CA: authority.ca,
    },
    config: {
      publicUrl: `https://localhost:${port}`,
      listen: { host: "127.0.0.1", port, tls: { cert: "${env:TLS_CERT}", key: "${env:TLS_KEY}", ...tls } },
      allowedHosts: [`localhost:${port}`],
      ...more,
    },
  });
}

function portOf(gateway: GatewayUnderTest): number {
  return Number(new URL(gateway.running.addresses.public).port);
}

function resourceOf(gateway: GatewayUnderTest): string {
  return `https://localhost:${portOf(gateway)}/alpha/mcp`;
}

/** SHA-256 of a certificate's DER: what a token that is bound to it carries. */
function thumbprintOf(certificate: Certificate | undefined): string {
  const { raw } = new X509Certificate(certificate?.cert ?? "");
  return createHash("sha256").update(raw).digest("base64url");
}

interface Seen {
  readonly status: number;
  readonly json: Record<string, unknown>;
  readonly reused: boolean;
}

/** A modern `tools/list` over TLS, with a client certificate or without. */
function list(gateway: GatewayUnderTest, token: string, agent: Agent): Promise<Seen> {
  return ask(gateway, agent, {
    path: "/alpha/mcp",
    method: "POST",
    headers: present(modernHeaders({ token }, "tools/list")),
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta: modernMeta } }),
  });
}

function present(headers: ReturnType<typeof modernHeaders>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter((one): one is [string, string] => typeof one[1] === "string"),
  );
}

function ask(
  gateway: GatewayUnderTest,
  agent: Agent,
  { body, ...of }: { path: string; method: string; headers?: Record<string, string>; body?: string },
): Promise<Seen> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ host: "localhost", port: portOf(gateway), agent, ...of }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () => {
        const json = JSON.parse(Buffer.concat(chunks).toString("utf8")) as Record<string, unknown>;
        resolve({ status: response.statusCode ?? 0, json, reused: outgoing.reusedSocket });
      });
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

function agentWith(certificate?: Certificate, more: AgentOptions = {}): Agent {
  return new Agent({ ca: authority.ca, ...certificate, ...more });
}

async function outcome(gateway: GatewayUnderTest, token: string, agent: Agent): Promise<string> {
  const { status, json } = await list(gateway, token, agent);
  return status === 200 ? "ok" : refusalIn({ json }).code;
}

async function boundTo(certificate: Certificate | undefined, gateway = asking): Promise<string> {
  return issuer.mint(resourceOf(gateway), { cnf: { "x5t#S256": thumbprintOf(certificate) } });
}

describe("a token that is bound to a client certificate", () => {
  it("is taken over a connection with that certificate, on its first request and on the next", async () => {
    const agent = agentWith(mine, { keepAlive: true, maxSockets: 1 });
    const token = await boundTo(mine);
    const [first, next] = [await list(asking, token, agent), await list(asking, token, agent)];
    expect([first.status, next.status, next.reused]).toEqual([200, 200, true]);
    agent.destroy();
  });

  it.each<[string, () => Certificate | undefined, string]>([
    ["without one", () => undefined, "AUTH_CERTIFICATE_MISSING"],
    ["with another of the same authority", () => theirs, "AUTH_CERTIFICATE_MISMATCH"],
    ["with one that no authority stands behind", () => foreign, "AUTH_CERTIFICATE_MISSING"],
  ])("is refused over a connection %s", async (_, shown, code) => {
    expect(await outcome(asking, await boundTo(mine), agentWith(shown()))).toBe(code);
  });

  it("is refused though it is bound to just the certificate that no authority stands behind", async () => {
    expect(await outcome(asking, await boundTo(foreign), agentWith(foreign))).toBe("AUTH_CERTIFICATE_MISSING");
  });

  it("is refused where nobody is asked for certificates", async () => {
    expect(await outcome(silent, await boundTo(mine, silent), agentWith(mine))).toBe("AUTH_CERTIFICATE_MISSING");
  });

  it("is refused where TLS ends in front, whatever a header says of the certificate", async () => {
    const plain = await startGatewayUnderTest({
      issuer,
      upstreams: { alpha: upstream.url },
      servers: { alpha: { alpha: "" } },
    });
    const token = await issuer.mint(plain.resource("alpha"), { cnf: { "x5t#S256": thumbprintOf(mine) } });
    const answer = await modernCall({ gateway: plain, server: "alpha", token }, "tools/list");
    expect([answer.status, refusalIn(answer).code]).toEqual([401, "AUTH_CERTIFICATE_MISSING"]);
    await plain.remove();
  });
});

describe("a listener with TLS", () => {
  it("serves whoever has a token that is bound to nothing, with a certificate or without", async () => {
    const token = await issuer.mint(resourceOf(asking));
    for (const shown of [undefined, mine, foreign]) expect(await outcome(asking, token, agentWith(shown))).toBe("ok");
  });

  it("says in its metadata that it takes bound tokens, where it asks for certificates", async () => {
    const path = "/.well-known/oauth-protected-resource/alpha/mcp";
    const about = (of: GatewayUnderTest): Promise<Seen> => ask(of, agentWith(), { path, method: "GET" });
    expect((await about(asking)).json).toHaveProperty("tls_client_certificate_bound_access_tokens", true);
    expect((await about(silent)).json).not.toHaveProperty("tls_client_certificate_bound_access_tokens");
  });

  it("carries the built-in authorization server, whose addresses are the public ones", async () => {
    const builtIn = { users: [{ username: "ada", password: "${env:PASSWORD}" }] };
    const gateway = await start({}, { auth: { builtIn } });
    const path = "/.well-known/oauth-authorization-server";
    const { json } = await ask(gateway, agentWith(), { path, method: "GET" });
    const origin = new URL(resourceOf(gateway)).origin;
    expect(json).toMatchObject({ issuer: origin, token_endpoint: `${origin}/token` });
    const registered = await ask(gateway, agentWith(), {
      path: "/register",
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ redirect_uris: ["http://127.0.0.1:4711/cb"], token_endpoint_auth_method: "none" }),
    });
    expect(registered.status).toBe(201);
    await gateway.remove();
  });

  it("hangs up on who speaks no TLS, or an old one, counts neither as HTTP, and goes on serving", async () => {
    const gateway = await start({});
    const heard = await new Promise<string>((resolve) => {
      let text = "";
      const socket = connectInClear(portOf(gateway), "127.0.0.1", () => {
        socket.write("GET /alpha/mcp HTTP/1.1\r\nHost: localhost\r\n\r\n");
      });
      socket.on("data", (chunk) => (text += chunk.toString("latin1")));
      socket.on("error", () => undefined);
      socket.on("close", () => {
        resolve(text);
      });
    });
    expect(heard).not.toContain("HTTP/1.1");
    const old = await new Promise<string>((resolve) => {
      const options = { ca: authority.ca, minVersion: "TLSv1.1", maxVersion: "TLSv1.1" } as const;
      const ciphers = "DEFAULT:@SECLEVEL=0";
      const socket = connect({ host: "localhost", port: portOf(gateway), ...options, ciphers }, () => {
        resolve("connected");
      });
      socket.on("error", ({ message }: Error) => {
        resolve(message);
      });
    });
    expect(old).toMatch(/protocol version/);
    expect(await outcome(gateway, await issuer.mint(resourceOf(gateway)), agentWith())).toBe("ok");
    await gateway.stop();
    expect(gateway.audit().filter(({ type }) => type === "strangers")).toEqual([]);
    await gateway.remove();
  });
});
