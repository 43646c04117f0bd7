import type { JsonObject } from "../model/json.ts";
import { readOwn } from "../model/json.ts";
import { readEvent } from "./read-event.ts";
import { readRef } from "./ref.ts";

/** Events of one request are few; a reference that finds more is not one. */
const foundMax = 1_000;

/**
 * Every event that carries a reference, in the order of the source, however the reference is typed. It
 * looks at whole events only, and does not verify the chain.
 */
export async function findByRef(
  source: AsyncIterable<string> | Iterable<string>,
  typed: string,
): Promise<JsonObject[]> {
  const ref = readRef(typed);
  const found: JsonObject[] = [];
  for await (const line of source) {
    // Parsing every line of a large file takes minutes; a substring search takes seconds.
    if (!line.includes(ref)) continue;
    const read = readEvent(line);
    if (read === undefined || readOwn(read.event, "ref") !== ref) continue;
    found.push(read.event);
    if (found.length >= foundMax) break;
  }
  return found;
}
