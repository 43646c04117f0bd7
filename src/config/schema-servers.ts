import { uiExtension } from "../model/identifiers.ts";
import { mapOf, name, objectOf, scopes } from "./schema-common.ts";
import type { SchemaNode } from "./schema-node.ts";
import { budget, namesSchema, presentations, schemas } from "./schema-presenting.ts";
import { descriptionCharsMax, itemPatterns, renames, texts, titleCharsMax } from "./schema-shown.ts";

const serverUpstream: SchemaNode = objectOf({
  prefix: {
    type: "string",
    pattern: "^[A-Za-z0-9_.-]{0,64}$",
    default: "",
    description: "Put before the names of its tools and prompts. Empty, since a server with one upstream needs none.",
  },
  include: itemPatterns("What of this upstream shows. A kind left out shows whole; policy decides in any case."),
  hide: itemPatterns("What of it does not show, even where `include` names it."),
  rename: renames("Other names for some items. Policies go on naming the upstream's own."),
  title: texts("title", { charsMax: titleCharsMax, description: "Other titles for some items." }),
  describe: texts("description", { charsMax: descriptionCharsMax, description: "Other descriptions for some items." }),
  uriPrefix: {
    type: "string",
    pattern: "^(?:[A-Za-z][A-Za-z0-9+.:-]{0,62})?$",
    default: "",
    description:
      "Put before the URIs of its resources, where two upstreams use the same URI. Never applied to `ui://`. Empty, since URIs are opaque and best left alone.",
  },
});

const server: SchemaNode = objectOf(
  {
    title: {
      type: "string",
      minLength: 1,
      maxLength: titleCharsMax,
      description: "The name shown to people. Absent: the key.",
    },
    instructions: {
      type: "string",
      minLength: 1,
      maxLength: descriptionCharsMax,
      description:
        "What clients are told of how to use this server, before what its upstreams say of themselves, cleaned. Absent: only that.",
    },
    scopes: objectOf(
      {
        minimal: {
          ...scopes,
          default: [],
          description:
            "Scopes that clients are told to ask for, in challenges and in the server's metadata. Demanded by rules alone.",
        },
        supported: {
          ...scopes,
          description:
            "Every scope that the built-in authorization server grants here. Absent: the minimal ones. Tokens of a server that has neither carry `mcp`.",
        },
      },
      { description: "OAuth scopes of this server. None are needed by default; policies ask for them per item." },
    ),
    upstreams: {
      ...mapOf(serverUpstream, { description: "The upstreams this server is made of, by name.", keys: name }),
      minProperties: 1,
    },
    issuer: {
      ...name,
      description: "Alias of the issuer that this server's metadata names. Absent: the built-in one, else the first.",
    },
    extensions: {
      type: "array",
      items: { type: "string", pattern: "^[A-Za-z0-9.-]{1,128}/[A-Za-z0-9._-]{1,128}$" },
      uniqueItems: true,
      maxItems: 100,
      default: [uiExtension],
      description:
        "Extensions that clients and upstreams may tell each other of. The gateway carries what stands in `_meta`, results and resources, and no methods of an extension. MCP Apps need no more; tasks are carried by themselves and need no entry.",
    },
    presentations,
    names: namesSchema(true),
    schemas,
    budget,
  },
  { required: ["upstreams"] },
);

export const serversSchema: SchemaNode = {
  ...mapOf(server, { description: "What clients connect to, at `{publicUrl}/{name}/mcp`.", keys: name }),
  minProperties: 1,
};
