import type { Json, JsonObject } from "../model/json.ts";
import { ConditionFault, viewOf } from "./argument-view.ts";
import type { ViewSource } from "./argument-view.ts";
import { charge } from "./meter.ts";

/**
 * What is known of an object of which not everything is: by JSON pointer (RFC 6901) the value there, and undefined
 * where it is known that there is none. What it does not name, and does not lie in what it names, is unknown.
 */
export type KnownFields = ReadonlyMap<string, Json | undefined>;

/** What a question knows in part. A member that is absent is known as a whole, from the question. */
export interface Partly {
  readonly args?: KnownFields | undefined;
  readonly claims?: KnownFields | undefined;
}

/** Values of which a part or all is unknown: whatever is done with such a part is noted and throws. */
export interface Unknowns {
  readonly args: unknown;
  readonly claims: ReadonlyMap<string, unknown> | undefined;
  /** Whether they were touched since the last call. */
  wereTouched(): boolean;
}

/** For a question of which not everything is known. `hasArgs` is false where nobody knows any argument yet. */
export function unknownsOf(
  { hasArgs, partly }: { readonly hasArgs: boolean; readonly partly: Partly | undefined },
  source: Omit<ViewSource, "notes">,
): Unknowns {
  let touched = false;
  const touch = (): never => {
    touched = true;
    throw new ConditionFault("it depends on what is not known");
  };
  const partial = (fields: KnownFields): ReadonlyMap<string, unknown> =>
    new PartialView(nodeOf(fields), { ...source, notes: undefined }, touch);
  const nothing = { get: touch, has: touch, ownKeys: touch, getPrototypeOf: touch };
  return {
    args: partly?.args === undefined ? (hasArgs ? undefined : new Proxy(new Map(), nothing)) : partial(partly.args),
    claims: partly?.claims === undefined ? undefined : partial(partly.claims),
    wereTouched: () => {
      const before = touched;
      touched = false;
      return before;
    },
  };
}

/** One object on the way to what is known: its fields that are known as a whole, and the objects inside it. */
interface Node {
  readonly values: JsonObject;
  readonly absent: Set<string>;
  readonly inner: Map<string, Node>;
}

function newNode(): Node {
  return { values: {}, absent: new Set(), inner: new Map() };
}

function nodeOf(fields: KnownFields): Node {
  const root = newNode();
  for (const [pointer, value] of fields) {
    if (isWithinAnother(pointer, fields)) continue;
    const parts = pointer.split("/").slice(1);
    const key = unescaped(parts.pop() ?? "");
    let here = root;
    for (const part of parts) here = innerAt(here, unescaped(part));
    if (value === undefined) here.absent.add(key);
    else here.values[key] = value;
  }
  return root;
}

function isWithinAnother(pointer: string, fields: KnownFields): boolean {
  for (let end = pointer.lastIndexOf("/"); end > 0; end = pointer.lastIndexOf("/", end - 1)) {
    if (fields.has(pointer.slice(0, end))) return true;
  }
  return false;
}

function innerAt(node: Node, key: string): Node {
  const known = node.inner.get(key);
  if (known !== undefined) return known;
  const made = newNode();
  node.inner.set(key, made);
  return made;
}

function unescaped(part: string): string {
  return part.replaceAll("~1", "/").replaceAll("~0", "~");
}

/** A `Map` for the reason that the views of whole objects are (`viewOf`), and charged like them. */
class PartialView extends Map<string, unknown> {
  readonly #node: Node;
  readonly #known: ReadonlyMap<string, unknown>;
  readonly #source: ViewSource;
  readonly #touch: () => never;

  constructor(node: Node, source: ViewSource, touch: () => never) {
    super();
    this.#node = node;
    this.#known = viewOf(node.values, source);
    this.#source = source;
    this.#touch = touch;
  }

  override get size(): number {
    return this.#touch();
  }

  /** The library asks this of two maps that it compares, after their sizes; `has()` of a condition reads. */
  override has(): boolean {
    return this.#touch();
  }

  override get(key: string): unknown {
    const inner = this.#node.inner.get(key);
    if (inner !== undefined) {
      charge(this.#source.meter, 1);
      return new PartialView(inner, this.#source, this.#touch);
    }
    return this.#isKnown(key) ? this.#known.get(key) : this.#touch();
  }

  override keys(): MapIterator<string> {
    return this.#touch();
  }

  override values(): MapIterator<unknown> {
    return this.#touch();
  }

  override [Symbol.iterator](): MapIterator<[string, unknown]> {
    return this.#touch();
  }

  /** Looking at the first entry alone is how the library finds out a map's type; that is no reading. */
  override *entries(): MapIterator<[string, unknown]> {
    const [first] = Object.keys(this.#node.values);
    if (first === undefined) return;
    yield [first, this.#known.get(first)];
    this.#touch();
  }

  #isKnown(key: string): boolean {
    return Object.hasOwn(this.#node.values, key) || this.#node.absent.has(key);
  }
}

// The library tells maps by `constructor === Map`.
Object.defineProperty(PartialView.prototype, "constructor", { value: Map });
