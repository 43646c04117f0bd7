import { proofAlgorithms } from "./auth/dpop-proof.ts";
import type { ProofOptions } from "./auth/possession.ts";
import { createProofNonces } from "./auth/proof-nonces.ts";
import type { ProtectedResource } from "./auth/protected-resource.ts";
import { keyFrom } from "./compose-keeping.ts";
import type { SignIn } from "./compose-sign-in.ts";
import type { Config } from "./config/types.ts";
import type { Store } from "./store/store.ts";

/** What DPoP proofs are checked with, where the tokens of any issuer are taken with them. Replicas share the nonces. */
export function openProofs({ auth, keys, limits }: Config, store: Store): ProofOptions | undefined {
  if (auth.kind === "none" || auth.issuers.every(({ dpop }) => dpop === "off")) return undefined;
  const secrets = [keys.session, ...keys.sessionPrevious];
  const nonces = createProofNonces({
    keys: secrets.map((secret) => keyFrom("dpop nonce", secret).key),
    secondsMax: limits.dpopNonceSecondsMax,
  });
  return { records: store, nonces };
}

/** What challenges name, whichever issuer a token is of. */
export function acceptedProofs({ proofs }: Pick<SignIn, "proofs">): readonly string[] | undefined {
  return proofs === undefined ? undefined : proofAlgorithms;
}

/** What a server's metadata says of tokens that are bound to something: by the issuer that it names. */
export function boundTokensAt(
  { listen, servers }: Config,
  { trusted }: Pick<SignIn, "trusted">,
  server: string,
): Pick<ProtectedResource, "proofAlgorithms" | "needsProof" | "takesCertificates"> {
  const mode = trusted(servers[server]?.issuer ?? "")?.dpop ?? "off";
  return {
    proofAlgorithms: mode === "off" ? undefined : proofAlgorithms,
    needsProof: mode === "require",
    takesCertificates: listen.tls?.clientCa !== undefined,
  };
}
