import type { ClientFeature } from "../model/client-feature.ts";
import { isJsonObject, readOwn } from "../model/json.ts";
import type { Json, JsonObject } from "../model/json.ts";
import { limits } from "../model/limits.ts";
import { blocksOf, featureOf } from "./client-features.ts";
import { formFault } from "./elicitation-form.ts";
import { withoutHopMeta, withoutKeys } from "./hop-meta.ts";

/** A request of an upstream to a client, of a shape that both eras know. */
export interface AskedRequest {
  readonly method: string;
  readonly feature: ClientFeature;
  /** Freed of its hop, and of what no client behind the gateway is to act on. */
  readonly params: JsonObject;
}

/** Why a request has no such shape, in words for whoever sent it. */
export interface AskedFault {
  readonly fault: string;
}

/**
 * Holds a request that an upstream sends to the client to its method's shape (2025-11-25 and 2026-07-28, elicitation,
 * sampling, roots), and takes out of it: `task`, since tasks at the client are not declared; `includeContext`, with
 * which the client would tell this upstream what others said; a progress token; `_meta` of the hop; and of
 * `roots/list` everything. Unknown members stay.
 *
 * Not checked: text, which is cleaned; whether the client can do it; whether every use of a tool has its result.
 */
export function readAsked(method: string, params: JsonObject): AskedRequest | AskedFault {
  const feature = featureOf(method, params);
  if (feature === undefined) return { fault: `${method} asks nothing of a client that is known here` };
  const fault = shapeFaults[feature](params);
  return fault === undefined ? { method, feature, params: passedOn(feature, params) } : { fault };
}

const notPassedOn: readonly string[] = ["task", "includeContext"];

function passedOn(feature: ClientFeature, params: JsonObject): JsonObject {
  if (feature === "roots") return {};
  const freed = withoutHopMeta(withoutKeys(params, notPassedOn));
  const meta = readOwn(freed, "_meta");
  if (!isJsonObject(meta) || !Object.hasOwn(meta, "progressToken")) return freed;
  const kept = withoutKeys(meta, ["progressToken"]);
  return Object.keys(kept).length > 0 ? { ...freed, _meta: kept } : withoutKeys(freed, ["_meta"]);
}

type ShapeFault = (params: JsonObject) => string | undefined;

const shapeFaults: Readonly<Record<ClientFeature, ShapeFault>> = {
  elicitation: (params) =>
    messageFault(params) ?? formFault(readOwn(params, "requestedSchema"), limits.askedFormFieldsMax),
  elicitation_url: (params) => messageFault(params) ?? urlFault(readOwn(params, "url")) ?? elicitationIdFault(params),
  sampling: samplingFault,
  sampling_tools: (params) => samplingFault(params) ?? toolsFault(params),
  roots: () => undefined,
};

function messageFault(params: JsonObject): string | undefined {
  return typeof readOwn(params, "message") === "string" ? undefined : "message must be a string";
}

/** 2026-07-28 has no `elicitationId`; 2025-11-25 requires one. */
function elicitationIdFault(params: JsonObject): string | undefined {
  const id = readOwn(params, "elicitationId");
  if (id === undefined) return undefined;
  return typeof id === "string" && id !== "" && id.length <= limits.askedIdCharsMax
    ? undefined
    : "elicitationId must be a string";
}

