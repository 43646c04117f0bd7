import { StoreUnavailable } from "../../model/records.ts";
import { refuse } from "../../model/refusal.ts";
import type { Refused, Result } from "../../model/result.ts";
import type { Credential, CredentialHeaders } from "./credential.ts";

/**
 * A credential whose promises do not reject: a store that is down is STORE_UNAVAILABLE, a fault of ours
 * INTERNAL_FAULT. Whoever delivers a message has nobody to throw at.
 */
export function unrejecting(credential: Credential): Credential {
  const guarded: { -readonly [K in keyof Credential]: Credential[K] } = {
    generation: (account) => credential.generation(account),
    headers(account) {
      const held = credential.headers(account);
      return held instanceof Promise ? settled(held) : held;
    },
  };
  if (credential.renew !== undefined) guarded.renew = (account, used) => settled(credential.renew?.(account, used));
  if (credential.forbidden !== undefined)
    guarded.forbidden = async (account, challenge) => credential.forbidden?.(account, challenge).catch(refusalOf);
  if (credential.endsAt !== undefined) guarded.endsAt = (account) => credential.endsAt?.(account);
  return guarded;
}

async function settled(work: Promise<Result<CredentialHeaders>> | undefined): Promise<Result<CredentialHeaders>> {
  try {
    return (await work) ?? refusalOf(new Error("the credential cannot be renewed"));
  } catch (cause) {
    return refusalOf(cause);
  }
}

function refusalOf(cause: unknown): Refused {
  return refuse(cause instanceof StoreUnavailable ? "STORE_UNAVAILABLE" : "INTERNAL_FAULT", {}, { cause });
}
