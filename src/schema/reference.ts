import type { Json } from "../model/json.ts";
import { isJsonObject, readOwnString } from "../model/json.ts";

/** Why a reference leads nowhere; a fact of `SCHEMA_UNUSABLE`. */
export type ReferenceFault = "ref-not-local" | "ref-unresolved";

/** Resolves references inside one schema document. Nothing is ever fetched. */
export interface References {
  resolve(reference: string): { readonly target: Json } | ReferenceFault;
}

/**
 * `#`, JSON pointers (`#/$defs/a`) and plain names (`$anchor`, `$dynamicAnchor`, and `$id: "#name"`
 * before 2019-09). The document is one resource, since a foreign `$id` is refused, so a dynamic or
 * recursive reference means the same as a plain one.
 */
export function references(root: Json): References {
  let anchors: ReadonlyMap<string, Json> | undefined;
  return {
    resolve: (reference) => {
      if (!reference.startsWith("#")) return "ref-not-local";
      const fragment = decodeFragment(reference.slice(1));
      if (fragment === undefined) return "ref-unresolved";
      const target =
        fragment === "" || fragment.startsWith("/")
          ? follow(root, fragment)
          : (anchors ??= findAnchors(root)).get(fragment);
      return typeof target === "boolean" || isJsonObject(target) ? { target } : "ref-unresolved";
    },
  };
}

function decodeFragment(fragment: string): string | undefined {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return undefined;
  }
}

function follow(root: Json, pointer: string): Json | undefined {
  let found: Json | undefined = root;
  for (const part of pointer.split("/").slice(1)) {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    if (Array.isArray(found)) found = /^\d{1,6}$/.test(key) ? found[Number(key)] : undefined;
    else found = isJsonObject(found) && Object.hasOwn(found, key) ? found[key] : undefined;
  }
  return found;
}

function findAnchors(root: Json): ReadonlyMap<string, Json> {
  const anchors = new Map<string, Json>();
  const open: Json[] = [root];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (Array.isArray(node)) for (const element of node) open.push(element);
    if (!isJsonObject(node)) continue;
    for (const name of [readOwnString(node, "$anchor"), readOwnString(node, "$dynamicAnchor"), idAnchor(node)]) {
      if (name !== undefined && !anchors.has(name)) anchors.set(name, node);
    }
    for (const member of Object.values(node)) open.push(member);
  }
  return anchors;
}

function idAnchor(node: Json): string | undefined {
  const id = readOwnString(node, "$id");
  return id?.startsWith("#") === true && id.length > 1 ? id.slice(1) : undefined;
}
