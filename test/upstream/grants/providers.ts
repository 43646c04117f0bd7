import type { GrantUpstreamOptions } from "../../../src/upstream/grants/options.ts";
import { handMade, type ProviderWays } from "./provider.ts";

/** How a provider is published to behave, and what an operator configures for it. */
export interface Published {
  readonly path: string;
  readonly ways: ProviderWays;
  readonly configured: Partial<GrantUpstreamOptions>;
  /** Scopes of a grant that was connected. */
  readonly scopes: readonly string[];
  readonly refreshes: boolean;
}

type Name = "github" | "atlassian" | "slack" | "sentry" | "notion" | "linear";

export const providers: Readonly<Record<Name, Published>> = {
  /** An OAuth app by hand; errors under status 200; scopes with commas; tokens that do not expire, so none to refresh. */
  github: {
    path: "/mcp/",
    ways: {
      issuerPath: "/login/oauth",
      resourceChanges: { scopes_supported: ["repo", "gist"] },
      serverChanges: { registration_endpoint: undefined, revocation_endpoint: undefined },
      iss: null,
      expiresIn: undefined,
      shape: (_status, body) => ({
        status: 200,
        body: "error" in body ? body : { ...body, token_type: "bearer", scope: "gist,repo", refresh_token: undefined },
      }),
    },
    configured: { client: handMade, profile: "github" },
    scopes: ["gist", "repo"],
    refreshes: false,
  },
  /** Metadata at the path, dynamic registration, scopes an operator chooses, rotating refresh tokens. */
  atlassian: {
    path: "/v1/mcp/authv2",
    ways: { resourceMetadata: "inserted", expiresIn: 3_600, iss: null },
    configured: { scopes: ["offline_access", "read:jira-work"] },
    scopes: ["offline_access", "read:jira-work"],
    refreshes: true,
  },
  /** An app by hand, user scopes apart from the app's, the user's token inside the answer, `ok: false` for errors. */
  slack: {
    path: "/mcp",
    ways: {
      serverChanges: { registration_endpoint: undefined },
      iss: null,
      expiresIn: 43_200,
      shape: (_status, body) => ({ status: 200, body: slackAnswer(body) }),
    },
    configured: { client: handMade, profile: "slack", scopes: ["channels:read", "chat:write"], sendResource: false },
    scopes: ["channels:read", "chat:write"],
    refreshes: true,
  },
  /** Metadata at the path, dynamic registration, tokens of minutes. */
  sentry: {
    path: "/mcp",
    ways: {
      resourceChanges: { scopes_supported: ["org:read", "project:write"] },
      serverChanges: { token_endpoint_auth_methods_supported: ["client_secret_basic", "client_secret_post", "none"] },
      expiresIn: 900,
      iss: null,
    },
    configured: {},
    scopes: ["org:read", "project:write"],
    refreshes: true,
  },
  /** No scopes at all; public clients; refresh tokens that are used up at once. */
  notion: {
    path: "/mcp",
    ways: {
      serverChanges: { token_endpoint_auth_methods_supported: ["none"] },
      registrationChanges: { token_endpoint_auth_method: "none" },
      expiresIn: 3_600,
      iss: null,
    },
    configured: {},
    scopes: [],
    refreshes: true,
  },
  /** Metadata at the root alone, and registrations answered with 200. */
  linear: {
    path: "/mcp",
    ways: {
      resourceMetadata: "root",
      resourceChanges: { scopes_supported: ["read", "write"] },
      registrationStatus: 200,
      expiresIn: 86_400,
      iss: null,
    },
    configured: {},
    scopes: ["read", "write"],
    refreshes: true,
  },
};

/** `oauth.v2.access`: the user's token inside `authed_user` at first, at the top when it was refreshed. */
function slackAnswer(body: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  if ("error" in body) return { ok: false, error: body["error"] === "invalid_grant" ? "token_revoked" : body["error"] };
  const { access_token, refresh_token, expires_in, scope } = body;
  const scopes = String(scope).replaceAll(" ", ",");
  const user = { access_token, refresh_token, expires_in, scope: scopes, token_type: "user" };
  return { ok: true, access_token: "xoxb-app", token_type: "bot", authed_user: { id: "U1", ...user } };
}
