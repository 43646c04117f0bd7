import { defaults } from "./defaults.ts";
import { assertionIssuer, builtInClient, builtInProvider } from "./schema-built-in-parties.ts";
import { integer, mapOf, name, objectOf, scopes, secret } from "./schema-common.ts";
import type { SchemaNode } from "./schema-node.ts";

const label: SchemaNode = { type: "string", minLength: 1, maxLength: 256 };

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
    scopes: {
      ...scopes,
      description:
        "The scopes that tokens for this user may carry, besides those of `scopesByGroup`. Absent, and without `scopesByGroup`: every scope a server supports.",
    },
  },
  { required: ["username", "password"] },
);

const lives: Readonly<Record<string, SchemaNode>> = {
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
};

const keys: Readonly<Record<string, SchemaNode>> = {
  cookieSecret: {
    ...secret,
    description:
      "Signs sign-in cookies and seals generated signing keys; at least 32 bytes. Absent: a key of this process, so a restart ends sign-ins under way. Required with a Redis store.",
  },
  cookieSecretPrevious: {
    type: "array",
    items: secret,
    maxItems: 8,
    default: [],
    description: "Earlier values of `cookieSecret`, so that replacing it ends no sign-in and no signing key.",
  },
  signingKeys: {
    ...secret,
    description:
      "A private JWK set as JSON: the first key signs, all of them verify. Absent: a key is made once and kept in the store.",
  },
};

/** `auth.builtIn`. */
export const builtIn: SchemaNode = objectOf(
  {
    alias: { ...name, default: defaults.builtInAlias, description: "Its name in policies, as `alias` of an issuer." },
    users: {
      type: "array",
      items: user,
      maxItems: 1_000,
      default: [],
      description: "Who can sign in here, with a password. None of them where there is a `provider`.",
    },
    provider: builtInProvider,
    scopesByGroup: mapOf(scopes, {
      description:
        "Group to the scopes that its members may have; `*` stands for everybody. Absent: groups confine nobody. Groups are written without the alias, those of assertion issuers with theirs. A scope that somebody may not have is left out of the consent page and of the token.",
      keys: label,
    }),
    clients: {
      type: "array",
      items: builtInClient,
      maxItems: 1_000,
      default: [],
      description: "Clients known beforehand: services, and applications that do not register themselves.",
    },
    assertionIssuers: {
      type: "array",
      items: assertionIssuer,
      maxItems: 20,
      default: [],
      description: "Providers whose identity assertions (ID-JAG) are taken for access tokens (RFC 7523 §2.1).",
    },
    redirectSchemes: {
      type: "array",
      items: { type: "string", pattern: "^[a-z][a-z0-9+.-]{0,62}$" },
      uniqueItems: true,
      maxItems: 100,
      default: [],
      description:
        "Private-use URI schemes accepted in redirect URIs (RFC 8252 §7.1), besides those of well-known clients. MCP asks for https or loopback alone; desktop applications in wide use register such schemes nevertheless.",
    },
    ...lives,
    ...keys,
  },
  { description: "The built-in authorization server, whose issuer identifier is `publicUrl`. Absent: there is none." },
);
