import { readOwn } from "../model/json.ts";
import type { JsonObject } from "../model/json.ts";
import type { IssuerProfileName } from "../model/issuer-profile.ts";

/**
 * How one kind of provider writes its access tokens. What configuration says of an issuer goes before what
 * its profile says; that the audience is proven, that symmetric signatures are refused and that ID tokens
 * are, no profile changes.
 */
export interface Profile {
  /** Accepted values of the header's `typ`, lower-cased and without `application/`; undefined: no `typ` at all. */
  readonly tokenTypes: readonly (string | undefined)[];
  /** Claims that every access token has with one of these values, and the provider's ID tokens with another or not. */
  readonly required: Readonly<Record<string, readonly string[]>>;
  /** A claim that every access token has and no ID token; with it, what ID tokens carry as well is no sign of one. */
  readonly accessClaim: string | undefined;
  /** The first of these that is there names the subject. */
  readonly subjectClaims: readonly string[];
  /** The first of these that is there names the client. */
  readonly clientClaims: readonly string[];
  readonly groupsClaim: string | undefined;
  /** A claim that stands where `groupsClaim` was left out although there are groups. */
  readonly groupsLeftOutClaim: string | undefined;
  /** What proves the audience of a token without `aud`; compared with the configured value alone. */
  readonly audienceClaim: string | undefined;
  /** Whether the token says that no person is behind it; a `sub` that is the client says so for every profile. */
  readonly isService: (claims: JsonObject) => boolean;
}

/** RFC 9068, and what issuers wrote before it. */
const generic: Profile = {
  tokenTypes: [undefined, "jwt", "at+jwt"],
  required: {},
  accessClaim: undefined,
  subjectClaims: ["sub"],
  clientClaims: ["client_id", "azp"],
  groupsClaim: undefined,
  groupsLeftOutClaim: undefined,
  audienceClaim: undefined,
  isService: () => false,
};

/**
 * The claim `typ` tells its tokens apart: `Bearer`, `DPoP`, `ID`, `Refresh`, `Offline`. It ignores `resource`, short of
 * an experimental feature; an audience mapper puts the server's URL into `aud`. Realm roles come without a mapper,
 * groups do not.
 */
const keycloak: Profile = {
  ...generic,
  tokenTypes: ["jwt", "at+jwt"],
  required: { typ: ["Bearer", "DPoP"] },
  groupsClaim: "/realm_access/roles",
  isService: isKeycloakServiceAccount,
};

/** Its `sub` differs from application to application; `oid` is the person. `aud` is an application's id or its URI. */
const entra: Profile = {
  ...generic,
  tokenTypes: ["jwt"],
  subjectClaims: ["oid"],
  clientClaims: ["azp", "appid"],
  groupsClaim: "groups",
  groupsLeftOutClaim: "hasgroups",
  isService: isEntraApplication,
};

/** `sub` is the sign-in name, which can change hands; `uid` is the person and the ID token's `sub`. Services have no `uid`. */
const okta: Profile = {
  ...generic,
  subjectClaims: ["uid", "sub"],
  clientClaims: ["cid", "client_id"],
  groupsClaim: "groups",
};

/**
 * Tokens for an API are signed, all others opaque or encrypted. Of its two formats, RFC 9068's has `client_id`, and
 * its own has `azp` and sometimes `gty`.
 */
const auth0: Profile = {
  ...generic,
  tokenTypes: ["jwt", "at+jwt"],
  clientClaims: ["client_id", "azp"],
  isService: isAuth0Application,
};

/** Without resource binding there is no `aud`, and the application client is what the token is for. */
const cognito: Profile = {
  ...generic,
  tokenTypes: [undefined],
  required: { token_use: ["access"] },
  clientClaims: ["client_id"],
  groupsClaim: "cognito:groups",
  audienceClaim: "client_id",
};

/** Tokens of the client credentials grant have no `sub`: the client is the subject (RFC 9068 §2.2 asks for that). */
const ping: Profile = { ...generic, subjectClaims: ["sub", "client_id"], groupsClaim: "groups" };

/**
 * An access token is the ID token with `azp`, `uid` and `scope` added: `aud` is the client in both, and `nonce` may be.
 * Versions that did not write `scope` yet are refused.
 */
const authentik: Profile = {
  ...generic,
  tokenTypes: ["jwt"],
  accessClaim: "scope",
  clientClaims: ["azp", "client_id"],
  groupsClaim: "groups",
};

/** Projected service account tokens: `sub` is `system:serviceaccount:NAMESPACE:NAME`, and no client is named. */
const kubernetes: Profile = {
  ...generic,
  tokenTypes: [undefined],
  accessClaim: "kubernetes.io",
  clientClaims: [],
  isService: () => true,
};

const profiles: Readonly<Record<IssuerProfileName, Profile>> = {
  generic,
  keycloak,
  entra,
  okta,
  auth0,
  cognito,
  ping,
  authentik,
  kubernetes,
};

/** The profile of a name; `generic` where an issuer names none. */
export function profileOf({ profile }: { readonly profile?: IssuerProfileName | undefined }): Profile {
  return profiles[profile ?? "generic"];
}

/**
 * The user that stands for a client is `service-account-` and the client, and only its tokens have `client_id`
 * besides `azp`. One of the two alone could be had by choosing a user name, or by a mapper.
 */
function isKeycloakServiceAccount(claims: JsonObject): boolean {
  const [client, user] = [readOwn(claims, "client_id"), readOwn(claims, "preferred_username")];
  return typeof client === "string" && typeof user === "string" && user === `service-account-${client}`.toLowerCase();
}

/** A service's `sub` is its client and `@clients`, in both formats; users' ids have a connection and `|` in front. */
function isAuth0Application(claims: JsonObject): boolean {
  if (readOwn(claims, "gty") === "client-credentials") return true;
  const client = ["client_id", "azp"].map((name) => readOwn(claims, name)).find((one) => one !== undefined);
  return typeof client === "string" && readOwn(claims, "sub") === `${client}@clients`;
}

/** `idtyp` is optional; without it, a token that nobody delegated has no `scp` and one id for subject and object. */
function isEntraApplication(claims: JsonObject): boolean {
  const kind = readOwn(claims, "idtyp");
  if (kind !== undefined) return kind === "app";
  const [object, subject] = [readOwn(claims, "oid"), readOwn(claims, "sub")];
  return !Object.hasOwn(claims, "scp") && object !== undefined && object === subject;
}
