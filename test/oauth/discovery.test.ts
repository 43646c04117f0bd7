import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as scripted from "../interop/scripted-clients.ts";
import { startGatewayUnderTest } from "../journey/gateway-under-test.ts";
import type { GatewayUnderTest } from "../journey/gateway-under-test.ts";
import { selfSigned } from "../setup/self-signed.ts";
import type { Certificate } from "../setup/self-signed.ts";
import { modernMeta } from "../journey/wire-client.ts";
import { startTlsFront, trust } from "../setup/tls-front.ts";
import type { TlsFront } from "../setup/tls-front.ts";
import { startScriptedUpstream } from "../upstream/scripted-upstream.ts";
import type { ScriptedUpstream } from "../upstream/scripted-upstream.ts";
import { strict } from "./providers/kinds.ts";
import { startProvider } from "./providers/provider.ts";
import type { Provider } from "./providers/provider.ts";
import { signInAt } from "./providers/sign-in-at.ts";

/** A gateway that knows itself by another host and scheme than the ones it is asked under. */
interface Fronted {
  readonly front: TlsFront;
  readonly gateway: GatewayUnderTest;
  readonly crm: string;
}

const page = "https://inspector.test";
const login = { username: "ada", password: "ada-behind-a-front" };
const builtIn = { users: [{ username: login.username, password: "${env:ADA}" }] };
const resources: string[] = [];

let upstream: ScriptedUpstream;
let provider: Provider;
let external: Fronted;
let single: Fronted;
let several: Fronted;
let certificate: Certificate;
let distrust: () => Promise<void>;

async function open(auth: Readonly<Record<string, unknown>>, names: readonly string[]): Promise<Fronted> {
  const front = await startTlsFront(certificate);
  const scopes = { minimal: ["mcp:use"] };
  const servers = Object.fromEntries(names.map((name) => [name, { scopes, upstreams: { one: {} } }]));
  const gateway = await startGatewayUnderTest({
    upstreams: { one: upstream.url },
    servers: {},
    env: { ADA: login.password },
    config: { publicUrl: front.origin, auth, servers, allowedOrigins: [page] },
  });
  front.forwardTo(gateway.port);
  return { front, gateway, crm: `${front.origin}/crm/mcp` };
}

beforeAll(async () => {
  certificate = await selfSigned();
  distrust = trust(certificate);
  upstream = await startScriptedUpstream({ era: "both" });
  provider = await startProvider(strict(() => resources));
  external = await open({ issuers: [{ alias: "corp", issuer: provider.issuer, addresses: "loopback" }] }, [
    "crm",
    "hr",
  ]);
  resources.push(external.crm);
  single = await open({ builtIn }, ["crm"]);
  several = await open({ builtIn }, ["crm", "hr"]);
});

afterAll(async () => {
  await distrust();
  for (const { gateway, front } of [external, single, several]) {
    await gateway.remove();
    await front.close();
  }
  await provider.close();
  await upstream.close();
});

/** How a client begins, and where it ends at a gateway that sends it to an issuer elsewhere. */
interface Style {
  readonly name: string;
  readonly discover: scripted.Discover;
  /** Absent: at the provider, for the server. */
  readonly failsElsewhere?: RegExp;
}

const styles: readonly Style[] = [
  { name: "follows the challenge", discover: scripted.challengeFirst },
  { name: "begins at the path-inserted well-known", discover: scripted.pathInsertedFirst },
  { name: "begins at the root well-known", discover: scripted.rootFirst },
  {
    name: "begins with metadata at the origin",
    discover: scripted.pathMirrors,
    failsElsewhere: /oauth-authorization-server\/crm\/mcp: 404 application\/json/,
  },
  { name: "probes with HEAD", discover: scripted.headProbe },
  { name: "probes with GET", discover: scripted.getProbe },
  {
    name: "is a page, with preflights",
    discover: scripted.pageAt(page),
    // What the provider lets pages read is the provider's to say.
    failsElsewhere: /a page cannot read http:\/\/127\.0\.0\.1:\d+\/\.well-known\/oauth-authorization-server/,
  },
  {
    name: "knows no resource metadata",
    discover: scripted.originAsIssuer,
    failsElsewhere: /oauth-authorization-server: 404 application\/json/,
  },
];

describe.each(styles)("behind a TLS terminator, a client that $name", ({ name, discover, failsElsewhere }) => {
  const knowsResource = name !== "knows no resource metadata";

  it("ends at the issuer elsewhere with the server as resource, or is told that nothing is here", async () => {
    if (failsElsewhere !== undefined) {
      await expect(discover(external.crm)).rejects.toThrow(failsElsewhere);
      return;
    }
    const found = await discover(external.crm);
    expect(found).toMatchObject({ issuer: provider.issuer, resource: external.crm });
    const { issuer, metadata } = found;
    const tokens = await signInAt(
      { resource: external.crm, scope: "mcp:use", issuer: String(issuer), metadata },
      { clientId: "desktop" },
    );
    if ("error" in tokens) throw new Error(tokens.error);
    expect(await entry(external.crm, tokens.access)).toBe(200);
  });

  it("ends at the gateway as its issuer, signs in, and gets in", async () => {
    const found = await discover(single.crm);
    expect(found.issuer).toBe(single.front.origin);
    expect(found.resource).toBe(knowsResource ? single.crm : undefined);
    const { access_token: token } = await scripted.signInWith(found, login);
    expect(await entry(single.crm, token)).toBe(200);
  });

  it("gets a token for the server it asked for, or is told that it must say which", async () => {
    const answer = await scripted.signInWith(await discover(several.crm), login);
    if (!knowsResource) {
      expect(answer).toMatchObject({ error: "invalid_target" });
      return;
    }
    expect(await entry(several.crm, answer["access_token"])).toBe(200);
    expect(await entry(several.crm.replace("/crm/", "/hr/"), answer["access_token"])).toBe(401);
  });
});

describe("behind a TLS terminator", () => {
  it("every URL that is told is the public one", async () => {
    const refused = await fetch(several.crm, { method: "POST" });
    const metadata = `${several.front.origin}/.well-known/oauth-protected-resource/crm/mcp`;
    expect(refused.headers.get("www-authenticate")).toBe(`Bearer scope="mcp:use", resource_metadata="${metadata}"`);
    const texts = [metadata, `${several.front.origin}/.well-known/oauth-authorization-server`].map(async (url) =>
      (await fetch(url)).text(),
    );
    for (const text of await Promise.all(texts)) {
      expect(text).not.toContain("http:");
      expect(text).not.toContain(`127.0.0.1:${several.gateway.port}`);
    }
  });

  it.each([
    "oauth-protected-resource",
    "oauth-protected-resource/nope/mcp",
    "openid-federation",
    "nothing",
    "mcp.json",
  ])("the well-known %s, which is not there, is JSON with 404 and no challenge", async (name) => {
    const answer = await fetch(`${several.front.origin}/.well-known/${name}`);
    expect([answer.status, answer.headers.get("content-type")]).toEqual([404, "application/json"]);
    expect(answer.headers.get("www-authenticate")).toBeNull();
    expect(await answer.json()).toBeTypeOf("object");
  });
});

/** The status of a list with this token. */
async function entry(url: string, token: unknown): Promise<number> {
  const headers = {
    authorization: `Bearer ${String(token)}`,
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/list",
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta: modernMeta } });
  return (await fetch(url, { method: "POST", headers, body })).status;
}
