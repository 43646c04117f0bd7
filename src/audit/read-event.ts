import type { JsonObject } from "../model/json.ts";
import { isJsonObject, readOwn, readOwnString } from "../model/json.ts";
import { limits } from "../model/limits.ts";
import { canonicalJson } from "../protocol/json/canonical.ts";
import { parseJsonText } from "../protocol/json/parse.ts";
import { hashOfBody } from "./line.ts";

/** What verification and search need of one line, and the whole event as it was written. */
export interface ReadEvent {
  readonly event: JsonObject;
  readonly replica: string;
  readonly seq: number;
  readonly prev: string;
  readonly hash: string;
  /** True when `hash` is that of the event's own content. */
  readonly intact: boolean;
}

/** `read` may hold an argument as deep as arguments may be, inside the event. */
const bounds = { ...limits, jsonDepthMax: limits.jsonDepthMax + 8 };

/**
 * Reads one line of evidence; undefined when it is none (torn by a crash, or foreign). The hash is
 * computed over the canonical form, so a line that another tool wrote anew, keys in another order, is
 * still intact.
 */
export function readEvent(line: string): ReadEvent | undefined {
  const parsed = parseJsonText(line, bounds);
  if (!parsed.ok || !isJsonObject(parsed.value)) return undefined;
  const event = parsed.value;
  const { hash, ...body } = event;
  const [replica, prev] = [readOwnString(event, "replica"), readOwnString(event, "prev")];
  const seq = readOwn(event, "seq");
  if (typeof hash !== "string" || replica === undefined || prev === undefined) return undefined;
  if (typeof seq !== "number" || !Number.isSafeInteger(seq)) return undefined;
  return { event, replica, seq, prev, hash, intact: hashOfBody(canonicalJson(body)) === hash };
}
