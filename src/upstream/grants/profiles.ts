import { isJsonObject, readOwn, readOwnString, type JsonObject } from "../../model/json.ts";

/** How a client proves itself at the token endpoint (RFC 6749 §2.3.1). */
export type ClientMethod = "client_secret_basic" | "client_secret_post" | "none";

/** Servers whose ways no metadata tells. Everybody else is `standard`. */
export type ProfileName = "standard" | "github" | "slack";

/** In what a provider departs from RFC 6749. */
export interface Profile {
  /** What stands between two scopes of an authorization request. */
  readonly scopeSeparator: string;
  /** How a client with a secret proves itself where the metadata does not say (RFC 8414 §2). */
  readonly unstatedMethod: Exclude<ClientMethod, "none">;
  /** What stands between scopes in a token answer. */
  readonly grantedSeparator: RegExp;
  /** The members of RFC 6749 §5.1 or §5.2, from an answer of the provider's own shape. */
  readonly tokenAnswer: (body: JsonObject) => JsonObject;
}

export function profileOf(name: ProfileName): Profile {
  return profiles[name];
}

const standard: Profile = {
  scopeSeparator: " ",
  unstatedMethod: "client_secret_basic",
  grantedSeparator: / +/,
  tokenAnswer: (body) => body,
};

const profiles: Readonly<Record<ProfileName, Profile>> = {
  standard,
  // GitHub separates granted scopes with commas, and documents the secret in the form alone, of which its metadata is
  // silent. That it tells errors with status 200 is met for everybody.
  github: { ...standard, unstatedMethod: "client_secret_post", grantedSeparator: /[ ,]+/ },
  slack: { ...standard, scopeSeparator: ",", grantedSeparator: /[ ,]+/, tokenAnswer: slackAnswer },
};

/**
 * Slack, `oauth.v2.user.access`: `ok: false` with an `error`; otherwise the user's token at the top, and what it was
 * granted in `authed_user.scope`. Where `authed_user` has a token (`oauth.v2.access`), that is the user's, and the one
 * at the top is the app's own, of which nothing is taken.
 */
function slackAnswer(body: JsonObject): JsonObject {
  if (readOwn(body, "ok") === false) return { error: slackError(readOwnString(body, "error") ?? "unknown") };
  const user = readOwn(body, "authed_user");
  const nested = isJsonObject(user) && readOwnString(user, "access_token") !== undefined;
  const holder = nested ? user : body;
  if (!isUserToken(holder)) return { error: "invalid_user_token" };
  const granted = readOwnString(user, "scope");
  return { ...holder, token_type: "bearer", ...(granted === undefined ? {} : { scope: granted }) };
}

/** By its type, and by its prefix, as a type of `Bearer` says nothing of whose it is. */
function isUserToken(holder: JsonObject): boolean {
  const type = readOwnString(holder, "token_type")?.toLowerCase();
  const token = readOwnString(holder, "access_token") ?? "";
  return (type === "user" || type === "bearer") && !/(^|\.)xoxb-/.test(token);
}

/** Slack's words for what RFC 6749 §5.2 calls `invalid_grant` and `invalid_client`. */
function slackError(error: string): string {
  if (spentGrant.includes(error)) return "invalid_grant";
  return ["invalid_client_id", "bad_client_secret"].includes(error) ? "invalid_client" : error;
}

const spentGrant = ["invalid_code", "code_already_used", "invalid_refresh_token", "token_expired", "token_revoked"];
