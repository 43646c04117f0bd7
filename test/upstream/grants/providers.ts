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
  /** Whether there is an endpoint to revoke tokens at (RFC 7009). */
  readonly revokes: boolean;
  /** What the gateway registers by, where it has a document to show. */
  readonly registration: "by hand" | "document";
}

type Name = "github" | "atlassian" | "slack" | "sentry" | "notion" | "linear";

/** What Linear, Notion and Sentry have in common: registration, public clients, one endpoint for tokens and their end. */
const ofOneLibrary: ProviderWays = {
  revokesAtToken: true,
  expiresIn: 3_600,
};

const manyMethods = {
  token_endpoint_auth_methods_supported: ["client_secret_basic", "client_secret_post", "none"],
  client_id_metadata_document_supported: true,
};

const namesItself = { authorization_response_iss_parameter_supported: true };

export const providers: Readonly<Record<Name, Published>> = {
  /**
   * An OAuth app by hand, its secret in the form; errors under status 200; scopes with commas; tokens that do not
   * expire, so none to refresh. Answers name it, which the metadata does not say.
   */
  github: {
    path: "/mcp/",
    ways: {
      issuerPath: "/login/oauth",
      resourceChanges: { scopes_supported: ["repo", "gist"] },
      serverChanges: { registration_endpoint: undefined, revocation_endpoint: undefined },
      secretInFormOnly: true,
      expiresIn: undefined,
      shape: (_status, body) => ({
        status: 200,
        body: "error" in body ? body : { ...body, token_type: "bearer", scope: "gist,repo", refresh_token: undefined },
      }),
    },
    configured: { client: handMade, profile: "github" },
    scopes: ["gist", "repo"],
    refreshes: false,
    revokes: false,
    registration: "by hand",
  },
  /** An issuer with a path, both registrations, scopes an operator chooses, rotating refresh tokens. */
  atlassian: {
    path: "/v2/mcp",
    ways: {
      issuerPath: "/VCeDsk8ZHncYF1g234fKtc4lNipbBhu3",
      resourceChanges: { scopes_supported: ["read:me", "offline_access", "read:jira:agent-interface"] },
      serverChanges: {
        ...manyMethods,
        token_endpoint_auth_methods_supported: ["none", "client_secret_post", "client_secret_basic", "private_key_jwt"],
      },
      expiresIn: 3_600,
      iss: null,
    },
    configured: { scopes: ["offline_access", "read:jira:agent-interface"] },
    scopes: ["offline_access", "read:jira:agent-interface"],
    refreshes: true,
    revokes: true,
    registration: "document",
  },
  /** An app by hand, its secret in the form; the user's scopes beside the token; `ok: false` for errors. */
  slack: {
    path: "/mcp",
    ways: {
      resourceMetadata: "root-in-challenge",
      resourceIsOrigin: true,
      serverChanges: {
        registration_endpoint: undefined,
        revocation_endpoint: undefined,
        token_endpoint_auth_methods_supported: ["client_secret_post"],
      },
      secretInFormOnly: true,
      iss: null,
      expiresIn: 43_200,
      shape: (_status, body) => ({ status: 200, body: slackAnswer(body) }),
    },
    configured: { client: handMade, profile: "slack", scopes: ["channels:read", "chat:write"] },
    scopes: ["channels:read", "chat:write"],
    refreshes: true,
    revokes: false,
    registration: "by hand",
  },
  sentry: {
    path: "/mcp",
    ways: {
      ...ofOneLibrary,
      resourceChanges: { scopes_supported: ["org:read", "project:write"] },
      serverChanges: { ...manyMethods, ...namesItself },
    },
    configured: {},
    scopes: ["org:read", "project:write"],
    refreshes: true,
    revokes: true,
    registration: "document",
  },
  /** One scope for everything, and a resource that is the origin. */
  notion: {
    path: "/mcp",
    ways: {
      ...ofOneLibrary,
      resourceIsOrigin: true,
      resourceChanges: { scopes_supported: ["default"] },
      serverChanges: { ...manyMethods, code_challenge_methods_supported: ["plain", "S256"] },
      iss: null,
    },
    configured: {},
    scopes: ["default"],
    refreshes: true,
    revokes: true,
    registration: "document",
  },
  linear: {
    path: "/mcp",
    ways: {
      ...ofOneLibrary,
      resourceChanges: { scopes_supported: ["read", "write"] },
      serverChanges: { ...manyMethods, ...namesItself },
    },
    configured: {},
    scopes: ["read", "write"],
    refreshes: true,
    revokes: true,
    registration: "document",
  },
};

/** `oauth.v2.user.access`: the user's token at the top, with no scopes there but in `authed_user`. */
function slackAnswer(body: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  if ("error" in body) return { ok: false, error: body["error"] === "invalid_grant" ? "token_revoked" : body["error"] };
  const scopes = String(body["scope"]).replaceAll(" ", ",");
  return { ok: true, ...body, token_type: "user", scope: "", authed_user: { id: "U1", scope: scopes } };
}
