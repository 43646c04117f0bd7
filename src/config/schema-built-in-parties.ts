import { defaults } from "./defaults.ts";
import { addresses, integer, name, objectOf, scopes, secret, url } from "./schema-common.ts";
import type { SchemaNode } from "./schema-node.ts";

const claim: SchemaNode = { type: "string", minLength: 1, maxLength: 256 };
const label: SchemaNode = { type: "string", minLength: 1, maxLength: 256 };
const clientId: SchemaNode = { type: "string", pattern: "^[\\x21-\\x7E]{1,128}$" };

/** One of `auth.builtIn.clients`. */
export const builtInClient: SchemaNode = objectOf(
  {
    clientId: { ...clientId, description: "The client's `client_id`." },
    name: { ...label, description: "The name shown on the consent page. Absent: the `clientId`." },
    clientSecret: { ...secret, description: "The client's secret, by reference." },
    jwks: {
      ...secret,
      description:
        "The client's public keys as a JWK set in JSON, by reference: it proves itself with `private_key_jwt` instead of a secret.",
    },
    redirectUris: {
      type: "array",
      items: url,
      uniqueItems: true,
      maxItems: 20,
      default: [],
      description:
        "Where people are sent back to: exact URIs, but for the port of loopback ones (RFC 8252 §7.3). Needed for `authorizationCode`.",
    },
    grants: {
      type: "array",
      items: { type: "string", enum: ["authorizationCode", "clientCredentials", "identityAssertion"] },
      uniqueItems: true,
      minItems: 1,
      description:
        "How the client gets tokens. Absent: `authorizationCode` with `redirectUris`, else `clientCredentials`.",
    },
    scopes: {
      ...scopes,
      description:
        "The most that the client is given. Absent: nothing for `clientCredentials`; whatever the person may have for the others.",
    },
  },
  { required: ["clientId"] },
);

/** `auth.builtIn.provider`. */
export const builtInProvider: SchemaNode = objectOf(
  {
    issuer: { ...url, description: "The provider's issuer identifier, exactly as its metadata carries it." },
    clientId: { ...clientId, description: "The gateway's `client_id` at the provider." },
    clientSecret: {
      ...secret,
      description: "The gateway's secret at the provider. Absent: a public client, with PKCE.",
    },
    scopes: {
      ...scopes,
      default: defaults.providerScopes,
      description:
        "Scopes asked for besides `openid`. With `offline_access` most providers give a refresh token, by which each refresh of a sign-in here is confirmed there.",
    },
    subjectFrom: {
      ...claim,
      default: defaults.subjectFrom,
      description:
        "The claim that names the person. `email` counts only where the provider says that it verified it, and is taken in small letters (A to Z), so that one address is one person.",
    },
    groupsClaim: { ...claim, description: "The claim that lists groups. Absent: nobody has any." },
    regrantSeconds: integer({
      minimum: 300,
      maximum: 604_800,
      default: defaults.regrantSeconds,
      description:
        "How long the provider's word holds: longest time for which somebody's groups, and that they are there at all, are taken from its last answer. Half a day, so that people sign in once a day.",
    }),
    addresses,
  },
  {
    required: ["issuer", "clientId"],
    description:
      "The company's OpenID provider, at which people sign in instead of with passwords here. Its redirect URIs for the gateway are `publicUrl` with `/oauth/callback`, and with `/connect/callback` for the pages at `/connect`.",
  },
);

/** One of `auth.builtIn.assertionIssuers`. */
export const assertionIssuer: SchemaNode = objectOf(
  {
    alias: {
      ...name,
      description:
        "Stands before the subjects and groups of its people, as `alias:subject`; not where it is the `provider` as well, whose people are the same either way.",
    },
    issuer: { ...url, description: "The issuer identifier, exactly as assertions carry it." },
    jwksUri: { ...url, description: "Where the issuer's keys are. Absent: taken from its metadata." },
    subjectFrom: {
      type: "string",
      enum: ["sub", "email"],
      default: defaults.subjectFrom,
      description:
        "The claim that names the person. `email` counts only with `email_verified: true`, and is taken in small letters (A to Z), so that one address is one person.",
    },
    groupsClaim: { ...claim, description: "The claim that lists groups. Absent: nobody has any." },
    clients: {
      type: "array",
      items: clientId,
      uniqueItems: true,
      maxItems: 200,
      description: "The clients that may bring this issuer's assertions. Absent: each that has `identityAssertion`.",
    },
    addresses,
  },
  { required: ["alias", "issuer"] },
);
