import { isJsonObject, type Json, type JsonObject } from "../../model/json.ts";
import { writeJson } from "../../protocol/json/write.ts";
import {
  lockedKinds,
  sections,
  type ByKind,
  type LockDocument,
  type LockedItem,
  type LockedUpstream,
  type Tombstone,
} from "./document.ts";
import { lockVersion } from "./read-document.ts";
import { visibleJson } from "./visible.ts";

/**
 * The text of a lock: keys in order at every level, a value a line, hidden characters escaped, one line break at the
 * end. The same document gives the same text, so a review shows what changed and nothing else.
 */
export function writeDocument({ upstreams }: LockDocument): string {
  const members = [...upstreams].map(([name, upstream]): [string, Json] => [name, upstreamJson(upstream)]);
  return `${written({ lockVersion, upstreams: Object.fromEntries(members) }, "")}\n`;
}

function upstreamJson({ identity, perUser, instructions, items, removed }: LockedUpstream): JsonObject {
  const gone = sectionsJson(removed, ({ at, digests }: Tombstone) => ({ at, digests: [...digests] }));
  return {
    identity: { ...identity },
    ...(perUser === "exact" ? {} : { perUser }),
    ...(instructions.length === 0 ? {} : { instructions: instructions.map((one) => ({ ...one })) }),
    ...sectionsJson(items, itemJson),
    ...(Object.keys(gone).length === 0 ? {} : { removed: gone }),
  };
}

function itemJson({ perUser, approved }: LockedItem): JsonObject {
  return { ...(perUser === undefined ? {} : { perUser }), approved: approved.map((one) => ({ ...one })) };
}

/** Sections that hold nothing are left out. */
function sectionsJson<T>(items: ByKind<T>, json: (item: T) => JsonObject): JsonObject {
  const full = lockedKinds.filter((kind) => items[kind].size > 0);
  return Object.fromEntries(
    full.map((kind) => [
      sections[kind],
      Object.fromEntries([...items[kind]].map(([name, item]): [string, Json] => [name, json(item)])),
    ]),
  );
}

/** Recursion is bounded by the depth that the parser allows. */
function written(value: Json, indent: string): string {
  const within = `${indent}  `;
  if (Array.isArray(value)) {
    const items = value.map((item) => within + written(item, within));
    return items.length === 0 ? "[]" : `[\n${items.join(",\n")}\n${indent}]`;
  }
  if (!isJsonObject(value)) return visibleJson(writeJson(value));
  const members = Object.keys(value)
    .sort()
    .map((key) => `${within}${visibleJson(JSON.stringify(key))}: ${written(value[key] ?? null, within)}`);
  return members.length === 0 ? "{}" : `{\n${members.join(",\n")}\n${indent}}`;
}
