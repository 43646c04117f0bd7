import type { ItemIdentity } from "./item.ts";
import type { JsonObject } from "./json.ts";

/** Who acts. Made from a verified token; it never holds the token's bytes. */
export interface Principal {
  readonly tenant: string;
  /** The issuer's exact identifier (RFC 8414 §2), and the alias that configuration gives it. */
  readonly issuer: string;
  readonly issuerAlias: string;
  readonly kind: "human" | "service";
  readonly subject: string;
  /** The token's `client_id`, else `azp`, else empty. */
  readonly clientId: string;
  /** Issuer-qualified: `corp:support`. */
  readonly groups: readonly string[];
  readonly scopes: readonly string[];
  /** Claims that configuration maps for policy, under their configured names. */
  readonly claims: JsonObject;
  /** When the token behind this principal expires, in seconds since the epoch. */
  readonly expiresAt: number;
  /** `[tenant, iss, kind, sub, clientId]` as canonical JSON. See `principalKey`. */
  readonly key: string;
  /** The only items this principal reaches, whatever rules allow; absent: rules alone decide. */
  readonly boundTo?: readonly ItemIdentity[];
  /** Its token is good only with proof of possession (RFC 9449, RFC 8705); absent: whoever has it may use it. */
  readonly senderConstrained?: true;
}

export type PrincipalIdentity = Pick<Principal, "tenant" | "issuer" | "kind" | "subject" | "clientId">;

/** The key that sessions, caches and locks bind to. Array order is fixed, so JSON text is canonical. */
export function principalKey(who: PrincipalIdentity): string {
  return JSON.stringify([who.tenant, who.issuer, who.kind, who.subject, who.clientId]);
}

/** Who a key names; undefined for what `principalKey` did not write. */
export function readPrincipalKey(key: string): PrincipalIdentity | undefined {
  const parts = partsOf(key);
  const [tenant, issuer, kind, subject, clientId] = parts;
  if (parts.length !== 5 || (kind !== "human" && kind !== "service")) return undefined;
  if (tenant === undefined || issuer === undefined || subject === undefined || clientId === undefined) return undefined;
  return { tenant, issuer, kind, subject, clientId };
}

function partsOf(key: string): readonly string[] {
  try {
    const parsed: unknown = JSON.parse(key);
    const isList = Array.isArray(parsed) && parsed.every((part) => typeof part === "string");
    return isList ? parsed : [];
  } catch {
    return [];
  }
}

/** A person or service, whatever client acts for them. */
export type Subject = Pick<Principal, "tenant" | "issuer" | "subject">;

export function isSubject(one: Subject, other: Subject): boolean {
  return one.tenant === other.tenant && one.issuer === other.issuer && one.subject === other.subject;
}
