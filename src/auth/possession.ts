import type { Principal } from "../model/principal.ts";
import { StoreUnavailable } from "../model/records.ts";
import type { RecordKey } from "../model/records.ts";
import { refuse } from "../model/refusal.ts";
import type { Refused } from "../model/result.ts";
import type { PresentedToken } from "./authorization-header.ts";
import type { Binding, HeldToken } from "./binding.ts";
import { sha256 } from "./deny-list.ts";
import { verifyProof } from "./dpop-proof.ts";
import type { Proof, ProofLimits } from "./dpop-proof.ts";
import type { ProofRecords } from "./port.ts";
import type { ProofNonces } from "./proof-nonces.ts";

/** What a request shows besides its token, of who holds it. */
export interface Shown {
  /** Every value received under `DPoP`. */
  readonly proofs: readonly string[];
  readonly method: string;
  /** The public URI that is asked, without query; never made of what the request says of its host. */
  readonly uri: string;
  /** SHA-256 (base64url) of the client's verified certificate; undefined: this listener sees none. */
  readonly certificate: (() => string | undefined) | undefined;
}

/** What proofs are checked with; absent where no issuer's tokens are taken with any. */
export interface ProofOptions {
  readonly records: ProofRecords;
  readonly nonces: ProofNonces;
}

/** A verified token in somebody's request. */
export interface Presentation extends PresentedToken, HeldToken {
  readonly tenant: Principal["tenant"];
  /** Absent: nothing. `before`: what the request showed was checked as it came, and this is a later look at its token. */
  readonly shown: Shown | "before" | undefined;
  readonly now: number;
}

/**
 * Undefined when whoever sends a token shows all that it is bound to, and shows it in the scheme that belongs to it.
 * Synchronous for tokens that are bound to no key.
 *
 * Refuses AUTH_CERTIFICATE_MISSING and AUTH_CERTIFICATE_MISMATCH (RFC 8705 §3), AUTH_DPOP_* (RFC 9449 §7) and
 * STORE_UNAVAILABLE when nobody can tell whether a proof was used before.
 */
export function refuseUnheld(
  presented: Presentation,
  { proofs, limits }: { readonly proofs?: ProofOptions | undefined; readonly limits: ProofLimits },
): Refused | undefined | Promise<Refused | undefined> {
  const { scheme, binding, needsProof, shown } = presented;
  if (shown === "before") return undefined;
  const certificate = refuseCertificate(binding, shown);
  if (certificate !== undefined) return certificate;
  if (scheme === "Bearer") {
    if (binding?.key !== undefined) return refuse("AUTH_DPOP_SCHEME_NEEDED");
    return needsProof ? refuse("AUTH_DPOP_REQUIRED") : undefined;
  }
  // RFC 9449 §7.1: taken all the same, it would seem protected to whoever sent it.
  if (binding?.key === undefined) return refuse("AUTH_DPOP_TOKEN_UNBOUND");
  if (proofs === undefined) return refuse("AUTH_SCHEME_UNSUPPORTED");
  return refuseUnproven({ ...presented, shown, key: binding.key }, proofs, limits);
}

function refuseCertificate(binding: Binding | undefined, shown: Shown | undefined): Refused | undefined {
  const wanted = binding?.certificate;
  if (wanted === undefined) return undefined;
  const found = shown?.certificate?.();
  if (found === undefined) return refuse("AUTH_CERTIFICATE_MISSING", { seen: shown?.certificate !== undefined });
  return found === wanted ? undefined : refuse("AUTH_CERTIFICATE_MISMATCH");
}

type BoundPresentation = Presentation & { readonly shown: Shown | undefined; readonly key: string };

async function refuseUnproven(
  { shown, key, token, tenant, now }: BoundPresentation,
  proofs: ProofOptions,
  limits: ProofLimits,
): Promise<Refused | undefined> {
  const [text, ...others] = shown?.proofs ?? [];
  if (shown === undefined || text === undefined) return refuse("AUTH_DPOP_PROOF_MISSING");
  if (others.length > 0) return refuse("AUTH_DPOP_PROOF_INVALID", { reason: "several DPoP headers" });
  const { method, uri } = shown;
  const proof = await verifyProof(text, { method, uri, token, now }, limits);
  if (!proof.ok) return proof;
  const { thumbprint, nonce } = proof.value;
  if (thumbprint !== key) return refuse("AUTH_DPOP_KEY_MISMATCH");
  if (nonce === undefined || !proofs.nonces.accepts(nonce, now))
    return refuse("AUTH_DPOP_NONCE_NEEDED", { found: nonce === undefined ? "none" : "one that is not accepted" });
  // Last, so that only holders of tokens and keys write records.
  return refuseReplayed(proof.value, { tenant, now, records: proofs.records });
}

/** The record that a proof was used; it is refused as too old by the time that the record is gone. */
function usedProofKey(tenant: string, { thumbprint, id }: Pick<Proof, "thumbprint" | "id">): RecordKey {
  return ["dpop-proof", tenant, sha256(`${thumbprint} ${id}`)];
}

async function refuseReplayed(
  proof: Proof,
  { tenant, now, records }: { readonly tenant: string; readonly now: number; readonly records: ProofRecords },
): Promise<Refused | undefined> {
  try {
    const isFirst = await records.setIfAbsent(usedProofKey(tenant, proof), "1", proof.until - now);
    return isFirst ? undefined : refuse("AUTH_DPOP_PROOF_REPLAYED");
  } catch (cause) {
    if (cause instanceof StoreUnavailable) return refuse("STORE_UNAVAILABLE", { needed: "used proofs" }, { cause });
    throw cause;
  }
}
