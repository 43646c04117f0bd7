import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { proofMaker } from "../auth/proof-maker.ts";
import type { ProofMaker } from "../auth/proof-maker.ts";
import { startGatewayUnderTest, startIssuer, until } from "../journey/gateway-under-test.ts";
import type { GatewayUnderTest, IssuerUnderTest } from "../journey/gateway-under-test.ts";
import type { Received } from "../journey/http-client.ts";
import { modernHeaders, modernMeta, post, refusalIn } from "../journey/wire-client.ts";
import { startTokenServer } from "../upstream/credentials/token-server.ts";
import { startScriptedUpstream } from "../upstream/scripted-upstream.ts";
import type { ScriptedUpstream } from "../upstream/scripted-upstream.ts";

let issuer: IssuerUnderTest;
let exchange: Awaited<ReturnType<typeof startTokenServer>>;
let upstream: ScriptedUpstream;
let gateway: GatewayUnderTest;
let client: ProofMaker;

beforeAll(async () => {
  [issuer, exchange, upstream, client] = await Promise.all([
    startIssuer(),
    startTokenServer(),
    startScriptedUpstream(),
    proofMaker(),
  ]);
  const credential = {
    type: "tokenExchange",
    issuer: exchange.url,
    clientId: "gateway",
    clientSecret: "${env:SECRET}",
    audience: "crm",
  };
  gateway = await startGatewayUnderTest({
    issuer,
    upstreams: {
      careful: { url: upstream.url, credential },
      told: { url: upstream.url, credential: { ...credential, boundTokens: "send" } },
    },
    servers: { careful: { careful: "" }, told: { told: "" } },
    env: { SECRET: "a secret for one run" },
  });
});

afterAll(async () => {
  await gateway.remove();
  await Promise.all([upstream.close(), issuer.close(), exchange.close()]);
});

/** A tool call with a token of the client's, bound to its key or to nothing. */
async function callAt(server: string, bound: boolean): Promise<{ readonly answer: Received; readonly token: string }> {
  const uri = gateway.resource(server);
  const token = await issuer.mint(uri, bound ? { cnf: { jkt: client.thumbprint } } : {});
  const params = { name: "echo", arguments: {}, _meta: modernMeta };
  const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
  const headers = modernHeaders({ token }, "tools/call", "echo");
  if (!bound) return { answer: await post({ gateway, server }, headers, body), token };
  const proven = async (nonce?: string): Promise<Received> => {
    const dpop = await client.prove({ token, uri, nonce });
    return post({ gateway, server }, { ...headers, authorization: `DPoP ${token}`, dpop }, body);
  };
  const nonce = String((await proven()).headers["dpop-nonce"]);
  return { answer: await proven(nonce), token };
}

const subjectTokens = (): unknown[] =>
  exchange.asked.flatMap(({ form }) => (form["subject_token"] === undefined ? [] : [form["subject_token"]]));

describe("a caller's token that is bound to a key", () => {
  it("is shown to nobody: the call is refused, and evidence says why", async () => {
    const { answer, token } = await callAt("careful", true);
    expect(refusalIn(answer).code).toBe("UPSTREAM_CREDENTIAL_UNAVAILABLE");
    expect(JSON.stringify(exchange.asked)).not.toContain(token);
    const reasons = (): unknown[] => gateway.audit().map(({ refusal }) => refusal?.facts["reason"]);
    await until(() => reasons().includes("sender-constrained"));
  });

  it("is exchanged like any other where the operator says so", async () => {
    const { answer, token } = await callAt("told", true);
    expect(refusalIn(answer).code).toBe("");
    expect(subjectTokens()).toContain(token);
  });

  it("is no matter of those whose tokens are bound to nothing", async () => {
    const { answer, token } = await callAt("careful", false);
    expect(refusalIn(answer).code).toBe("");
    expect(subjectTokens()).toContain(token);
  });
});
