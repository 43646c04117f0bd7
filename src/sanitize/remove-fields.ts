import { relatedTaskMetaKey } from "../model/identifiers.ts";
import type { Finding } from "../model/finding.ts";
import { isJsonObject, readOwn, readOwnString, type Json, type JsonObject } from "../model/json.ts";
import type { RpcError } from "../model/rpc.ts";
import { parseJsonText } from "../protocol/json/parse.ts";
import { pointerSegments } from "../protocol/json/pointer.ts";
import { writeJson } from "../protocol/json/write.ts";

export interface FreedResult {
  readonly value: JsonObject;
  readonly findings: readonly Finding[];
}

/**
 * A tool's result without the fields that JSON pointers name, whose segments may be `*`, any key or position. What may
 * repeat them goes too:
 *
 * - A block whose text is a JSON object or list, by itself or as an embedded resource, is written anew without them. It
 *   is left out where the structured content has such fields and it has none of them: it is of another shape, in which
 *   nobody knows where they stand.
 * - Every other block is left out: a text may quote a field, a picture show it, a link lead to it.
 * - Of `_meta` and of the members of blocks only what the gateway knows to hold no field is left.
 *
 * Where no block is left, the structured content is repeated as text, as clients expect, or one block says so. A field
 * that stands under another name, or within the text of another field, is not found.
 */
export function freeResult(result: JsonObject, pointers: readonly string[]): FreedResult {
  const structured = readOwn(result, "structuredContent");
  const freed = structured === undefined ? undefined : removeFields(structured, pointers);
  const content = readOwn(result, "content");
  const blocks = (Array.isArray(content) ? content : []).map((block) => freeBlock(block, pointers, freed?.met));
  const left = blocks.filter((block) => block !== undefined);
  const value: JsonObject = {};
  if (Array.isArray(content)) value["content"] = left.length < content.length ? orWords(left, freed?.value) : left;
  if (freed !== undefined) value["structuredContent"] = freed.value;
  if (typeof result["isError"] === "boolean") value["isError"] = result["isError"];
  const related = readOwn(readOwn(result, "_meta"), relatedTaskMetaKey);
  if (related !== undefined) value["_meta"] = { [relatedTaskMetaKey]: related };
  return { value, findings: [...removals(freed), ...blocks.flatMap(omission)] };
}

/** An upstream's error without what it says: its words and data may quote a field. */
export function freeError({ code }: RpcError): RpcError {
  return { code, message: "The upstream failed. What it said is left out, since fields are removed from its results." };
}

export interface Removed {
  readonly value: Json;
  /** Pointers that named something. */
  readonly met: ReadonlySet<string>;
}

/** A value without what the pointers name. */
export function removeFields(value: Json, pointers: readonly string[]): Removed {
  const met = new Set<string>();
  const freed = pointers.reduce(
    (rest, pointer) => without(rest, pointerSegments(pointer), () => met.add(pointer)),
    value,
  );
  return { value: freed, met };
}

function without(value: Json, [segment = "", ...rest]: readonly string[], noteMet: () => void): Json {
  if (Array.isArray(value)) return withoutElements(value, { segment, rest, noteMet });
  if (!isJsonObject(value)) return value;
  const kept: JsonObject = {};
  for (const [key, member] of Object.entries(value)) {
    if (segment !== "*" && segment !== key) kept[key] = member;
    else if (rest.length > 0) kept[key] = without(member, rest, noteMet);
    else noteMet();
  }
  return kept;
}

function withoutElements(
  list: readonly Json[],
  { segment, rest, noteMet }: { segment: string; rest: readonly string[]; noteMet: () => void },
): Json[] {
  return list.flatMap((element, at) => {
    if (segment !== "*" && segment !== String(at)) return [element];
    if (rest.length > 0) return [without(element, rest, noteMet)];
    noteMet();
    return [];
  });
}

/** Undefined: it is left out. */
function freeBlock(
  block: Json,
  pointers: readonly string[],
  metElsewhere: ReadonlySet<string> | undefined,
): JsonObject | undefined {
  const type = readOwnString(block, "type");
  const resource = readOwn(block, "resource");
  const text = freeText(readOwn(type === "resource" ? resource : block, "text"), pointers, metElsewhere);
  if (text === undefined) return undefined;
  if (type === "text") return { type, text };
  if (type !== "resource" || !isJsonObject(resource)) return undefined;
  const kept: JsonObject = { text };
  for (const key of ["uri", "mimeType"]) if (typeof resource[key] === "string") kept[key] = resource[key];
  return { type, resource: kept };
}

function freeText(
  text: Json | undefined,
  pointers: readonly string[],
  metElsewhere: ReadonlySet<string> | undefined,
): string | undefined {
  const parsed = typeof text === "string" ? parseJsonText(text) : undefined;
  if (parsed?.ok !== true || (!isJsonObject(parsed.value) && !Array.isArray(parsed.value))) return undefined;
  const { value, met } = removeFields(parsed.value, pointers);
  const isOfAnotherShape = [...(metElsewhere ?? [])].some((pointer) => !met.has(pointer));
  return isOfAnotherShape ? undefined : writeJson(value);
}

function orWords(left: JsonObject[], structured: Json | undefined): JsonObject[] {
  if (left.length > 0) return left;
  return [{ type: "text", text: structured === undefined ? nothingLeft : writeJson(structured) }];
}

const nothingLeft =
  "Nothing of the result can be shown: fields are removed from it here, and it is not in a form in which they can be found.";

function removals(freed: Removed | undefined): Finding[] {
  if (freed === undefined) return [];
  return [...freed.met].map((pointer) => ({
    kind: "field-removed",
    where: "/structuredContent",
    detail: pointer.slice(0, detailCharsMax),
    count: 1,
  }));
}

const detailCharsMax = 200;

function omission(block: JsonObject | undefined, at: number): Finding[] {
  if (block !== undefined) return [];
  return [{ kind: "content-left-out", where: `/content/${at}`, detail: "may repeat a removed field", count: 1 }];
}
