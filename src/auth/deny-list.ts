import { hash } from "node:crypto";
import type { Principal, Subject } from "../model/principal.ts";
import { StoreUnavailable } from "../model/records.ts";
import type { RecordKey } from "../model/records.ts";
import { refuse } from "../model/refusal.ts";
import type { Refused } from "../model/result.ts";
import { isOpaque } from "./compact-token.ts";
import type { DenyList } from "./port.ts";

/**
 * What a denied token is recorded by: SHA-256 (hex) of its signing input, `header.payload`. Not of the
 * whole token, as an ECDSA signature has a twin that verifies too, and whoever holds the token can swap it.
 * Of a token that is no JWT: of all of it.
 */
export function denyDigest(token: string): string {
  return sha256(isOpaque(token) ? token : token.slice(0, token.lastIndexOf(".")));
}

/** The record that denies one token. Any value denies; its life need not be longer than the token's. */
export function deniedTokenKey(tenant: string, digest: string): RecordKey {
  return ["denied-token", tenant, digest];
}

/** The record that denies a subject, with whatever client it acts. */
export function deniedSubjectKey(who: Subject): RecordKey {
  return ["denied-subject", who.tenant, who.issuer, who.subject];
}

interface DenyKeys {
  readonly digest: string;
  readonly token: RecordKey;
  readonly subject: RecordKey;
}

/** A remembered token yields the same principal, so its keys are the same objects too: a store may know them by that. */
const denyKeys = new WeakMap<Principal, DenyKeys>();

function denyKeysOf(who: Principal, digest: string): DenyKeys {
  const known = denyKeys.get(who);
  if (known?.digest === digest) return known;
  const keys = { digest, token: deniedTokenKey(who.tenant, digest), subject: deniedSubjectKey(who) };
  denyKeys.set(who, keys);
  return keys;
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
  const { token, subject } = denyKeysOf(who, digest);
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
