type SchemaType = "object" | "array" | "string" | "integer" | "boolean";

/** The part of JSON Schema 2020-12 that the configuration's schema uses. */
export interface SchemaNode {
  readonly $schema?: string;
  readonly $id?: string;
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, SchemaNode>>;
  readonly title?: string;
  readonly description?: string;
  readonly type?: SchemaType | readonly SchemaType[];
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: false | SchemaNode;
  readonly propertyNames?: SchemaNode;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly items?: SchemaNode;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly enum?: readonly string[];
  readonly const?: string | true;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly oneOf?: readonly SchemaNode[];
  /** Says by which key `oneOf` branches, so that a fault names one branch instead of all. */
  readonly discriminator?: { readonly propertyName: string };
  /** Marks a secret: its value is a reference, and whatever stands there is never printed. */
  readonly writeOnly?: boolean;
}
