import { hash } from "node:crypto";
import type { Principal } from "../model/principal.ts";
import { StoreUnavailable } from "../model/records.ts";
import type { RecordKey } from "../model/records.ts";
import { refuse } from "../model/refusal.ts";
import type { Refused } from "../model/result.ts";
import type { DenyList } from "./port.ts";

/**
 * What a denied token is recorded by: SHA-256 (hex) of its signing input, `header.payload`. Not of the
 * whole token, as an ECDSA signature has a twin that verifies too, and whoever holds the token can swap it.
 */
export function denyDigest(token: string): string {
  return sha256(token.slice(0, token.lastIndexOf(".")));
}

/** The record that denies one token. Any value denies; its life need not be longer than the token's. */
export function deniedTokenKey(tenant: string, digest: string): RecordKey {
  return ["denied-token", tenant, digest];
}

/** The record that denies a subject, with whatever client it acts. */
export function deniedSubjectKey(who: Pick<Principal, "tenant" | "issuer" | "subject">): RecordKey {
  return ["denied-subject", who.tenant, who.issuer, who.subject];
}

/**
 * Undefined when neither the token nor its subject is denied. Refuses AUTH_TOKEN_REVOKED, and
 * STORE_UNAVAILABLE when nobody can tell: a deny list that cannot be read denies.
 */
export function refuseDenied(
  list: DenyList,
  who: Principal,
  digest: string,
): Refused | undefined | Promise<Refused | undefined> {
  const [token, subject] = [deniedTokenKey(who.tenant, digest), deniedSubjectKey(who)];
  if (list.getNow === undefined)
    return Promise.all([list.get(token), list.get(subject)]).then(([one, other]) => judge(one, other), unreadable);
  try {
    return judge(list.getNow(token), list.getNow(subject));
  } catch (cause) {
    return unreadable(cause);
  }
}

function judge(token: string | undefined, subject: string | undefined): Refused | undefined {
  if (token !== undefined) return refuse("AUTH_TOKEN_REVOKED", { denied: "token" });
  return subject === undefined ? undefined : refuse("AUTH_TOKEN_REVOKED", { denied: "subject" });
}

function unreadable(cause: unknown): Refused {
  if (cause instanceof StoreUnavailable) return refuse("STORE_UNAVAILABLE", { needed: "deny list" }, { cause });
  throw cause;
}

export function sha256(text: string): string {
  return hash("sha256", text, "hex");
}
