import type { ASTNode } from "@marcbachmann/cel-js";
import { childrenOf, fieldName, fieldPath } from "./condition-syntax.ts";

/** Which of the principal's claims a condition can read. */
export interface ClaimsRead {
  readonly named: readonly string[];
  /** Whether it looks at the claims in a way that names none: then it may read any. */
  readonly whole: boolean;
}

export function claimsRead(ast: ASTNode): ClaimsRead {
  const named = new Set<string>();
  const whole = visit(ast, named);
  return { named: [...named], whole };
}

/** Collects names; true where the claims are looked at as a whole. */
function visit(node: ASTNode, named: Set<string>): boolean {
  const path = fieldPath(node);
  if (path?.[0] === "principal" && (path.length === 1 || path[1] === "claims")) return note(path[2], named);
  if (node.op === "in" && isClaims(node.args[1])) {
    const isWhole = note(fieldName(node.args[0]), named);
    return visit(node.args[0], named) || isWhole;
  }
  // A declared field such as `principal.groups` is no claim, and what stands before its name neither.
  if (path?.[0] === "principal") return false;
  return childrenOf(node).reduce((isWhole, child) => visit(child, named) || isWhole, false);
}

function note(name: string | undefined, named: Set<string>): boolean {
  if (name === undefined) return true;
  named.add(name);
  return false;
}

function isClaims(node: ASTNode): boolean {
  const path = fieldPath(node);
  return path?.length === 2 && path[0] === "principal" && path[1] === "claims";
}
