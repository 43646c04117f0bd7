import type { SubjectKind } from "./question.ts";

/** One policy file as the YAML reader yields it. `path` is only ever used in messages. */
export interface PolicyDocument {
  readonly path: string;
  readonly value: unknown;
}

/** Something wrong (or, as a warning, doubtful) in a policy document. */
export interface PolicyFault {
  /** The file and, after `#`, the JSON pointer (RFC 6901) of the place: `policies/support.yaml#/rules/0/who`. */
  readonly path: string;
  /** What stands there, as JSON cut to 80 characters. */
  readonly found: string;
  readonly expected: string;
  readonly message: string;
}

export type Effect = "allow" | "deny" | "constrain";

export const effects: readonly Effect[] = ["allow", "deny", "constrain"];
/** Effects the language reserves. They are refused by name, so that no one believes they are in force. */
export const reservedEffects: readonly string[] = ["confirm", "flag"];

export const documentFields: readonly string[] = ["policy", "description", "rules"];
/** What a constrain does to an item's shape, by who and what alone. */
export const shapingFields: readonly string[] = ["presets", "unknownArguments", "removeFields"];
/** What a constrain lays upon a use. */
export const useFields: readonly string[] = ["limits", "resultBytesMax", "deadlineMs", "audit", "replayFields"];
export const ruleFields: readonly string[] = [
  "id",
  "effect",
  "who",
  "what",
  "when",
  "stepUp",
  ...shapingFields,
  ...useFields,
  "message",
  "note",
];
export const whoFields: readonly string[] = [
  "anyone",
  "issuer",
  "subject",
  "client",
  "groups",
  "scopes",
  "claims",
  "tenant",
  "kind",
];
export const subjectKinds: readonly SubjectKind[] = ["tool", "prompt", "resource", "template", "clientFeature"];
export const whatFields: readonly string[] = [
  "anything",
  "server",
  "upstream",
  ...subjectKinds,
  "labels",
  "annotations",
  "digest",
];

/** Rule ids and policy names: they are log fields and audit fields, so they stay plain and short. */
export const namePattern: RegExp = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
/** Scope tokens (RFC 6749 §3.3): printable ASCII without space, quotation mark and backslash. */
export const scopePattern: RegExp = /^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/;
