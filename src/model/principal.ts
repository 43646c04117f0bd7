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
}

export type PrincipalIdentity = Pick<Principal, "tenant" | "issuer" | "kind" | "subject" | "clientId">;

/** The key that sessions, caches and locks bind to. Array order is fixed, so JSON text is canonical. */
export function principalKey(who: PrincipalIdentity): string {
  return JSON.stringify([who.tenant, who.issuer, who.kind, who.subject, who.clientId]);
}
