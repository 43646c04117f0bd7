import { describe, expect, it } from "vitest";
import { createAuthenticator } from "../../src/auth/authenticate.ts";
import { createProofNonces } from "../../src/auth/proof-nonces.ts";
import { limits } from "../../src/model/limits.ts";
import { createMemoryStore } from "../../src/store/memory.ts";
import { denyList, goodClaims, issuer, resource, start, startSeconds } from "./harness.ts";
import { sign, signer } from "./mock-issuer.ts";
import { proofMaker } from "./proof-maker.ts";

const certificate = "M".repeat(43);
const nonces = createProofNonces({ keys: [new Uint8Array(32)], secondsMax: limits.dpopNonceSecondsMax });

/** What the principal says of the token behind it, when it is seen first and when it is remembered. */
async function saidOf(bound: (thumbprint: string) => object): Promise<unknown[]> {
  const [key, client] = [await signer("es"), await proofMaker()];
  const cnf = bound(client.thumbprint);
  const token = await sign(key, { ...goodClaims, ...(Object.keys(cnf).length === 0 ? {} : { cnf }) });
  const authenticator = createAuthenticator({
    issuers: [{ alias: "corp", issuer, keys: { kind: "local", keys: () => ({ keys: [key.jwk] }) } }],
    fetch: () => Promise.reject(new Error("nothing may be fetched here")),
    denyList: denyList(),
    proofs: { records: createMemoryStore({ now: () => start, entriesMax: 10 }), nonces },
    limits,
  });
  const said: unknown[] = [];
  for (let round = 0; round < 2; round += 1) {
    const nonce = nonces.current(start);
    const proof = await client.prove({ token, uri: resource, nonce, iat: startSeconds });
    const isProven = "jkt" in cnf;
    const shown = {
      proofs: isProven ? [proof] : [],
      method: "POST",
      uri: resource,
      certificate: () => certificate,
    };
    const authorization = [`${isProven ? "DPoP" : "Bearer"} ${token}`];
    const result = await authenticator.authenticate({ authorization, resource, shown, now: start });
    said.push(result.ok ? result.value.senderConstrained : result.refusal.code);
  }
  return said;
}

describe("whoever acts with a token", () => {
  it.each<[string, (thumbprint: string) => object, true | undefined]>([
    ["that is bound to a key", (jkt) => ({ jkt }), true],
    ["that is bound to a certificate", () => ({ "x5t#S256": certificate }), true],
    ["that is bound to both", (jkt) => ({ jkt, "x5t#S256": certificate }), true],
    ["that is bound to nothing, although a certificate was shown", () => ({}), undefined],
  ])("%s is known to, the second time as well", async (_, bound, expected) => {
    expect(await saidOf(bound)).toEqual([expected, expected]);
  });
});
