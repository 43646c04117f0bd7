import { uiExtension } from "../model/identifiers.ts";
import { mapOf, name, objectOf, scopes } from "./schema-common.ts";
import type { SchemaNode } from "./schema-node.ts";

/** The specification's characters for tool names, which every known client accepts. */
const exposedName: SchemaNode = { type: "string", pattern: "^[A-Za-z0-9_.-]{1,128}$" };
/** An upstream's own name may hold anything printable; `__proto__` never reaches an object here. */
const originalName: SchemaNode = { type: "string", pattern: "^(?!__proto__$)[^\\u0000-\\u001f\\u007f]{1,1024}$" };

function patterns(subject: string): SchemaNode {
  return {
    type: "array",
    items: { type: "string", minLength: 1, maxLength: 1_024 },
    uniqueItems: true,
    maxItems: 1_000,
    description: `Names of ${subject}, or globs in which \`*\` stands for anything but \`/\`.`,
  };
}

function itemPatterns(description: string): SchemaNode {
  return objectOf(
    {
      tools: patterns("tools"),
      prompts: patterns("prompts"),
      resources: { ...patterns("resources"), description: "URIs of resources, or globs." },
      templates: { ...patterns("templates"), description: "URI templates, or globs over them." },
    },
    { description },
  );
}

function renames(subject: string): SchemaNode {
  return mapOf(exposedName, {
    description: `For ${subject}: the upstream's name, and the whole name shown (no prefix is added).`,
    keys: originalName,
  });
}

function descriptions(subject: string): SchemaNode {
  return mapOf(
    { type: "string", minLength: 1, maxLength: 16_384 },
    { description: `For ${subject}: the upstream's name, and the description shown instead.`, keys: originalName },
  );
}

const serverUpstream: SchemaNode = objectOf({
  prefix: {
    type: "string",
    pattern: "^[A-Za-z0-9_.-]{0,64}$",
    default: "",
    description: "Put before the names of its tools and prompts. Empty, since a server with one upstream needs none.",
  },
  include: itemPatterns("What of this upstream shows. A kind left out shows whole; policy decides in any case."),
  hide: itemPatterns("What of it does not show, even where `include` names it."),
  rename: objectOf(
    { tools: renames("tools"), prompts: renames("prompts") },
    { description: "Other names for some items. Policies go on naming the upstream's own." },
  ),
  describe: objectOf(
    {
      tools: descriptions("tools"),
      prompts: descriptions("prompts"),
      resources: descriptions("resources (by URI)"),
      templates: descriptions("resource templates (by URI template)"),
    },
    { description: "Other descriptions for some items." },
  ),
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
    title: { type: "string", minLength: 1, maxLength: 256, description: "The name shown to people. Absent: the key." },
    instructions: {
      type: "string",
      minLength: 1,
      maxLength: 16_384,
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
  },
  { required: ["upstreams"] },
);

export const serversSchema: SchemaNode = {
  ...mapOf(server, { description: "What clients connect to, at `{publicUrl}/{name}/mcp`.", keys: name }),
  minProperties: 1,
};
