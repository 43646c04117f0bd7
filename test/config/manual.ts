import { format } from "prettier";
import { configSchema } from "../../src/config/schema.ts";
import type { SchemaNode } from "../../src/config/schema-node.ts";

/** `docs/sallyport.schema.json`, which editors complete configurations from. */
export function schemaText(): Promise<string> {
  return format(JSON.stringify(configSchema), { parser: "json", printWidth: 120 });
}

const preface = `# Configuration

One YAML file configures the gateway: \`sallyport serve FILE\` reads it once, and \`sallyport check FILE\` says everything
that is wrong with it, or what it would serve. This page is made from the schema (\`docs/sallyport.schema.json\`); a test
holds both to each other.

Put this in the first line and an editor completes and checks the file as you type:

\`\`\`yaml
# yaml-language-server: $schema=./sallyport.schema.json
\`\`\`

- The file is one YAML 1.2 document. Unknown and duplicate keys are refused, as are tags.
- A secret is never written out. Fields of type *secret* hold \`\${env:NAME}\` or \`\${file:PATH}\`; \`check\` reads them too.
- Relative paths start from the folder of the file.
- Beside what stands here, rules hold fields to each other; \`check\` names the rule, what it found and what it expects.

In the paths below, \`<name>\` is a name you choose and \`[]\` an item of a list.

| key | type | default | what it is for |
|---|---|---|---|
`;

/** `docs/configuration.md`: every key with its type, its default and its reason. */
export function manualText(): Promise<string> {
  const rows = rowsOf(configSchema, "").map(({ key, node, required }) => {
    const value = node.default === undefined ? (required ? "**required**" : "") : `\`${JSON.stringify(node.default)}\``;
    return `| \`${key}\` | ${typeOf(node)} | ${cell(value)} | ${cell(node.description ?? "")} |`;
  });
  return format(`${preface}${rows.join("\n")}\n`, { parser: "markdown", printWidth: 120 });
}

interface Row {
  readonly key: string;
  readonly node: SchemaNode;
  readonly required: boolean;
}

function rowsOf(node: SchemaNode, at: string): Row[] {
  const own = Object.entries(node.properties ?? {}).flatMap(([name, member]) => {
    const key = at === "" ? name : `${at}.${name}`;
    return [{ key, node: member, required: node.required?.includes(name) ?? false }, ...rowsOf(member, key)];
  });
  const named = typeof node.additionalProperties === "object" ? rowsOf(node.additionalProperties, `${at}.<name>`) : [];
  const items = node.items === undefined ? [] : rowsOf(node.items, `${at}[]`);
  const branches = (node.oneOf ?? []).flatMap((branch) => branchRows(branch, at));
  return [...own, ...named, ...items, ...branches];
}

/** The keys of one kind of credential, after the row that names the kind. */
function branchRows(branch: SchemaNode, at: string): Row[] {
  const kind = String(branch.properties?.["type"]?.const);
  return rowsOf(branch, at).map((row) => (row.key.endsWith(".type") ? row : { ...row, key: `${row.key} (${kind})` }));
}

function typeOf(node: SchemaNode): string {
  if (node.writeOnly === true) return "secret";
  if (node.const !== undefined) return `\`${JSON.stringify(node.const)}\``;
  if (node.enum !== undefined) return node.enum.map((value) => `\`${value}\``).join(", ");
  return typeByShape(node);
}

function typeByShape(node: SchemaNode): string {
  if (typeof node.type === "object") return "text or map";
  if (node.type === "integer") return `${node.minimum ?? ""} to ${node.maximum ?? ""}`;
  if (node.type === "array") return node.items?.type === "object" ? "list of maps" : "list of texts";
  if (node.type === "object") return typeof node.additionalProperties === "object" ? "map by name" : "map";
  return node.type === "boolean" ? "true or false" : "text";
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|");
}
