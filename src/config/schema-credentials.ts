import { defaults } from "./defaults.ts";
import { integer, mapOf, objectOf, scopes, secret, url } from "./schema-common.ts";
import type { SchemaNode } from "./schema-node.ts";

const text: SchemaNode = { type: "string", minLength: 1, maxLength: 512 };

const client: Readonly<Record<string, SchemaNode>> = {
  issuer: {
    ...url,
    description: "The authorization server's issuer identifier; its metadata names the endpoints.",
  },
  clientId: { ...text, description: "The gateway's `client_id` there." },
  clientSecret: { ...secret, description: "The gateway's secret there, by reference. Either this or `privateKey`." },
  method: {
    type: "string",
    enum: ["client_secret_basic", "client_secret_post"],
    default: defaults.clientAuthentication,
    description: "How the secret is sent. The first is what every server has to take (RFC 6749 §2.3.1).",
  },
  privateKey: {
    ...secret,
    description:
      "A private key, by reference, in PEM or as JWK: the gateway proves itself by signing (`private_key_jwt`, RFC 7523 §2.2). P-256, P-384, P-521, Ed25519, or RSA of 2048 bits and more.",
  },
  keyId: {
    ...text,
    description:
      "The `kid` under which the server knows the key. Absent: the JWK's own, else its thumbprint (RFC 7638).",
  },
  addresses: {
    type: "string",
    enum: ["public", "private", "loopback"],
    description: "Where the authorization server may be. Absent: as the upstream.",
  },
};

const target: Readonly<Record<string, SchemaNode>> = {
  scopes: { ...scopes, default: [], description: "Scopes to ask for. None: the authorization server decides." },
  resource: { ...url, description: "The resource indicator to send (RFC 8707). Absent: none is sent." },
  audience: { ...text, description: "The `audience` to send, where the server wants a name instead of a URL." },
};

