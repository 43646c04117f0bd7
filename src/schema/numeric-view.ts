import type { Json, JsonObject } from "../model/json.ts";
import { ExactNumber } from "../model/json.ts";
import { decimalOf, isInteger } from "./decimal.ts";

/** How many values stand at each depth of a value, and whether some number in it is an `ExactNumber`. */
export interface Weight {
  readonly countsByDepth: readonly number[];
  readonly isExact: boolean;
}

/** Counts until `depthMax`; undefined for a value that goes deeper. */
export function weigh(value: Json, depthMax: number): Weight | undefined {
  const counts: number[] = [];
  let isExact = false;
  const visit = (node: Json, depth: number): boolean => {
    if (depth > depthMax) return false;
    counts[depth] = (counts[depth] ?? 0) + 1;
    if (typeof node !== "object" || node === null) return true;
    if (node instanceof ExactNumber) return (isExact = true);
    const children = Array.isArray(node) ? node : Object.values(node);
    for (const child of children) if (!visit(child, depth + 1)) return false;
    return true;
  };
  return visit(value, 0) ? { countsByDepth: counts, isExact } : undefined;
}

/**
 * A value for a validator that knows doubles only. Each `ExactNumber` becomes a double that says no
 * more than whether it is an integer; keywords that compare numbers look the original up again by the
 * container it stands in. Containers without exact numbers are shared, not copied.
 */
export interface NumericView {
  readonly view: Json;
  /** The member of the original that the view shows as `shown` under `key` of `container`. */
  originalOf(shown: Json, container: object, key: string | number): Json;
}

export function numericView(value: Json): NumericView {
  const originals = new Map<object, Json[] | JsonObject>();
  const show = (node: Json): Json => {
    if (node instanceof ExactNumber) return isInteger(decimalOf(node)) ? 1 : 0.5;
    if (typeof node !== "object" || node === null) return node;
    const shown = Array.isArray(node) ? showElements(node, show) : showMembers(node, show);
    if (shown !== node) originals.set(shown, node);
    return shown;
  };
  return {
    view: show(value),
    originalOf: (shown, container, key) => {
      if (typeof shown === "object" && shown !== null) return originals.get(shown) ?? shown;
      const original = originals.get(container);
      if (typeof shown !== "number" || original === undefined) return shown;
      return (Array.isArray(original) ? original[Number(key)] : original[key]) ?? null;
    },
  };
}

function showElements(elements: Json[], show: (node: Json) => Json): Json[] {
  const shown = elements.map(show);
  return shown.some((element, index) => element !== elements[index]) ? shown : elements;
}

function showMembers(members: JsonObject, show: (node: Json) => Json): JsonObject {
  const shown = Object.entries(members).map(([key, member]): [string, Json] => [key, show(member)]);
  return shown.some(([key, member]) => member !== members[key]) ? Object.fromEntries(shown) : members;
}
