import type { Json, JsonObject } from "../model/json.ts";
import { isJsonObject } from "../model/json.ts";
import { limits } from "../model/limits.ts";
import type { SchemaFault } from "./copy-schema.ts";

/** One subschema, as what evaluating it on one value sets off. */
interface Node {
  /** Evaluations of its own keywords, weighted. */
  own: number;
  /**
   * How often all of it may be evaluated where it is evaluated once. What keeps account of the unevaluated asks the
   * alternatives again, and those within them at every level.
   */
  rounds: number;
  /** Subschemas applied to the same value. */
  readonly inPlace: Node[];
  /** Subschemas of which one is applied to a given child: properties by name, items by position. */
  readonly oneOfChildren: Node[];
  /** Subschemas applied to every child. */
  readonly everyChild: Node[];
}

/** Values of `enum` and `required` compared for the price of one evaluation. */
const valuesPerStep = 8;
/** A pattern costs as much as this many ordinary evaluations. */
const stepsPerPattern = 20;
/** References and combinators that may follow each other on the same value; each is a stack frame. */
const inPlaceDepthMax = 2 * limits.schemaDepthMax;
const saturated = 1e12;

/** What evaluating a schema may cost. */
export interface SchemaCost {
  /** Most evaluations that one value at this depth (the root is 0) can set off. Saturates. */
  at(depth: number): number;
}

export type CostResult = { readonly cost: SchemaCost } | { readonly fault: SchemaFault };

/**
 * Refuses a schema that evaluates itself on the same value for ever (`allOf: [{$ref: "#"}]`), and one
 * that needs more than `schemaCostMax` evaluations for one value (doubling `anyOf`). Recursion that
 * consumes input is fine, but may branch: `at` says what it costs at each depth, so that values and not
 * schemas are refused for it. An upper bound, not a prediction; a real evaluation stops at the first miss.
 */
export function costOf(schema: JsonObject): CostResult {
  const nodes = buildNodes(schema);
  const ordered = inPlaceOrder(nodes.all);
  if (ordered === undefined) return { fault: { reason: "input-free-recursion", limit: inPlaceDepthMax } };
  const first = costRow(ordered, undefined);
  if (Math.max(...first.values()) > limits.schemaCostMax) {
    return { fault: { reason: "too-costly", limit: limits.schemaCostMax } };
  }
  const rows = [first];
  return {
    cost: {
      at: (depth) => {
        while (rows.length <= depth) rows.push(costRow(ordered, rows.at(-1)));
        return rows[depth]?.get(nodes.root) ?? saturated;
      },
    },
  };
}

/** Nodes of the root and of each definition first, so that references find them; then their contents. */
function buildNodes(schema: JsonObject): { root: Node; all: Node[] } {
  const all: Node[] = [];
  const definitions = isJsonObject(schema["$defs"]) ? Object.entries(schema["$defs"]) : [];
  const emptyNode = (): Node => {
    const node: Node = { own: 1, rounds: 1, inPlace: [], oneOfChildren: [], everyChild: [] };
    all.push(node);
    return node;
  };
  const root = emptyNode();
  const byReference = new Map<Json, Node>([["#", root]]);
  for (const [name] of definitions) byReference.set(`#/$defs/${name}`, emptyNode());
  const fill = (node: Node, value: Json): Node => {
    if (!isJsonObject(value)) return node;
    for (const [keyword, member] of Object.entries(value)) {
      if (keyword === "$ref") node.inPlace.push(byReference.get(member) ?? root);
      else addKeyword(node, keyword, member, (subschema) => fill(emptyNode(), subschema));
    }
    return node;
  };
  fill(root, schema);
  for (const [name, definition] of definitions) fill(byReference.get(`#/$defs/${name}`) ?? root, definition);
  return { root, all };
}

/** How a keyword's subschemas are applied: to the value itself, one to each child, or all to each child. */
const application: ReadonlyMap<string, "inPlace" | "oneOfChildren" | "everyChild"> = new Map([
  ...["allOf", "anyOf", "oneOf", "not", "if", "then", "else"].map((keyword) => [keyword, "inPlace"] as const),
  ...["dependentSchemas", "dependencies"].map((keyword) => [keyword, "inPlace"] as const),
  ...["properties", "prefixItems", "tuple"].map((keyword) => [keyword, "oneOfChildren"] as const),
  ...["items", "additionalItems", "unevaluatedItems", "contains"].map((keyword) => [keyword, "everyChild"] as const),
  ...["patternProperties", "additionalProperties"].map((keyword) => [keyword, "everyChild"] as const),
  ...["unevaluatedProperties", "propertyNames"].map((keyword) => [keyword, "everyChild"] as const),
]);
const mapKeywords: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "dependentSchemas",
  "dependencies",
]);

function addKeyword(node: Node, keyword: string, value: Json, nodeOf: (subschema: Json) => Node): void {
  const applied = application.get(keyword === "items" && Array.isArray(value) ? "tuple" : keyword);
  if (applied === undefined) {
    node.own += ownCost(keyword, value);
    return;
  }
  if (keyword === "unevaluatedProperties" || keyword === "unevaluatedItems") node.rounds = 2;
  const added = subschemasOf(keyword, value).map(nodeOf);
  for (const child of added) {
    if (keyword === "patternProperties") child.own += stepsPerPattern;
    node[applied].push(child);
  }
}

function ownCost(keyword: string, value: Json): number {
  if (keyword === "pattern") return stepsPerPattern;
  return Array.isArray(value) ? Math.floor(value.length / valuesPerStep) : 0;
}

function subschemasOf(keyword: string, value: Json): readonly Json[] {
  if (Array.isArray(value)) return value;
  return mapKeywords.has(keyword) && isJsonObject(value) ? Object.values(value) : [value];
}

/** Every node after those it applies in place; undefined when that goes round or too deep. */
function inPlaceOrder(nodes: readonly Node[]): readonly Node[] | undefined {
  const heights = new Map<Node, number>();
  const open = new Set<Node>();
  const ordered: Node[] = [];
  const visit = (node: Node): number => {
    const known = heights.get(node);
    if (known !== undefined) return known;
    if (open.has(node) || open.size > inPlaceDepthMax) return Number.POSITIVE_INFINITY;
    open.add(node);
    let height = 0;
    for (const next of node.inPlace) height = Math.max(height, visit(next) + 1);
    open.delete(node);
    heights.set(node, height);
    if (node.rounds > 1) node.rounds += height;
    ordered.push(node);
    return height;
  };
  return nodes.every((node) => visit(node) <= inPlaceDepthMax) ? ordered : undefined;
}

/** Costs at one depth from the costs one level nearer to the leaves. */
function costRow(ordered: readonly Node[], below: ReadonlyMap<Node, number> | undefined): ReadonlyMap<Node, number> {
  const row = new Map<Node, number>();
  for (const node of ordered) {
    let cost = below === undefined ? node.own : childCost(node, below);
    for (const next of node.inPlace) cost += row.get(next) ?? 0;
    row.set(node, Math.min(cost * node.rounds, saturated));
  }
  return row;
}

function childCost(node: Node, below: ReadonlyMap<Node, number>): number {
  let most = 0;
  for (const child of node.oneOfChildren) most = Math.max(most, below.get(child) ?? 0);
  for (const child of node.everyChild) most += below.get(child) ?? 0;
  return most;
}
