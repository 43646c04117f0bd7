import { isJsonObject, readOwn, readOwnString, type JsonObject } from "../../model/json.ts";

/** Servers whose ways no metadata tells. Everybody else is `standard`. */
export type ProfileName = "standard" | "github" | "slack";

/** In what a provider departs from RFC 6749. */
export interface Profile {
  /** The parameter of an authorization request that carries the scopes, and what stands between two. */
  readonly scopeParameter: string;
  readonly scopeSeparator: string;
  /** What stands between scopes in a token answer. */
  readonly grantedSeparator: RegExp;
  /** The members of RFC 6749 §5.1 or §5.2, from an answer of the provider's own shape. */
  readonly tokenAnswer: (body: JsonObject) => JsonObject;
}

export function profileOf(name: ProfileName): Profile {
  return profiles[name];
}

const standard: Profile = {
  scopeParameter: "scope",
  scopeSeparator: " ",
  grantedSeparator: / +/,
  tokenAnswer: (body) => body,
};

const profiles: Readonly<Record<ProfileName, Profile>> = {
  standard,
  // GitHub separates granted scopes with commas. That it tells errors with status 200 is met for everybody.
  github: { ...standard, grantedSeparator: /[ ,]+/ },
  // Slack asks for a user's scopes apart from the app's, and answers the user's token inside `authed_user`.
  slack: { scopeParameter: "user_scope", scopeSeparator: ",", grantedSeparator: /[ ,]+/, tokenAnswer: slackAnswer },
};

/**
 * Slack, `oauth.v2.access`: `ok: false` with an `error`; otherwise the app's own token at the top, of which
 * nothing is taken, and the user's inside `authed_user`. A refreshed user token stands at the top by itself.
 */
function slackAnswer(body: JsonObject): JsonObject {
  if (readOwn(body, "ok") === false) return { error: slackError(readOwnString(body, "error") ?? "unknown") };
  const user = readOwn(body, "authed_user");
  const holder = isJsonObject(user) && readOwnString(user, "access_token") !== undefined ? user : body;
  if (readOwnString(holder, "token_type") !== "user") return { error: "invalid_user_token" };
  return { ...holder, token_type: "bearer" };
}

/** Slack's words for what RFC 6749 §5.2 calls `invalid_grant` and `invalid_client`. */
function slackError(error: string): string {
  if (["invalid_code", "code_already_used", "invalid_refresh_token", "token_revoked"].includes(error))
    return "invalid_grant";
  return ["invalid_client_id", "bad_client_secret"].includes(error) ? "invalid_client" : error;
}
