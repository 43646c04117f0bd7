import type { GuardedFetch } from "./port.ts";

/** A company's provider whose identity assertions are taken (draft-ietf-oauth-identity-assertion-authz-grant). */
export interface AssertionIssuer {
  /** Stands before the subjects and groups of its people, which another issuer's can then never be. */
  readonly alias: string;
  /** Its identifier; `iss` compares as an exact string. */
  readonly issuer: string;
  /** Where its keys are; undefined: taken from its metadata, whose `issuer` must be the same. */
  readonly jwksUri: string | undefined;
  readonly algorithms: readonly string[];
  /** The claim that names the person. `email` counts only with `email_verified: true`. */
  readonly subjectFrom: "sub" | "email";
  readonly groupsClaim: string | undefined;
  /** Groups that an assertion may list; one with more is refused, as one whose groups cannot be read. */
  readonly groupsMax: number;
  /** The clients that may bring its assertions; undefined: each that has the grant. */
  readonly clients: readonly string[] | undefined;
  /** Reaches the issuer, under the egress guard. */
  readonly fetch: GuardedFetch;
}
