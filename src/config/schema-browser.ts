import { defaults } from "./defaults.ts";
import { name, objectOf, scopes, secret } from "./schema-common.ts";
import type { SchemaNode } from "./schema-node.ts";

/** `auth.browser`. */
export const browser: SchemaNode = objectOf(
  {
    issuer: { ...name, description: "The alias of the issuer at which people sign in." },
    clientId: {
      type: "string",
      pattern: "^[\\x20-\\x7E]{1,256}$",
      description: "The gateway's `client_id` there. Its redirect URI is `publicUrl` with `/connect/callback`.",
    },
    clientSecret: { ...secret, description: "The gateway's secret there. Absent: a public client, with PKCE." },
    scopes: {
      ...scopes,
      default: defaults.browserScopes,
      description: "Scopes asked for besides `openid`. The default is what names a person on a page.",
    },
  },
  {
    required: ["issuer", "clientId"],
    description:
      "How people of one of `issuers` sign in on the pages at `/connect`, where they see and end what upstreams are used for on their behalf. Absent: those pages are for people of `builtIn` alone.",
  },
);
