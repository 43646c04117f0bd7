import { createHash } from "node:crypto";
import { decodeJwt, errors, jwtVerify } from "jose";
import type { JWTPayload, JWTVerifyGetKey } from "jose";
import { isJsonObject } from "../model/json.ts";
import type { JsonObject } from "../model/json.ts";
import { limits } from "../model/limits.ts";
import { readGroups } from "../model/read-groups.ts";
import { isEmailClaim, spelledSubject } from "../model/spelled-subject.ts";
import { parseJson } from "../protocol/json/parse.ts";
import type { AssertionIssuer } from "./assertion-issuer.ts";
import type { GrantRecords } from "./port.ts";

/** What a good assertion says. */
export interface IdentityAssertion {
  readonly issuer: AssertionIssuer;
  /** The person, in the issuer's own words; an e-mail address in its one spelling. */
  readonly person: string;
  readonly groups: readonly string[];
  /** The server that it is for, as the issuer spells it. */
  readonly resource: string;
  /** Undefined when the issuer leaves the scopes to this server. */
  readonly scope: string | undefined;
  /** When the issuer made it: `iat`, in milliseconds since the epoch. */
  readonly issuedAt: number;
}

export type AssertionFault =
  | "malformed"
  | "issuer"
  | "type"
  | "audience"
  | "client"
  | "resource"
  | "expired"
  | "life"
  | "signature"
  | "subject"
  | "groups"
  | "replayed"
  | "keys-unavailable";

export type AssertionResult =
  { readonly ok: true; readonly assertion: IdentityAssertion } | { readonly ok: false; readonly fault: AssertionFault };

export interface AssertionContext {
  readonly issuers: readonly { readonly issuer: AssertionIssuer; readonly keys: JWTVerifyGetKey }[];
  /** This server's own issuer identifier. */
  readonly audience: string;
  readonly records: Pick<GrantRecords, "setIfAbsent">;
  readonly now: () => number;
}

/**
 * Verifies an identity assertion (ID-JAG, draft-ietf-oauth-identity-assertion-authz-grant §5.1) for the client that
 * has authenticated: type, signature of a known issuer, this server as its only audience, `client_id` of that
 * client, a life of at most an hour, groups that can be read, and that it was not used before. Not checked: whether
 * `resource` is a server here, whether the person is let in, and which scopes they may have.
 */
export async function verifyIdentityAssertion(
  text: string,
  clientId: string,
  context: AssertionContext,
): Promise<AssertionResult> {
  const known = text.length > limits.oauthAssertionCharsMax ? undefined : issuerOf(text, context);
  if (known === undefined) return fault("issuer");
  if (known === "malformed") return fault("malformed");
  const verified = await verify(text, known, context);
  if (typeof verified === "string") return fault(verified);
  const read = readClaims(verified, clientId, known.issuer);
  if (typeof read === "string") return fault(read);
  const first = await noteUse(verified.claims, known.issuer, context);
  return first ? { ok: true, assertion: read } : fault("replayed");
}

type KnownIssuer = AssertionContext["issuers"][number];

/** The issuer that the assertion claims, for choosing keys; what it says is believed once they verify it. */
function issuerOf(text: string, { issuers }: AssertionContext): KnownIssuer | undefined | "malformed" {
  try {
    const { iss } = decodeJwt(text);
    return issuers.find(({ issuer }) => issuer.issuer === iss);
  } catch {
    return "malformed";
  }
}

/** The claims as the library checked them, and the same text by the strict parser: without a key that comes twice. */
interface Verified {
  readonly claims: JWTPayload;
  readonly json: JsonObject;
}

async function verify(
  text: string,
  { issuer, keys }: KnownIssuer,
  { audience, now }: AssertionContext,
): Promise<Verified | AssertionFault> {
  try {
    const { payload } = await jwtVerify(text, keys, {
      typ: "oauth-id-jag+jwt",
      issuer: issuer.issuer,
      audience,
      algorithms: [...issuer.algorithms],
      clockTolerance: limits.oauthAssertionSkewSeconds,
      currentDate: new Date(now()),
      requiredClaims: ["exp", "iat", "jti", "sub", "client_id", "resource"],
    });
    const json = parseJson(Buffer.from(text.split(".")[1] ?? "", "base64url"));
    return json.ok && isJsonObject(json.value) ? { claims: payload, json: json.value } : "malformed";
  } catch (error) {
    return faultOf(error);
  }
}