const staticBranch: SchemaNode = objectOf(
  {
    type: { const: "static", description: "The same headers on every request." },
    headers: {
      ...mapOf(secret, {
        description:
          "Header name to its value, by reference: the whole value, `Bearer` and the like included. Headers that the gateway itself writes are refused.",
        keys: { type: "string", pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$" },
      }),
      minProperties: 1,
      maxProperties: 20,
    },
    basic: objectOf(
      {
        username: { ...text, pattern: "^[^:\\u0000-\\u001F\\u007F]+$", description: "The user name, without a colon." },
        password: { ...secret, description: "The password, by reference." },
      },
      {
        required: ["username", "password"],
        description: "HTTP basic authentication (RFC 7617), in UTF-8. Instead of an `Authorization` header.",
      },
    ),
  },
  { required: ["type"] },
);

const userBranch: SchemaNode = objectOf(
  {
    type: {
      const: "user",
      description:
        "The caller's own grant at the upstream's authorization server: each person connects once at `{publicUrl}/connect`, for each client.",
    },
    title: { ...text, description: "What people are told that they connect. Absent: the upstream's name." },
    issuer: {
      ...url,
      description:
        "The only authorization server to accept, for which you vouch. Absent: the first that the upstream names, from then on; it must promise `iss` in its answers (RFC 9207), and no other upstream may use it.",
    },
    clientId: {
      ...text,
      description:
        "A client that was registered by hand with `issuer`, with the redirect URI `{publicUrl}/connect/granted`. Absent: the gateway's client id metadata document, or dynamic registration.",
    },
    clientSecret: { ...secret, description: "Its secret, by reference. Absent: a public client." },
    scopes: { ...scopes, description: "Scopes to ask for. Absent: those that the upstream says it needs." },
    sendResource: {
      type: "boolean",
      default: defaults.sendResource,
      description: "Whether the upstream's URL is sent as `resource` (RFC 8707). Off for servers that refuse it.",
    },
    assumePkce: {
      type: "boolean",
      default: defaults.assumePkce,
      description: "Accepts a server that does not say that it supports PKCE. The challenge is sent all the same.",
    },
    profile: {
      type: "string",
      enum: ["standard", "github", "slack"],
      default: defaults.grantProfile,
      description: "For servers that answer in ways of their own, which need `issuer` and `clientId`.",
    },
  },
  { required: ["type"] },
);

/** What the gateway shows an upstream. What fields must hold together stands in `rules-credentials.ts`. */
export const credential: SchemaNode = {
  type: "object",
  description:
    "What the gateway shows this upstream of itself, or of who calls. The caller's own token is never sent there. Absent: nothing (`type: none`).",
  discriminator: { propertyName: "type" },
  oneOf: [
    objectOf({ type: { const: "none", description: "No credential." } }, { required: ["type"] }),
    staticBranch,
    objectOf(
      {
        type: {
          const: "clientCredentials",
          description: "A token from `issuer` (RFC 6749 §4.4), renewed as it expires.",
        },
        ...client,
        ...target,
      },
      { required: ["type", "issuer", "clientId"] },
    ),
    objectOf(
      {
        type: {
          const: "assertion",
          description:
            "A short-lived JWT of the gateway's that says who calls: subject, tenant, groups and client. It verifies with the keys at `{publicUrl}/oauth/assertion-keys`.",
        },
        audience: { ...url, description: "`aud` of the assertion. Absent: the upstream's `url`." },
        subject: {
          type: "string",
          enum: ["plain", "qualified"],
          default: defaults.assertionSubject,
          description:
            "How `sub` names the caller: `plain`, as their issuer does, or `qualified`, with the issuer's alias before it (`corp:ada`), for upstreams that look at nothing else although several issuers are accepted. `sub_id` names issuer and subject either way.",
        },
        seconds: integer({
          minimum: 60,
          maximum: 300,
          default: defaults.assertionSeconds,
          description: "How long an assertion is good for. Short, since an upstream cannot ask whether it still holds.",
        }),
      },
      { required: ["type"] },
    ),
    objectOf(
      {
        type: {
          const: "tokenExchange",
          description:
            "The caller's token, exchanged at `issuer` for one that is meant for the upstream (RFC 8693). It is sent to that server alone. Lists are read with a token of the gateway's own, by client credentials.",
        },
        ...client,
        ...target,
        subjectTokenType: {
          type: "string",
          enum: ["accessToken", "jwt"],
          default: defaults.subjectTokenType,
          description: "What the server is told that the caller's token is.",
        },
        actor: {
          type: "string",
          enum: ["none", "assertion"],
          default: defaults.actor,
          description:
            "Whether the gateway says, by an assertion of its own in `actor_token`, that it acts for the caller. The server must trust the keys at `{publicUrl}/oauth/assertion-keys`.",
        },
        boundTokens: {
          type: "string",
          enum: ["refuse", "send"],
          default: defaults.boundTokens,
          description:
            "What becomes of a caller's token that is bound to a key (DPoP) or a certificate. `send` shows it to `issuer` without proof of possession, as a bearer token; many servers refuse that.",
        },
      },
      { required: ["type", "issuer", "clientId"] },
    ),
    objectOf(
      {
        type: {
          const: "identityAssertion",
          description:
            "An identity assertion of the company's provider, exchanged at `issuer` for a token of the caller's (ID-JAG). Needs `auth.builtIn.provider`, at which callers sign in. Lists are read with a token of the gateway's own, by client credentials.",
        },
        ...client,
        scopes: { ...scopes, default: [], description: "Scopes to ask for. None: the authorization server decides." },
        resource: { ...url, description: "The upstream, as its authorization server knows it. Absent: its `url`." },
      },
      { required: ["type", "issuer", "clientId"] },
    ),
    userBranch,
  ],
};

export const assertionKeys: SchemaNode = {
  type: "array",
  items: secret,
  maxItems: 5,
  default: [],
  description:
    "Private keys, by reference, in PEM or as JWK, that sign the gateway's assertions. The first signs, all are published: put a new key last, wait until upstreams have read it, then put it first. None: keys are made, kept in the store sealed, and changed every 30 days.",
};
