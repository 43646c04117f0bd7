import { objectOf } from "./schema-common.ts";
import type { SchemaNode } from "./schema-node.ts";
import { titleCharsMax } from "./schema-shown.ts";

const glob: SchemaNode = { type: "string", minLength: 1, maxLength: 1_024 };

function globs(description: string): SchemaNode {
  return { type: "array", items: glob, uniqueItems: true, minItems: 1, maxItems: 1_000, description };
}

function hint(name: string, meaning: string): SchemaNode {
  return { type: "boolean", description: `${meaning} Shown to clients as \`${name}\`.` };
}

/** What the operator says of single items of an upstream. */
export const items: SchemaNode = {
  type: "array",
  maxItems: 1_000,
  default: [],
  description:
    "What you say of single items: labels and annotations, which policies may name, and titles. Every entry that names an item holds for it; where two say different things, the later one. What an upstream says of itself is shown to clients as a hint, and no policy reads it.",
  items: objectOf({
    tool: globs("Tools, by original name; `*` stands for any characters but `/`."),
    prompt: globs("Prompts, by original name."),
    resource: globs("Resources, by URI; `**` as the last segment stands for one or more."),
    template: globs("Resource templates, by URI template."),
    labels: {
      type: "array",
      items: { type: "string", pattern: "^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$" },
      uniqueItems: true,
      minItems: 1,
      maxItems: 100,
      description: "Words of your own that policies match by (`what.labels`). Those of all entries are added up.",
      examples: [["pii", "team:billing"]],
    },
    annotations: objectOf(
      {
        readOnly: hint("readOnlyHint", "The tool changes nothing."),
        destructive: hint("destructiveHint", "What it changes may be lost."),
        idempotent: hint("idempotentHint", "A second call with the same arguments changes nothing more."),
        openWorld: hint("openWorldHint", "It reaches what is not under the upstream's control."),
      },
      {
        description:
          "What a tool does, in your word, of tools alone. Policies match by it (`what.annotations`), and clients are shown it in place of the upstream's.",
      },
    ),
    title: {
      type: "string",
      minLength: 1,
      maxLength: titleCharsMax,
      description: "The title shown at every server, where a server or presentation has no other.",
    },
  }),
};