/** Printable ASCII without the characters that URLs exclude: what the person reads is what is opened (RFC 3986 §2). */
const plainUrl = /^[A-Za-z]+:\/\/[!#$%&'()*+,./0-9:;=?@A-Z[\]_a-z~-]+$/;

/**
 * A page that a person may be sent to: https, or http on this machine, without credentials that make one host look
 * like another, and written as it will be opened. An internationalised name shows as its A-labels (RFC 5890 §2.3.2.1).
 */
function urlFault(url: Json | undefined): string | undefined {
  if (typeof url !== "string" || url.length > limits.uriCharsMax) return "url must be a URL";
  if (!plainUrl.test(url) || !URL.canParse(url)) return "url must be a URL in plain ASCII";
  const { protocol, hostname, username, password } = new URL(url);
  if (username !== "" || password !== "" || /^[^/]*\/\/[^/?#]*@/.test(url)) return "url must not carry credentials";
  if (protocol === "https:") return undefined;
  return protocol === "http:" && isLoopback(hostname) ? undefined : "url must be https";
}

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(hostname);
}

function samplingFault(params: JsonObject): string | undefined {
  const messages = readOwn(params, "messages");
  if (!Array.isArray(messages) || messages.length > limits.askedMessagesMax) return "messages must be an array";
  const maxTokens = readOwn(params, "maxTokens");
  if (typeof maxTokens !== "number" || !Number.isInteger(maxTokens)) return "maxTokens must be an integer";
  return messageFaultIn(messages) ?? optionalFault(params, samplingMembers);
}

function messageFaultIn(messages: readonly Json[]): string | undefined {
  for (const message of messages) {
    const role = readOwn(message, "role");
    if (role !== "user" && role !== "assistant") return "a message's role must be user or assistant";
    const blocks = blocksOf(readOwn(message, "content"));
    if (blocks.length === 0 || !blocks.every(isBlock)) return "a message's content must be content blocks";
    if (mixesResults(blocks)) return "tool results are mixed with other content";
  }
  return undefined;
}

/** 2025-11-25, sampling, "Tool Result Messages". */
function mixesResults(blocks: readonly Json[]): boolean {
  const results = blocks.filter((block) => readOwn(block, "type") === "tool_result");
  return results.length > 0 && results.length < blocks.length;
}

type Is = (value: Json | undefined) => boolean;

const isString: Is = (value) => typeof value === "string";
const isObject: Is = (value) => isJsonObject(value);
const isList: Is = (value) => Array.isArray(value);

/** What a block of a known type must have; of a type nobody here knows, nothing more than the type. */
const blockMembers: ReadonlyMap<string, readonly (readonly [key: string, is: Is])[]> = new Map([
  ["text", [["text", isString]]],
  [
    "image",
    [
      ["data", isString],
      ["mimeType", isString],
    ],
  ],
  [
    "audio",
    [
      ["data", isString],
      ["mimeType", isString],
    ],
  ],
  [
    "tool_use",
    [
      ["id", isString],
      ["name", isString],
      ["input", isObject],
    ],
  ],
  [
    "tool_result",
    [
      ["toolUseId", isString],
      ["content", isList],
    ],
  ],
]);

/** A content block of a sampling message, from an upstream or from a client's model. */
export function isBlock(block: Json): boolean {
  const type = readOwn(block, "type");
  if (typeof type !== "string") return false;
  return (blockMembers.get(type) ?? []).every(([key, is]) => is(readOwn(block, key)));
}

type Members = Readonly<Record<string, Is>>;

const samplingMembers: Members = {
  systemPrompt: isString,
  temperature: (value) => typeof value === "number",
  stopSequences: (value) => Array.isArray(value) && value.every(isString),
  modelPreferences: isObject,
  metadata: isObject,
};

function toolsFault(params: JsonObject): string | undefined {
  const tools = readOwn(params, "tools") ?? [];
  if (!Array.isArray(tools) || tools.length > limits.askedToolsMax) return "tools must be an array";
  const sound = tools.every((tool) => isString(readOwn(tool, "name")) && isObject(readOwn(tool, "inputSchema")));
  return sound ? optionalFault(params, { toolChoice: isObject }) : "a tool must have a name and an inputSchema";
}

function optionalFault(params: JsonObject, members: Members): string | undefined {
  const wrong = Object.entries(members).find(([key, is]) => Object.hasOwn(params, key) && !is(readOwn(params, key)));
  return wrong === undefined ? undefined : `${wrong[0]} has the wrong type`;
}
