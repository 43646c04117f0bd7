import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sign, signer } from "../auth/mock-issuer.ts";
import type { Signer } from "../auth/mock-issuer.ts";
import { startGatewayUnderTest, until } from "../journey/gateway-under-test.ts";
import type { GatewayUnderTest } from "../journey/gateway-under-test.ts";
import { modernCall, refusalIn } from "../journey/wire-client.ts";
import { selfSigned } from "../setup/self-signed.ts";
import type { Certificate } from "../setup/self-signed.ts";
import { startScriptedUpstream } from "../upstream/scripted-upstream.ts";
import type { ScriptedUpstream } from "../upstream/scripted-upstream.ts";

interface ApiServer {
  readonly issuer: string;
  close(): Promise<void>;
}

/** The two documents that an API server publishes of its service account issuer, over TLS of the cluster's own authority. */
async function startApiServer(key: Signer, certificate: Certificate): Promise<ApiServer> {
  let issuer = "";
  const server = createServer(certificate, (request, response) => {
    const documents: Record<string, unknown> = {
      "/.well-known/openid-configuration": {
        issuer,
        jwks_uri: `${issuer}/openid/v1/jwks`,
        response_types_supported: ["id_token"],
        subject_types_supported: ["public"],
        id_token_signing_alg_values_supported: ["RS256"],
      },
      "/openid/v1/jwks": { keys: [key.jwk] },
    };
    const found = documents[request.url ?? ""];
    response.writeHead(found === undefined ? 404 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(found ?? { kind: "Status", code: 404 }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  issuer = `https://localhost:${(server.address() as AddressInfo).port}`;
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.closeAllConnections();
      server.close(() => {
        resolve();
      });
    });
  return { issuer, close };
}

let key: Signer;
let certificate: Certificate;
let apiServer: ApiServer;
let upstream: ScriptedUpstream;
let gateway: GatewayUnderTest;

const rules = [
  {
    id: "the-nightly-job",
    effect: "allow",
    who: { kind: "service", subject: "system:serviceaccount:reports:nightly", claims: { namespace: "reports" } },
    what: { anything: true },
  },
];

beforeAll(async () => {
  key = await signer("k", "RS256");
  certificate = await selfSigned();
  apiServer = await startApiServer(key, certificate);
  upstream = await startScriptedUpstream({ era: "both" });
  gateway = await open(certificate.cert);
});

afterAll(async () => {
  await gateway.remove();
  await upstream.close();
  await apiServer.close();
});

function open(ca: string | undefined): Promise<GatewayUnderTest> {
  const issuer = {
    alias: "cluster",
    issuer: apiServer.issuer,
    profile: "kubernetes",
    addresses: "loopback",
    claims: { namespace: "/kubernetes.io/namespace" },
    ...(ca === undefined ? {} : { tls: { ca: "${env:CA}" } }),
  };
  return startGatewayUnderTest({
    upstreams: { one: upstream.url },
    servers: { crm: { one: "" }, hr: { one: "" } },
    rules: ca === undefined ? [] : rules,
    env: { CA: ca ?? "" },
    config: { auth: { issuers: [issuer] } },
  });
}

/** As the kubelet projects it into a pod. */
function projected(of: GatewayUnderTest, claims: Record<string, unknown> = {}): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  return sign(key, {
    aud: [of.resource("crm")],
    exp: now + 600,
    iat: now,
    nbf: now,
    iss: apiServer.issuer,
    jti: "j",
    "kubernetes.io": {
      namespace: "reports",
      serviceaccount: { name: "nightly", uid: "u" },
      pod: { name: "p", uid: "u" },
    },
    sub: "system:serviceaccount:reports:nightly",
    ...claims,
  });
}

async function outcome(token: string, server = "crm", of = gateway): Promise<string> {
  const answer = await modernCall({ gateway: of, server, token }, "tools/list");
  const listed = (answer.json["result"] as { tools?: unknown[] } | undefined)?.tools?.length;
  return listed === undefined ? refusalIn(answer).code : `${listed} tools`;
}

describe("a workload with its service account's token", () => {
  it("is a service by that name, with the claims that are mapped", async () => {
    expect(await outcome(await projected(gateway))).toBe("1 tools");
    await until(() => gateway.audit().some(({ principal }) => principal !== undefined));
    expect(gateway.audit().find(({ principal }) => principal !== undefined)?.principal).toMatchObject({
      kind: "service",
      subject: "system:serviceaccount:reports:nightly",
      clientId: "",
    });
  });

  it.each<[string, Record<string, unknown>, string]>([
    ["another account", { sub: "system:serviceaccount:reports:daily" }, "0 tools"],
    ["another namespace", { "kubernetes.io": { namespace: "web" } }, "0 tools"],
    ["the audience of the API server", { aud: ["https://kubernetes.default.svc"] }, "AUTH_AUDIENCE_MISMATCH"],
    ["an expired token", { exp: 1 }, "AUTH_TOKEN_EXPIRED"],
    ["what is no service account's token", { "kubernetes.io": undefined }, "AUTH_TOKEN_TYPE_REFUSED"],
  ])("is judged as what it is: %s", async (_, claims, expected) => {
    expect(await outcome(await projected(gateway, claims))).toBe(expected);
  });

  it("is refused at the server it was not projected for", async () => {
    expect(await outcome(await projected(gateway), "hr")).toBe("AUTH_AUDIENCE_MISMATCH");
  });

  it.each<[string, () => Promise<string | undefined>]>([
    ["only the system's authorities", () => Promise.resolve(undefined)],
    ["another authority", async () => (await selfSigned()).cert],
  ])("cannot be verified by a gateway that trusts %s", async (_, ca) => {
    const other = await open(await ca());
    expect(await outcome(await projected(other), "crm", other)).toBe("AUTH_ISSUER_UNAVAILABLE");
    await other.remove();
  });
});
