/** Something noticed in content. `where` is a JSON pointer (RFC 6901) into the value that was cleaned. */
export interface Finding {
  readonly kind:
    | "invisible-text-removed"
    | "terminal-escape-removed"
    | "control-removed"
    | "bidi-removed"
    | "malformed-unicode-repaired"
    | "identifier-unsafe"
    | "schema-violated"
    | "schema-pattern-unenforced"
    | "schema-unusable"
    | "name-collision"
    | "definition-drifted"
    | "definition-oversized"
    | "argument-removed"
    | "field-removed"
    | "content-left-out"
    | "text-oversized"
    | "text-suspicious";
  readonly where: string;
  /** What hidden text spelled, escaped and cut to 200 characters, or what was violated. */
  readonly detail: string;
  readonly count: number;
}
