import { generateKeyPairSync } from "node:crypto";
import { createLocalJWKSet, decodeProtectedHeader, exportJWK, jwtVerify } from "jose";
import { describe, expect, it } from "vitest";
import type { ClientOptions } from "../../../src/upstream/options.ts";
import { call, roomFor, scripted, summary } from "../setup.ts";
import { tokenServer, type TokenServer } from "./token-server.ts";

/** Has a token fetched by a client that proves itself so; what the upstream call came to. */
async function fetchedBy(server: TokenServer, authentication: ClientOptions["authentication"]): Promise<string> {
  const upstream = await scripted({ era: "modern" });
  const credential = { type: "clientCredentials", clientId: "gate way", issuer: server.url, authentication } as const;
  const { upstreams } = roomFor(upstream.url, { options: { era: "modern", credential } });
  return summary(await upstreams.request(call()));
}

const clientAssertion = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

describe("a client that proves itself by a key", () => {
  const pairs = {
    ES256: generateKeyPairSync("ec", { namedCurve: "P-256" }),
    ES384: generateKeyPairSync("ec", { namedCurve: "P-384" }),
    EdDSA: generateKeyPairSync("ed25519"),
    RS256: generateKeyPairSync("rsa", { modulusLength: 2_048 }),
  };

  it.each(Object.entries(pairs))("signs with %s, for the issuer alone, once per request", async (alg, pair) => {
    const server = await tokenServer();
    const privateKey = pair.privateKey.export({ type: "pkcs8", format: "pem" }).toString();
    expect(await fetchedBy(server, { method: "private_key_jwt", privateKey, keyId: "key-1" })).toBe("result");
    const { headers, form } = server.asked[0]!;
    expect(headers.authorization).toBeUndefined();
    expect(form).toMatchObject({ client_id: "gate way", client_assertion_type: clientAssertion });
    const assertion = form["client_assertion"] ?? "";
    expect(decodeProtectedHeader(assertion)).toMatchObject({ alg, kid: "key-1" });
    const keySet = createLocalJWKSet({ keys: [{ ...(await exportJWK(pair.publicKey)), kid: "key-1", alg }] });
    const { payload } = await jwtVerify(assertion, keySet, { audience: server.url, issuer: "gate way" });
    expect(payload.sub).toBe("gate way");
    expect(payload.jti).toMatch(/./);
    expect((payload.exp ?? 0) - (payload.iat ?? 0)).toBeLessThanOrEqual(60);
  });

  it("takes a JWK and the name within it", async () => {
    const server = await tokenServer();
    const jwk = { ...pairs.ES256.privateKey.export({ format: "jwk" }), kid: "of the key" };
    await fetchedBy(server, { method: "private_key_jwt", privateKey: JSON.stringify(jwk) });
    expect(decodeProtectedHeader(server.asked[0]?.form["client_assertion"] ?? "").kid).toBe("of the key");
  });

  it("cannot with what is no key: the call is refused, and the server is not asked", async () => {
    const server = await tokenServer();
    expect(await fetchedBy(server, { method: "private_key_jwt", privateKey: "sesame" })).toBe(
      "failed UPSTREAM_CREDENTIAL_UNAVAILABLE",
    );
    expect(server.asked).toEqual([]);
  });
});

describe("a client that proves itself by a secret", () => {
  it.each([
    ["client_secret_basic", `Basic ${Buffer.from("gate+way:s%3Ae%2Fc").toString("base64")}`, undefined],
    ["client_secret_post", undefined, "s:e/c"],
  ] as const)("%s sends it there and nowhere else", async (method, header, inForm) => {
    const server = await tokenServer();
    await fetchedBy(server, { method, clientSecret: "s:e/c" });
    const { headers, form } = server.asked[0]!;
    expect([headers.authorization, form["client_secret"]]).toEqual([header, inForm]);
  });
});
