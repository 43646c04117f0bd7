import type { ASTNode } from "@marcbachmann/cel-js";
import { writtenEnvironment } from "./condition-environment.ts";
import { childrenOf, fieldPath } from "./condition-syntax.ts";

/** What a literal of a condition is. */
export type LiteralKind = "text" | "whole number" | "fraction" | "boolean" | "null";

export interface Literal {
  readonly kind: LiteralKind;
  readonly value: string | number | bigint | boolean | null;
}

/** What a condition does with arguments that it names. Paths begin with the name of a top-level argument. */
export interface ArgumentUses {
  readonly paths: readonly (readonly string[])[];
  /** `args.a == "x"`, `args.a in ["x", "y"]` and the like. */
  readonly compared: readonly {
    readonly path: readonly string[];
    readonly literal: Literal;
    readonly isEqual: boolean;
  }[];
  /** Of which a function wants the text. */
  readonly asText: readonly (readonly string[])[];
}

/** Reads the uses of a condition that compiled. What is computed, or of a loop variable, is left out. */
export function createArgumentReader(): (when: string) => ArgumentUses {
  const environment = writtenEnvironment();
  return (when) => {
    const uses: Uses = { paths: [], compared: [], asText: [] };
    visit(environment.parse(when).ast, uses);
    return uses;
  };
}

interface Uses {
  readonly paths: (readonly string[])[];
  readonly compared: { path: readonly string[]; literal: Literal; isEqual: boolean }[];
  readonly asText: (readonly string[])[];
}

function visit(node: ASTNode, uses: Uses): void {
  const path = argumentPath(node);
  if (path !== undefined) {
    uses.paths.push(path);
    return;
  }
  noteComparison(node, uses);
  noteText(node, uses);
  for (const child of childrenOf(node)) visit(child, uses);
}

function argumentPath(node: ASTNode): readonly string[] | undefined {
  const path = fieldPath(node);
  return path?.[0] === "args" && path.length > 1 ? path.slice(1) : undefined;
}

function noteComparison(node: ASTNode, uses: Uses): void {
  if (node.op === "in") {
    const [left, right] = node.args;
    const path = argumentPath(left);
    if (path === undefined || right.op !== "list") return;
    for (const entry of right.args) note(uses, { path, literal: literalOf(entry), isEqual: true });
  } else if (isComparison(node)) {
    const [left, right] = node.args;
    const isEqual = node.op === "==" || node.op === "!=";
    note(uses, { path: argumentPath(left), literal: literalOf(right), isEqual });
    note(uses, { path: argumentPath(right), literal: literalOf(left), isEqual });
  }
}

type Comparison = Extract<ASTNode, { readonly op: "==" | "!=" | "<" | "<=" | ">" | ">=" }>;

function isComparison(node: ASTNode): node is Comparison {
  return ["==", "!=", "<", "<=", ">", ">="].includes(node.op);
}

function note(
  uses: Uses,
  { path, literal, isEqual }: { path: readonly string[] | undefined; literal: Literal | undefined; isEqual: boolean },
): void {
  if (path !== undefined && literal !== undefined) uses.compared.push({ path, literal, isEqual });
}

function literalOf(node: ASTNode): Literal | undefined {
  if (node.op === "-_") return negative(literalOf(node.args));
  if (node.op !== "value") return undefined;
  const value: unknown = node.args;
  if (value === null) return { kind: "null", value };
  if (typeof value === "string") return { kind: "text", value };
  if (typeof value === "boolean") return { kind: "boolean", value };
  if (typeof value === "bigint") return { kind: "whole number", value };
  return typeof value === "number" ? { kind: "fraction", value } : undefined;
}

function negative(literal: Literal | undefined): Literal | undefined {
  const value = literal?.value;
  if (literal === undefined || (typeof value !== "bigint" && typeof value !== "number")) return undefined;
  return { kind: literal.kind, value: -value };
}

const textMethods: readonly string[] = ["startsWith", "endsWith", "contains", "matches", "lowerAscii", "upperAscii"];

function noteText(node: ASTNode, uses: Uses): void {
  if (node.op !== "rcall" || !textMethods.includes(node.args[0])) return;
  const path = argumentPath(node.args[1]);
  if (path !== undefined) uses.asText.push(path);
}
