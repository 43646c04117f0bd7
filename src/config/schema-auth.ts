import { browser } from "./schema-browser.ts";
import { builtIn } from "./schema-built-in.ts";
import { defaults } from "./defaults.ts";
import { mapOf, name, objectOf, scope, scopes } from "./schema-common.ts";
import { issuer } from "./schema-issuers.ts";
import type { SchemaNode } from "./schema-node.ts";

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
    browser,
    scopeImplications: mapOf(scopes, {
      description:
        "For a scope, others that whoever holds it holds as well, whatever issuer gave it: `crm:admin: [crm:read, crm:write]`. A scope that ends in `:*` covers all that begin alike without being listed here.",
      keys: scope,
    }),
    headless: objectOf(
      {
        alias: {
          ...name,
          default: defaults.headlessAlias,
          description: "Their name in policies, as `alias` of an issuer.",
        },
        tenant: { ...name, default: defaults.tenant, description: "The tenant of the services that have them." },
      },
      {
        description:
          "Accepts tokens that `sallyport token create` makes, for services whose clients can send nothing but a fixed bearer token. Needs a Redis store. Absent: there are none.",
      },
    ),
  },
  { description: "Who vouches for callers: either `none`, or `issuers`, `builtIn` or both." },
);
