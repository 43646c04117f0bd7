import type { ClientFeature } from "../model/client-feature.ts";
import { isJsonObject, readOwn } from "../model/json.ts";
import type { Json, JsonObject } from "../model/json.ts";

/**
 * Which feature of the client a request of an upstream uses; undefined for a method that asks nothing of a client.
 * A sampling request that offers tools, or continues their use, is `sampling_tools`. An elicitation without a mode is
 * a form (2025-11-25, elicitation, "Elicitation Requests"); one of a mode that nobody defined has no feature.
 */
export function featureOf(method: string, params: JsonObject): ClientFeature | undefined {
  switch (method) {
    case "elicitation/create": {
      const mode = readOwn(params, "mode");
      return mode === undefined || mode === "form" ? "elicitation" : mode === "url" ? "elicitation_url" : undefined;
    }
    case "sampling/createMessage":
      return usesTools(params) ? "sampling_tools" : "sampling";
    case "roots/list":
      return "roots";
    default:
      return undefined;
  }
}

/** The method whose requests use the feature: the reverse of `featureOf`. */
export function methodOfFeature(feature: ClientFeature): string {
  switch (feature) {
    case "elicitation":
    case "elicitation_url":
      return "elicitation/create";
    case "sampling":
    case "sampling_tools":
      return "sampling/createMessage";
    case "roots":
      return "roots/list";
  }
}

function usesTools(params: JsonObject): boolean {
  if (Object.hasOwn(params, "tools") || Object.hasOwn(params, "toolChoice")) return true;
  const messages = readOwn(params, "messages");
  return Array.isArray(messages) && messages.some((message) => blocksOf(readOwn(message, "content")).some(isToolBlock));
}

/** A message's content is one block or several (2025-11-25, sampling, "Messages"). */
export function blocksOf(content: Json | undefined): readonly Json[] {
  if (content === undefined) return [];
  return Array.isArray(content) ? content : [content];
}

function isToolBlock(block: Json): boolean {
  const type = readOwn(block, "type");
  return type === "tool_use" || type === "tool_result";
}

/**
 * The features that capabilities declare, as `initialize` or a modern `_meta` has them. `elicitation: {}` means forms
 * (2025-11-25, elicitation, "Capabilities"); `sampling.tools` comes on top of `sampling`.
 */
export function declaredFeatures(capabilities: JsonObject): ReadonlySet<ClientFeature> {
  const found = new Set<ClientFeature>();
  const elicitation = readOwn(capabilities, "elicitation");
  const sampling = readOwn(capabilities, "sampling");
  if (isJsonObject(elicitation)) {
    const url = isJsonObject(readOwn(elicitation, "url"));
    if (isJsonObject(readOwn(elicitation, "form")) || !url) found.add("elicitation");
    if (url) found.add("elicitation_url");
  }
  if (isJsonObject(sampling)) {
    found.add("sampling");
    if (isJsonObject(readOwn(sampling, "tools"))) found.add("sampling_tools");
  }
  if (isJsonObject(readOwn(capabilities, "roots"))) found.add("roots");
  return found;
}

/**
 * The part of `declared` that may be declared to an upstream for `features`. Nothing that this gateway does not carry
 * is in it: no tasks at the client, no `sampling.context` (what other servers said is not for this one), no
 * `experimental`. Extensions are not looked at here.
 */
export function capabilitiesFor(declared: JsonObject, features: ReadonlySet<ClientFeature>): JsonObject {
  const kept: JsonObject = {};
  const elicitation = elicitationFor(readOwn(declared, "elicitation"), features);
  if (elicitation !== undefined) kept["elicitation"] = elicitation;
  const sampling = readOwn(declared, "sampling");
  if (features.has("sampling") || features.has("sampling_tools"))
    kept["sampling"] = features.has("sampling_tools") ? picked(sampling, ["tools"]) : {};
  if (features.has("roots")) kept["roots"] = picked(readOwn(declared, "roots"), ["listChanged"]);
  return kept;
}

/** `{}` stays `{}`: whoever reads it with the eyes of 2025-06-18 knows no modes. */
function elicitationFor(declared: Json | undefined, features: ReadonlySet<ClientFeature>): JsonObject | undefined {
  const form = features.has("elicitation");
  const url = features.has("elicitation_url");
  if (!form && !url) return undefined;
  return picked(declared, [...(form ? ["form"] : []), ...(url ? ["url"] : [])]);
}

function picked(value: Json | undefined, keys: readonly string[]): JsonObject {
  const kept: JsonObject = {};
  for (const key of keys) {
    const member = readOwn(value, key);
    if (member !== undefined) kept[key] = member;
  }
  return kept;
}
