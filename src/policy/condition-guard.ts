import type { ASTNode } from "@marcbachmann/cel-js";
import {
  callableFunctions,
  callableMethods,
  childrenOf,
  fieldName,
  fieldPath,
  loopVariable,
} from "./condition-syntax.ts";

/** The variables of a condition. Their fields are declared, except those of `args` and of the two `optionalMaps`. */
const conditionVariables: readonly string[] = ["principal", "client", "server", "item", "args", "request"];

/**
 * What keeps a condition from loading although its types are right:
 * - it calls something that is not in the closed list, or loops deeper than `nestingMax`;
 * - it reads a field that may be missing (of `args`, `principal.claims`, `item.annotations`, of a loop variable)
 *   where no `has()` to its left in the same `&&` chain, no `!has() ||` and no `has() ? :` shows it is there.
 *
 * It does not check list indices and computed keys (`args.m[k]`), nor what type an argument has:
 * those err when evaluated, and a condition that errs never permits.
 */
export function conditionProblems(ast: ASTNode, nestingMax: number): readonly string[] {
  const problems: string[] = [];
  walk(ast, { facts: new Set(), loopVariables: [], nestingMax, problems });
  return problems;
}

interface Scope {
  /** Paths that are known to be there, as JSON text. */
  readonly facts: ReadonlySet<string>;
  readonly loopVariables: readonly string[];
  readonly nestingMax: number;
  readonly problems: string[];
}

function walk(node: ASTNode, scope: Scope): void {
  if (node.op === "&&" || node.op === "||" || node.op === "?:") walkBranches(node, scope);
  else if (node.op === "call") walkCall(node.args[0], node.args[1], scope);
  else if (node.op === "rcall") walkMethod(node, scope);
  else {
    if (node.op === "." || node.op === "[]") checkField(node, scope);
    if (node.op === ".?" || node.op === "[?]") scope.problems.push("optional access (`.?`) is not known: use has()");
    for (const child of childrenOf(node)) walk(child, scope);
  }
}

type Branching = Extract<ASTNode, { readonly op: "&&" | "||" | "?:" }>;

/** What the first operand shows holds in those behind it: when it was true, false, or (`?:`) first the one, then the other. */
const shownTo: Readonly<Record<Branching["op"], readonly boolean[]>> = {
  "&&": [true],
  "||": [false],
  "?:": [true, false],
};

function walkBranches(node: Branching, scope: Scope): void {
  const [first, ...rest] = node.args;
  walk(first, scope);
  rest.forEach((operand, index) => {
    walk(operand, knowing(scope, factsWhen(shownTo[node.op][index] ?? true, first)));
  });
}

function knowing(scope: Scope, more: readonly string[]): Scope {
  return more.length === 0 ? scope : { ...scope, facts: new Set([...scope.facts, ...more]) };
}

function walkCall(name: string, operands: readonly ASTNode[], scope: Scope): void {
  if (!callableFunctions.includes(name)) scope.problems.push(`\`${name}()\` is not among the functions of a condition`);
  const [field] = operands;
  // `has(a.b)` may ask for `b`, but reads `a`.
  if (name === "has" && field?.op === ".") walk(field.args[0], scope);
  else for (const operand of operands) walk(operand, scope);
}

function walkMethod(node: ASTNode & { readonly op: "rcall" }, scope: Scope): void {
  const [name, receiver, operands] = node.args;
  if (!callableMethods.includes(name)) scope.problems.push(`\`.${name}()\` is not among the functions of a condition`);
  if (name === "matches" && fieldName(operands[0] ?? receiver) === undefined) {
    scope.problems.push("the pattern of `matches` must be written out: it is compiled when the policy loads");
  }
  walk(receiver, scope);
  const variable = loopVariable(node);
  if (variable === undefined) for (const operand of operands) walk(operand, scope);
  else walkLoop(variable, operands.slice(1), scope);
}

function walkLoop(variable: string, body: readonly ASTNode[], scope: Scope): void {
  if (conditionVariables.includes(variable) || scope.loopVariables.includes(variable)) {
    scope.problems.push(`the loop variable \`${variable}\` hides another variable`);
  }
  const inner: Scope = { ...scope, loopVariables: [...scope.loopVariables, variable] };
  if (inner.loopVariables.length > scope.nestingMax) {
    scope.problems.push(`loops may be nested ${scope.nestingMax} deep`);
  }
  for (const operand of body) walk(operand, inner);
}

function checkField(node: ASTNode & { readonly op: "." | "[]" }, scope: Scope): void {
  const name = fieldName(node.args[1]);
  if (name === undefined) return;
  const path = fieldPath(node);
  if (path === undefined) {
    scope.problems.push(`\`${name}\` is read from a value that has() cannot ask about: loop over it instead`);
  } else if (mayBeMissing(path, scope) && !scope.facts.has(JSON.stringify(path))) {
    const text = path.join(".");
    scope.problems.push(`\`${text}\` may be missing: write \`has(${text}) && …\``);
  }
}

function mayBeMissing(path: readonly string[], scope: Scope): boolean {
  const [root = "", field] = path;
  if (root === "args" || scope.loopVariables.includes(root)) return path.length > 1;
  return path.length > 2 && optionalMaps.has(`${root}.${field ?? ""}`);
}

/** Declared fields whose own fields may be missing. */
const optionalMaps: ReadonlySet<string> = new Set(["principal.claims", "item.annotations"]);

/** Paths that must be there for `node` to come out as `outcome`. Errors are neither outcome. */
function factsWhen(outcome: boolean, node: ASTNode): readonly string[] {
  if (node.op === "!_") return factsWhen(!outcome, node.args);
  if (node.op === "&&" || node.op === "||") {
    // Both operands had to come out that way: `a && b` is true, or `a || b` is false.
    return (node.op === "&&") === outcome ? node.args.flatMap((operand) => factsWhen(outcome, operand)) : [];
  }
  if (!outcome) return [];
  if (node.op === "in") return keyFacts(node.args[0], node.args[1]);
  return node.op === "call" && node.args[0] === "has" ? prefixesOf(fieldPath(node.args[1][0] ?? node)) : [];
}

/** `"x" in args` shows that `args["x"]` is there. In a list it shows nothing, and `list["x"]` has no meaning. */
function keyFacts(key: ASTNode, container: ASTNode): readonly string[] {
  const name = fieldName(key);
  const path = fieldPath(container);
  return name === undefined || path === undefined ? [] : prefixesOf([...path, name]);
}

function prefixesOf(path: readonly string[] | undefined): readonly string[] {
  return (path ?? []).map((_, index, whole) => JSON.stringify(whole.slice(0, index + 1)));
}
