import { dpopModes } from "../model/dpop-mode.ts";
import { issuerProfileNames } from "../model/issuer-profile.ts";
import { defaults } from "./defaults.ts";
import { addresses, mapOf, name, objectOf, secret, url } from "./schema-common.ts";
import type { SchemaNode } from "./schema-node.ts";

const claim: SchemaNode = { type: "string", minLength: 1, maxLength: 256 };
const label: SchemaNode = { type: "string", minLength: 1, maxLength: 256 };

/** Signature algorithms a verifier may be told to accept. None is symmetric, and `none` is not one. */
const algorithms = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"];

/** One of `auth.issuers`. */
export const issuer: SchemaNode = objectOf(
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
    profile: {
      type: "string",
      enum: issuerProfileNames,
      default: defaults.issuerProfile,
      description:
        "How this kind of provider writes its tokens: which `typ`, where subject, client and groups stand, what marks a service, what proves the audience. `docs/identity-providers.md` has a section for each; `generic` is RFC 9068 and what comes close.",
    },
    tokenTypes: {
      type: "array",
      items: { type: "string", pattern: "^[a-z0-9][a-z0-9.+-]{0,62}$" },
      uniqueItems: true,
      minItems: 1,
      maxItems: 8,
      description:
        "Accepted values of the token header's `typ`, in small letters without `application/`; `none` for a header without it. Absent: the profile's.",
    },
    subjectClaim: {
      ...claim,
      description:
        "The claim that names who acts. It must never be given to somebody else. `email` is taken in small letters (A to Z), so that one address is one person. Absent: the profile's, as a rule `sub`.",
    },
    groupsClaim: {
      ...claim,
      description: "The claim that lists groups. Absent: the profile's; `generic` and `auth0` have none.",
    },
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
    scopePrefix: mapOf(
      { type: "string", pattern: "^[\\x21\\x23-\\x5B\\x5D-\\x7E]{1,1024}$" },
      {
        description:
          "For a server, what this issuer wants before each of its scopes (`api://crm/`). Clients are told scopes with it; policies name them without.",
        keys: name,
      },
    ),
    introspection: objectOf(
      {
        clientId: {
          type: "string",
          pattern: "^[\\x20-\\x7E]{1,512}$",
          description: "What the gateway is called there.",
        },
        clientSecret: { ...secret, description: "Its secret, by reference." },
        endpoint: { ...url, description: "Where to ask. Absent: taken from the issuer's metadata." },
      },
      {
        required: ["clientId", "clientSecret"],
        description:
          "Asks the issuer about tokens that are no JWT (RFC 7662). At each server one issuer is asked: the one it advertises, else the only one that can be.",
      },
    ),
    dpop: {
      type: "string",
      enum: dpopModes,
      default: defaults.dpop,
      description:
        "Tokens that the issuer binds to a client's key (RFC 9449). `accept` takes them with a proof for each request, and takes tokens that are bound to none: it costs nobody anything, and a bound token is never taken for less. `require` takes bound tokens alone, `off` refuses them.",
    },
    jwksUri: { ...url, description: "Where the issuer's keys are. Absent: taken from the issuer's metadata." },
    addresses,
    tls: objectOf(
      {
        ca: {
          ...secret,
          description: "The authorities' certificates as PEM, by reference, in place of those the system trusts.",
        },
      },
      { required: ["ca"], description: "How the issuer's metadata and keys are fetched over TLS." },
    ),
    serviceWhen: objectOf(
      { claim: { ...claim, description: "The claim." }, equals: { ...label, description: "Its value for services." } },
      {
        required: ["claim", "equals"],
        description:
          "How this issuer marks services, besides what its profile knows and a subject that equals the client.",
      },
    ),
  },
  { required: ["alias", "issuer"] },
);
