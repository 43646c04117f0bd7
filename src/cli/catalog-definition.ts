import { readFileSync } from "node:fs";
import { fetchUpstream } from "../catalog/fetch-upstream.ts";
import { liveOf } from "../catalog/lock/live.ts";
import type { DefinitionSource } from "../catalog/port.ts";
import { lockIdentityOf } from "../config/lock-identity.ts";
import { systemCode } from "../config/system-code.ts";
import type { Config } from "../config/types.ts";
import type { ItemKind } from "../model/item.ts";
import { isJsonObject, readOwn, readOwnString, type Json, type JsonObject } from "../model/json.ts";
import { limits } from "../model/limits.ts";
import { ok } from "../model/result.ts";
import { parseJson } from "../protocol/json/parse.ts";
import { cleanDefinition } from "../sanitize/clean-definition.ts";
import type { LiveAnswer } from "./catalog.ts";

/** Members of the file, by kind: as the results of the lists have them. */
const members: Readonly<Record<ItemKind, string>> = {
  tool: "tools",
  prompt: "prompts",
  resource: "resources",
  template: "resourceTemplates",
};

/**
 * What an upstream offers, out of a file: a JSON map of `tools`, `prompts`, `resourceTemplates` (lists of definitions,
 * as somebody who may list them got them) and `instructions`.
 */
export async function fromDefinition(name: string, file: string, config: Config): Promise<LiveAnswer> {
  const upstream = config.upstreams[name];
  if (upstream === undefined) return { fault: "not configured" };
  const offered = readOffered(file);
  if (typeof offered === "string") return { fault: `${file}: ${offered}` };
  const signal = AbortSignal.timeout(config.limits.upstreamListTimeoutMs);
  const options = { source: sourceOf(offered), clean: cleanDefinition, bounds: config.limits };
  const read = await fetchUpstream(name, options, signal);
  return read.ok ? liveOf(read.value, lockIdentityOf(upstream)) : { refusal: read.refusal };
}

function readOffered(file: string): JsonObject | string {
  const bytes = readBytes(file);
  if (typeof bytes === "string") return bytes;
  if (bytes.length > limits.listBytesMax) return `${bytes.length} bytes`;
  const parsed = parseJson(bytes, { ...limits, jsonValuesMax: limits.upstreamJsonValuesMax });
  if (!parsed.ok) return parsed.refusal.code;
  if (!isJsonObject(parsed.value)) return "no map";
  const known = [...Object.values(members), "instructions"];
  const stray = Object.keys(parsed.value).find((key) => !known.includes(key));
  if (stray !== undefined) return `unknown key ${stray}; it has ${known.join(", ")}`;
  const value = parsed.value;
  const wrong = Object.values(members).find((key) => !isListOfMaps(readOwn(value, key)));
  return wrong === undefined ? value : `${wrong} is no list of definitions`;
}

function readBytes(file: string): Buffer | string {
  try {
    return readFileSync(file);
  } catch (error) {
    return `nothing readable (${systemCode(error)})`;
  }
}

function isListOfMaps(value: Json | undefined): boolean {
  return value === undefined || (Array.isArray(value) && value.every(isJsonObject));
}

function sourceOf(offered: JsonObject): DefinitionSource {
  const instructions = readOwnString(offered, "instructions")?.slice(0, limits.instructionsCharsMax);
  const capabilities = { tools: {}, prompts: {}, resources: {} };
  return {
    identify: () =>
      Promise.resolve(ok({ era: "modern", capabilities, instructions, ownInstructions: instructions?.toWellFormed() })),
    page: ({ kind }) => {
      const listed = readOwn(offered, members[kind]);
      const definitions = Array.isArray(listed) ? listed.filter(isJsonObject) : [];
      return Promise.resolve(ok({ definitions, nextCursor: undefined, bytes: 0 }));
    },
  };
}