function faultOf(error: unknown): AssertionFault {
  if (error instanceof errors.JWTExpired) return "expired";
  if (error instanceof errors.JWTClaimValidationFailed) return claimFaults.get(error.claim) ?? "malformed";
  const signature =
    error instanceof errors.JWSSignatureVerificationFailed ||
    error instanceof errors.JWKSNoMatchingKey ||
    error instanceof errors.JWKSMultipleMatchingKeys ||
    error instanceof errors.JOSEAlgNotAllowed ||
    error instanceof errors.JOSENotSupported;
  if (signature) return "signature";
  const malformed = error instanceof errors.JWSInvalid || error instanceof errors.JWTInvalid;
  return malformed ? "malformed" : "keys-unavailable";
}

const claimFaults: ReadonlyMap<string, AssertionFault> = new Map([
  ["typ", "type"],
  ["aud", "audience"],
  ["iss", "issuer"],
  ["client_id", "client"],
  ["resource", "resource"],
  ["sub", "subject"],
  ["nbf", "expired"],
]);

function readClaims(
  { claims, json }: Verified,
  clientId: string,
  issuer: AssertionIssuer,
): IdentityAssertion | AssertionFault {
  if (Array.isArray(claims.aud) && claims.aud.length !== 1) return "audience";
  if (!mayBring(clientId, claims, issuer)) return "client";
  if (!isShortLived(claims)) return "life";
  const resource = soleText(claims["resource"]);
  if (resource === undefined) return "resource";
  const person = personOf(claims, issuer);
  if (person === undefined) return "subject";
  const groups = readGroups(json, issuer.groupsClaim);
  if (!groups.ok || groups.groups.length > issuer.groupsMax) return "groups";
  const scope = typeof claims["scope"] === "string" ? claims["scope"] : undefined;
  return { issuer, person, resource, scope, groups: groups.groups, issuedAt: (claims.iat ?? 0) * 1_000 };
}

function mayBring(clientId: string, claims: JWTPayload, { clients }: AssertionIssuer): boolean {
  return claims["client_id"] === clientId && (clients === undefined || clients.includes(clientId));
}

/** What may live long may be replayed long, and would have to be remembered as long. */
function isShortLived({ iat = 0, exp = Number.POSITIVE_INFINITY, jti }: JWTPayload): boolean {
  return exp - iat <= limits.oauthAssertionSecondsMax && typeof jti === "string" && jti.length <= 256;
}

/** An address that nobody verified is whatever its owner typed, the address of somebody else included. */
function personOf(claims: JWTPayload, { subjectFrom }: AssertionIssuer): string | undefined {
  if (isEmailClaim(subjectFrom) && claims["email_verified"] !== true) return undefined;
  const named = nonEmpty(claims[subjectFrom]);
  return named === undefined ? undefined : spelledSubject(subjectFrom, named);
}

function noteUse(claims: JWTPayload, issuer: AssertionIssuer, { records, now }: AssertionContext): Promise<boolean> {
  const used = createHash("sha256")
    .update(JSON.stringify([issuer.issuer, claims.jti]))
    .digest("base64url");
  const untilMs = ((claims.exp ?? 0) + limits.oauthAssertionSkewSeconds) * 1_000;
  return records.setIfAbsent(["oauthAssertions", "default", used], "1", Math.max(untilMs - now(), 1_000));
}

function soleText(value: unknown): string | undefined {
  if (Array.isArray(value)) return value.length === 1 ? nonEmpty(value[0]) : undefined;
  return nonEmpty(value);
}

function nonEmpty(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" && value.length <= 512 ? value : undefined;
}

function fault(of: AssertionFault): AssertionResult {
  return { ok: false, fault: of };
}
