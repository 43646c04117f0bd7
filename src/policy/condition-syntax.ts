import type { ASTNode } from "@marcbachmann/cel-js";

/** Methods that loop over a list or the keys of a map, with the position of their loop variable. */
export const loops: readonly string[] = ["all", "exists", "exists_one", "filter", "map"];

const timeMethods: readonly string[] = [
  "getDate",
  "getDayOfMonth",
  "getDayOfWeek",
  "getDayOfYear",
  "getFullYear",
  "getHours",
  "getMilliseconds",
  "getMinutes",
  "getMonth",
  "getSeconds",
];

/**
 * What a condition may call. The list is closed: functions that build text or lists (`split`, `join`,
 * `substring`, `cel.bind`) could make an evaluation cost more than the meter sees.
 */
export const callableFunctions: readonly string[] = [
  "has",
  "size",
  "int",
  "double",
  "string",
  "bool",
  "timestamp",
  "duration",
];
export const callableMethods: readonly string[] = [
  ...loops,
  ...timeMethods,
  "size",
  "startsWith",
  "endsWith",
  "contains",
  "matches",
  "lowerAscii",
  "upperAscii",
];

/** The operands of a node, in source order. */
export function childrenOf(node: ASTNode): readonly ASTNode[] {
  if (node.op === "value" || node.op === "id") return [];
  if (node.op === "." || node.op === ".?") return [node.args[0]];
  if (node.op === "call") return node.args[1];
  if (node.op === "rcall") return [node.args[1], ...node.args[2]];
  if (node.op === "map") return node.args.flat();
  if (node.op === "!_" || node.op === "-_") return [node.args];
  return node.args;
}

/** The name a loop binds: the first argument of `all`, `exists` and the like. */
export function loopVariable(node: ASTNode): string | undefined {
  if (node.op !== "rcall" || !loops.includes(node.args[0])) return undefined;
  const variable = node.args[2][0];
  return variable?.op === "id" ? variable.args : undefined;
}

/** `args.a["b"]` as `["args", "a", "b"]`: a chain of constant field names from a variable. */
export function fieldPath(node: ASTNode): readonly string[] | undefined {
  if (node.op === "id") return [node.args];
  if (node.op !== "." && node.op !== "[]") return undefined;
  const name = fieldName(node.args[1]);
  const path = name === undefined ? undefined : fieldPath(node.args[0]);
  return path === undefined || name === undefined ? undefined : [...path, name];
}

export function fieldName(key: ASTNode | string): string | undefined {
  if (typeof key === "string") return key;
  return key.op === "value" && typeof key.args === "string" ? key.args : undefined;
}
