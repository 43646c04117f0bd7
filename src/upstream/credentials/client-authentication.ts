import { ClientSecretPost, modifyAssertion, PrivateKeyJwt } from "oauth4webapi";
import type { ClientAuth } from "oauth4webapi";
import type { ClientOptions } from "../options.ts";
import { clientSecretBasic } from "./client-secret-basic.ts";
import { readSigningKey } from "./signing-key.ts";

/** How the gateway proves at a token endpoint who it is. The result prepares once what a key needs. */
export function clientAuthentication({ authentication }: ClientOptions): () => Promise<ClientAuth> {
  switch (authentication.method) {
    case "client_secret_basic":
      return always(clientSecretBasic(authentication.clientSecret));
    case "client_secret_post":
      return always(ClientSecretPost(authentication.clientSecret));
    case "private_key_jwt": {
      let prepared: Promise<ClientAuth> | undefined;
      return () => (prepared ??= byKey(authentication.privateKey, authentication.keyId));
    }
  }
}

function always(authentication: ClientAuth): () => Promise<ClientAuth> {
  return () => Promise.resolve(authentication);
}

/** RFC 7523 §2.2; `aud` is the issuer, which no other server can pass the assertion on to. */
async function byKey(privateKey: string, keyId: string | undefined): Promise<ClientAuth> {
  const key = await readSigningKey(privateKey, keyId);
  return PrivateKeyJwt(
    { key: key.privateKey, kid: key.kid },
    {
      [modifyAssertion]: (header) => {
        // The library says `Ed25519` (RFC 9864), which servers do not know yet that have known `EdDSA` for long.
        header["alg"] = key.alg;
      },
    },
  );
}
