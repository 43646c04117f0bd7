import { mapOf, objectOf } from "./schema-common.ts";
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

/** Names and globs, kind by kind. */
export function itemPatterns(description: string): SchemaNode {
  return objectOf(
    {
      tools: patterns("tools"),
      prompts: patterns("prompts"),
      resources: {
        ...patterns("resources"),
        description:
          "URIs of resources, or globs, over listed ones and those that templates and links lead to, however a URI is spelled.",
      },
      templates: { ...patterns("templates"), description: "URI templates, or globs over them." },
    },
    { description },
  );
}

function names(subject: string): SchemaNode {
  return mapOf(exposedName, {
    description: `For ${subject}: the upstream's name, and the whole name shown (no prefix is added).`,
    keys: originalName,
  });
}

/** Other names for tools and prompts, the two kinds whose names are the gateway's to give. */
export function renames(description: string): SchemaNode {
  return objectOf({ tools: names("tools"), prompts: names("prompts") }, { description });
}

/** Other texts for items of every kind. `what` is what the text is: "title", "description". */
export function texts(what: string, bounds: { charsMax: number; description: string }): SchemaNode {
  const textOf = (subject: string): SchemaNode =>
    mapOf(
      { type: "string", minLength: 1, maxLength: bounds.charsMax },
      { description: `For ${subject}: the upstream's name, and the ${what} shown instead.`, keys: originalName },
    );
  return objectOf(
    {
      tools: textOf("tools"),
      prompts: textOf("prompts"),
      resources: textOf("resources (by URI)"),
      templates: textOf("resource templates (by URI template)"),
    },
    { description: bounds.description },
  );
}

export const titleCharsMax = 256;
export const descriptionCharsMax = 16_384;
