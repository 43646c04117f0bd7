import { limits } from "../model/limits.ts";
import { defaults } from "./defaults.ts";
import { integer, mapOf, name, objectOf } from "./schema-common.ts";
import type { SchemaNode } from "./schema-node.ts";
import { descriptionCharsMax, itemPatterns, renames, texts, titleCharsMax } from "./schema-shown.ts";

/** Names of rules and presentations: they are log fields and audit fields, so they stay plain and short. */
const id: SchemaNode = { type: "string", pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$" };

const words = "A value, a list of which any will do, or `any` or `all` with a list.";

/** Read by policy, in its own words; here the fields alone are held. */
const who: SchemaNode = {
  ...objectOf(
    {
      anyone: { const: true, description: "Everybody. Stands alone." },
      issuer: { description: `Aliases of issuers. ${words}` },
      subject: { description: `Subjects. ${words}` },
      client: { description: `Authenticated client_ids. ${words}` },
      groups: { description: `Groups, each with its issuer's alias before it. ${words}` },
      scopes: { description: `Scopes of the token. ${words}` },
      claims: { description: "Mapped claims by name, each with the values it may have." },
      tenant: { description: `Tenants. ${words}` },
      kind: { description: "`human` or `service`." },
    },
    { description: "Whom it is for, as `who` of a policy rule says it. Fields are all-of." },
  ),
  minProperties: 1,
  examples: [{ groups: { any: ["corp:support"] } }],
};

/** Read by policy too. */
const described: SchemaNode = objectOf(
  {
    issuer: { description: "The issuer's alias. May be left out where there is only one." },
    subject: { description: "The subject. Absent: somebody whom no rule names." },
    client: { description: "The client_id. Absent: none." },
    groups: { description: "Groups, each with its issuer's alias before it." },
    scopes: { description: "Scopes of the token." },
    claims: { description: "Mapped claims by name." },
    tenant: { description: "The tenant. Absent: the issuer's." },
    kind: { description: "`human`, or `service`. Absent: human." },
  },
  { description: "A principal, in the words of `who`. Only what is said is held." },
);

function byUpstream(values: SchemaNode): SchemaNode {
  return mapOf(values, { description: `${values.description ?? ""} By upstream.`, keys: name });
}

const presentation: SchemaNode = objectOf(
  {
    id: { ...id, description: "Its name in evidence. Unique in the server." },
    who,
    rank: integer({
      minimum: 0,
      maximum: 10_000,
      default: defaults.presentationRank,
      description: "Of all whose `who` matches, the one with the lowest rank applies; of equals, the first by id.",
    }),
    rename: byUpstream(renames("Other names for some items, in place of the server's own for them.")),
    title: byUpstream(texts("title", { charsMax: titleCharsMax, description: "Other titles for some items." })),
    describe: byUpstream(
      texts("description", { charsMax: descriptionCharsMax, description: "Other descriptions for some items." }),
    ),
    hide: byUpstream(
      itemPatterns(
        "What is left out on top of what the server leaves out, as if it did not exist. No substitute for policy: it holds here alone.",
      ),
    ),
    instructions: {
      type: "string",
      minLength: 1,
      maxLength: descriptionCharsMax,
      description: "In place of the server's own instructions.",
    },
  },
  { required: ["id", "who"] },
);

export const presentations: SchemaNode = {
  type: "array",
  items: presentation,
  maxItems: limits.presentationsPerServerMax,
  default: [],
  description:
    "How some principals see this server: other names, titles and descriptions, or fewer items. What they may do stays the same, as policies name the upstream's own items. Whoever no presentation is for sees what `upstreams` says.",
};

/** `ofServer`: absent keys fall back to the gateway's, which have the defaults. */
export function namesSchema(ofServer: boolean): SchemaNode {
  const maxChars: SchemaNode = {
    type: "integer",
    minimum: 16,
    maximum: 128,
    description:
      "Characters of the longest tool or prompt name shown. A longer one is cut and ends in `_` and eight characters that follow from the upstream, the kind and the upstream's own name, so it is the same at every replica and whatever else there is. 64, because model providers refuse longer ones.",
  };
  const characters: SchemaNode = {
    type: "string",
    enum: ["providers", "protocol"],
    description:
      "Which characters a name may have: `providers` those that all large model providers accept (letters, digits, `_`, `-`, and a letter or `_` first), `protocol` those of the specification (`.` too, and any of them first). Others become `_`, and the name ends like one that was cut.",
  };
  const { names } = defaults;
  return ofServer
    ? objectOf({ maxChars, characters }, { description: "Names of this server, where they differ from `names`." })
    : objectOf(
        {
          maxChars: { ...maxChars, default: names.maxChars },
          characters: { ...characters, default: names.characters },
        },
        { description: "Names that tools and prompts are shown under." },
      );
}

export const schemas: SchemaNode = objectOf(
  {
    simplify: {
      type: "boolean",
      default: defaults.simplifySchemas,
      description:
        "For model providers that refuse tools whose input schema has `oneOf`, `anyOf`, `allOf` or `$ref` at its top: shows one flat object schema that takes everything the original takes. Calls are held to the original, whatever `schema.arguments` of the upstream says.",
    },
  },
  { description: "How input schemas are shown." },
);

export const budget: SchemaNode = objectOf(
  {
    tokens: {
      type: "integer",
      minimum: 1,
      maximum: 10_000_000,
      description: "The most that the tools and instructions may take of a model's context, as `check` estimates it.",
    },
    as: {
      type: "array",
      items: described,
      minItems: 1,
      maxItems: 100,
      description:
        "Principals whose view is measured, each by itself. Absent: everything that the server has, before anybody's rights.",
    },
  },
  {
    required: ["tokens"],
    description:
      "What this server may cost of a model's context. `sallyport check` measures it where it knows the definitions, and fails when it is more.",
  },
);
