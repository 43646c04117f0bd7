import { defaults } from "./defaults.ts";
import type { SchemaNode } from "./schema-node.ts";

/** Server, upstream and issuer names: they stand in URLs, store keys, metric labels and policies. */
export const namePattern = "^[a-z0-9][a-z0-9-]{0,62}$";
/** RFC 6749 §3.3, `scope-token`. */
const scopePattern = "^[\\x21\\x23-\\x5B\\x5D-\\x7E]{1,128}$";
/** What a secret field holds: where the secret is, never the secret. */
export const referencePattern = "^\\$\\{(?:env:[A-Za-z_][A-Za-z0-9_]*|file:[^{}\\u0000]+)\\}$";

export const secret: SchemaNode = {
  type: "string",
  pattern: referencePattern,
  writeOnly: true,
  examples: ["${env:NAME}", "${file:/run/secrets/name}"],
  description:
    "A reference to a secret: `${env:NAME}` or `${file:PATH}` (relative to this file; one trailing line break is dropped). A secret written out is refused, because configuration lives in version control.",
};

export const name: SchemaNode = { type: "string", pattern: namePattern };

export const url: SchemaNode = { type: "string", minLength: 1, maxLength: 2048 };

export const scope: SchemaNode = { type: "string", pattern: scopePattern };

export const scopes: SchemaNode = {
  type: "array",
  items: scope,
  uniqueItems: true,
  maxItems: 200,
};

export const addresses: SchemaNode = {
  type: "string",
  enum: ["public", "private", "loopback"],
  default: defaults.addresses,
  description:
    "Which addresses may be dialled, checked after name resolution. `public` alone is the default, so that a name which resolves to the inside leads nowhere; `private` adds private ranges, `loopback` is this machine. Link-local and metadata addresses are never dialled.",
};

/** A map from names to `values`; faults name the key. */
export function mapOf(values: SchemaNode, more: { description: string; keys: SchemaNode }): SchemaNode {
  return {
    type: "object",
    description: more.description,
    propertyNames: more.keys,
    additionalProperties: values,
    maxProperties: 1_000,
  };
}

/** An object with exactly these keys. */
export function objectOf(
  properties: Readonly<Record<string, SchemaNode>>,
  more: { description?: string; required?: readonly string[]; default?: unknown } = {},
): SchemaNode {
  return { type: "object", ...more, properties, additionalProperties: false };
}

export function integer(range: { minimum: number; maximum: number; default: number; description: string }): SchemaNode {
  return { type: "integer", ...range };
}
