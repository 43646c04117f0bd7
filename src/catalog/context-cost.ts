import { readOwn, type JsonObject } from "../model/json.ts";
import { writeJson } from "../protocol/json/write.ts";
import type { Entry } from "./table.ts";

/** Bytes of JSON that a token is taken to be worth: what English text and schemas come to with tokenizers in use. */
const bytesPerToken = 4;

/** What a tool takes of a model's context, at an estimate. */
export interface ToolCost {
  readonly exposed: string;
  readonly tokens: number;
}

/**
 * What of a model's context tools take, the largest first. Of a tool, a model reads what it is called, what is said of it
 * and its input schema, each as the tool is shown. An estimate: it counts bytes, since each model has its own tokens.
 * Prompts and resources take nothing before somebody asks for one.
 */
export function toolCosts(entries: readonly Entry[]): readonly ToolCost[] {
  return entries
    .filter(({ item }) => item.kind === "tool")
    .map(({ exposed, shown }) => ({ exposed, tokens: tokensIn(writeJson(readByModels(shown))) }))
    .sort((one, other) => other.tokens - one.tokens || (one.exposed < other.exposed ? -1 : 1));
}

/** How many tokens a text is, at an estimate. */
export function tokensIn(text: string): number {
  return Math.ceil(Buffer.byteLength(text, "utf8") / bytesPerToken);
}

function readByModels(shown: JsonObject): JsonObject {
  const read: JsonObject = {};
  for (const key of ["name", "description", "inputSchema"]) {
    const value = readOwn(shown, key);
    if (value !== undefined) read[key] = value;
  }
  return read;
}
