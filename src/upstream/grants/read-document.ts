import { isJsonObject, readOwn, type Json, type JsonObject } from "../../model/json.ts";
import { parseJson } from "../../protocol/json/parse.ts";

/** The JSON object that a response holds, whatever media type it claims; undefined where it holds none. */
export async function readDocument(response: Response): Promise<JsonObject | undefined> {
  const parsed = parseJson(new Uint8Array(await response.arrayBuffer()));
  return parsed.ok && isJsonObject(parsed.value) ? parsed.value : undefined;
}

/** The strings of an array, at most `itemsMax`; undefined where there is no array. */
export function readStrings(value: Json | undefined, key: string, itemsMax: number): readonly string[] | undefined {
  const found = readOwn(value, key);
  if (!Array.isArray(found)) return undefined;
  return found.filter((item): item is string => typeof item === "string").slice(0, itemsMax);
}
