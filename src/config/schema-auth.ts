import { defaults } from "./defaults.ts";
import { addresses, integer, mapOf, name, objectOf, scopes, secret, url } from "./schema-common.ts";
import type { SchemaNode } from "./schema-node.ts";

const claim: SchemaNode = { type: "string", minLength: 1, maxLength: 256 };
const label: SchemaNode = { type: "string", minLength: 1, maxLength: 256 };

/** Signature algorithms a verifier may be told to accept. None is symmetric, and `none` is not one. */
const algorithms = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"];

const issuer: SchemaNode = objectOf(
  {
    alias: { ...name, description: "The issuer's name in policies and evidence; groups are written `alias:group`." },
    issuer: {
      ...url,
      description:
        "The issuer identifier, exactly as tokens and metadata carry it (RFC 8414 §2): no slash is added or dropped.",
    },
    issuerAliases: {
      type: "array",
      items: url,
      uniqueItems: true,
      maxItems: 16,
      default: [],
      description: "Further exact `iss` values that this issuer's tokens carry, where a provider needs them.",
    },
    groupsClaim: { ...claim, description: "The claim that lists groups. Absent: principals of this issuer have none." },
    scopeClaim: { ...claim, description: "The claim that lists scopes. Absent: `scope`, then `scp`." },
    tenant: {
      ...name,
      default: defaults.tenant,
      description: "The tenant of everybody from this issuer. One tenant is the common case, so it has a default.",
    },
    tenantClaim: { ...claim, description: "The claim whose value is the tenant, instead of `tenant`." },
    claims: mapOf(claim, {
      description: "Claims that policies may read: the name in policies, and the claim in the token.",
      keys: { type: "string", pattern: "^[a-zA-Z][a-zA-Z0-9_]{0,62}$" },
    }),
    algorithms: {
      type: "array",
      items: { type: "string", enum: algorithms },
      uniqueItems: true,
      minItems: 1,
      default: defaults.algorithms,
      description:
        "Accepted signature algorithms. The default is what providers use today; symmetric ones cannot be named.",
    },
    audience: mapOf(
      { type: "string", minLength: 1, maxLength: 2048 },
      {
        description:
          "For a server, a further `aud` value to accept, for providers that cannot issue the server's own URL. The audience itself is always checked.",
        keys: name,
      },
    ),
    jwksUri: { ...url, description: "Where the issuer's keys are. Absent: taken from the issuer's metadata." },
    addresses,
    serviceWhen: objectOf(
      { claim: { ...claim, description: "The claim." }, equals: { ...label, description: "Its value for services." } },
      {
        required: ["claim", "equals"],
        description: "How this issuer marks services, besides a `sub` that equals the client.",
      },
    ),
  },
  { required: ["alias", "issuer"] },
);

const user: SchemaNode = objectOf(
  {
    username: { type: "string", pattern: "^[^\\s\\u0000-\\u001f]{1,128}$", description: "What the user types." },
    password: { ...secret, description: "The password, or its scrypt hash, by reference." },
    subject: { ...label, description: "The `sub` of the user's tokens. Absent: the username." },
    name: { ...label, description: "The name shown on pages. Absent: the username." },
    groups: {
      type: "array",
      items: label,
      uniqueItems: true,
      maxItems: 200,
      default: [],
      description: "The user's groups, without the alias.",
    },
  },
  { required: ["username", "password"] },
);

const client: SchemaNode = objectOf(
  {
    clientId: { type: "string", pattern: "^[\\x21-\\x7E]{1,128}$", description: "The service's `client_id`." },
    clientSecret: { ...secret, description: "The service's secret, by reference." },
    scopes: { ...scopes, default: [], description: "What the service may ask for." },
  },
  { required: ["clientId", "clientSecret"] },
);

const builtIn: SchemaNode = objectOf(
  {
    alias: { ...name, default: defaults.builtInAlias, description: "Its name in policies, as `alias` of an issuer." },
    users: { type: "array", items: user, maxItems: 1_000, default: [], description: "Who can sign in." },
    clients: {
      type: "array",
      items: client,
      maxItems: 1_000,
      default: [],
      description: "Services that sign in as themselves (client credentials). Interactive clients register themselves.",
    },
    redirectSchemes: {
      type: "array",
      items: { type: "string", pattern: "^[a-z][a-z0-9+.-]{0,62}$" },
      uniqueItems: true,
      maxItems: 100,
      default: [],
      description:
        "Private-use URI schemes accepted in redirect URIs (RFC 8252 §7.1), besides those of well-known clients.",
    },
    accessTokenSeconds: integer({
      minimum: 60,
      maximum: 3_600,
      default: defaults.accessTokenSeconds,
      description: "Life of an access token. Short, since a token that leaked works until it expires.",
    }),
    refreshTokenSeconds: integer({
      minimum: 600,
      maximum: 31_536_000,
      default: defaults.refreshTokenSeconds,
      description: "Life of a refresh token, so that an agent's user signs in about monthly.",
    }),
    cookieSecret: {
      ...secret,
      description:
        "Signs sign-in cookies; at least 32 bytes. Absent: a key of this process, so a restart ends sign-ins under way. Required with a Redis store.",
    },
    signingKeys: {
      ...secret,
      description: "A private JWK set as JSON. Absent: keys are made once and kept in the store.",
    },
  },
  { description: "The built-in authorization server, whose issuer identifier is `publicUrl`. Absent: there is none." },
);

export const authSchema: SchemaNode = objectOf(
  {
    none: {
      const: true,
      description:
        "Nobody signs in and everybody is the same anonymous principal. Only where nothing but this machine can connect.",
    },
    issuers: {
      type: "array",
      items: issuer,
      minItems: 1,
      maxItems: 100,
      description: "External authorization servers whose tokens are accepted.",
    },
    builtIn,
  },
  { description: "Who vouches for callers: either `none`, or `issuers`, `builtIn` or both." },
);
