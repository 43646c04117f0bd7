import type { ASTNode } from "@marcbachmann/cel-js";
import { loops } from "./condition-syntax.ts";

/**
 * Writes a condition out again with our own functions in place of the library's: `matches` runs on a
 * linear engine, text and list functions charge the meter. Every operation is put in parentheses and
 * literals are copied from the source: the library's own `serialize` drops parentheses
 * (`a - (b - c)`), shortens doubles and breaks characters outside the basic plane.
 */
export function rewriteCondition(node: ASTNode): string {
  if (node.op === "value") return node.input.slice(node.start, node.end);
  if (node.op === "id") return node.args;
  if (node.op === "call") return rewriteCall(node.args[0], node.args[1]);
  if (node.op === "rcall") return rewriteMethod(node.args[0], node.args[1], node.args[2]);
  if (node.op === "list") return `[${node.args.map(rewriteCondition).join(", ")}]`;
  if (node.op === "map") return `{${node.args.map(rewriteEntry).join(", ")}}`;
  return rewriteOperation(node);
}

type Operation = Exclude<ASTNode, { readonly op: "value" | "id" | "call" | "rcall" | "list" | "map" }>;

function rewriteOperation(node: Operation): string {
  if (node.op === "." || node.op === ".?") return `${rewriteCondition(node.args[0])}.${node.args[1]}`;
  if (node.op === "!_" || node.op === "-_") return `(${node.op.slice(0, 1)}${rewriteCondition(node.args)})`;
  if (node.op === "?:") return rewriteChoice(node.args);
  const [left, right] = [rewriteCondition(node.args[0]), rewriteCondition(node.args[1])];
  if (node.op === "[]" || node.op === "[?]") return `${left}[${right}]`;
  return node.op === "in" ? `(${left} in bounded(${right}))` : `(${left} ${node.op} ${right})`;
}

function rewriteEntry([key, value]: readonly [ASTNode, ASTNode]): string {
  return `${rewriteCondition(key)}: ${rewriteCondition(value)}`;
}

function rewriteChoice([condition, then, otherwise]: readonly [ASTNode, ASTNode, ASTNode]): string {
  return `(${rewriteCondition(condition)} ? ${rewriteCondition(then)} : ${rewriteCondition(otherwise)})`;
}

/** Our name for a function or method of the language, where it has one. The receiver becomes the first operand. */
const ownFunctions: ReadonlyMap<string, string> = new Map([
  ["size", "sizeOf"],
  ["contains", "textContains"],
  ["matches", "textMatches"],
  ["lowerAscii", "textLower"],
  ["upperAscii", "textUpper"],
]);

const conversions: readonly string[] = ["int", "double", "bool", "timestamp", "duration"];

function rewriteCall(name: string, operands: readonly ASTNode[]): string {
  if (name === "has") return rewritePresence(operands);
  const written = operands.map(rewriteCondition).join(", ");
  if (conversions.includes(name)) return `${name}(short(${written}))`;
  return `${ownFunctions.get(name) ?? name}(${written})`;
}

/** A choice, since `&&` would lose the error: the library finds no field in what is no object, and says false. */
function rewritePresence([field, ...rest]: readonly ASTNode[]): string {
  const written = [field, ...rest].filter((operand) => operand !== undefined).map(rewriteCondition);
  const holder = field?.op === "." && mayBeAnything(field.args[0]) ? rewriteCondition(field.args[0]) : undefined;
  const has = `has(${written.join(", ")})`;
  return holder === undefined ? has : `(isObject(${holder}) ? ${has} : false)`;
}

/** Variables that are declared, and the declared fields of those that have some, are objects. */
function mayBeAnything(holder: ASTNode): boolean {
  if (holder.op === "id") return !declared.has(holder.args);
  return holder.op !== "." || holder.args[0].op !== "id" || holder.args[0].args === "args";
}

const declared: ReadonlySet<string> = new Set(["args", "principal", "client", "server", "item", "request"]);

function rewriteMethod(name: string, receiver: ASTNode, operands: readonly ASTNode[]): string {
  const written = operands.map(rewriteCondition);
  const subject = rewriteCondition(receiver);
  const own = ownFunctions.get(name);
  if (own !== undefined) return `${own}(${[subject, ...written].join(", ")})`;
  return `${loops.includes(name) ? `bounded(${subject})` : `(${subject})`}.${name}(${written.join(", ")})`;
}
