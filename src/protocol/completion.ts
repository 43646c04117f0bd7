import { isJsonObject, readOwn, readOwnString, type JsonObject } from "../model/json.ts";
import { refuse } from "../model/refusal.ts";
import { ok, type Result } from "../model/result.ts";

/** What `completion/complete` asks about (server utilities, "Completion"). */
export interface CompletionAsked {
  readonly kind: "prompt" | "template";
  /** The prompt's name, or the resource template as it was listed. */
  readonly name: string;
  /** The arguments known so far, with the unfinished one among them. */
  readonly args: JsonObject;
}

/**
 * Refuses with RPC_PARAMS_INVALID what is no completion request: another kind of reference, an argument
 * without name or value, values that are no text, an argument that stands among the known ones too. Not checked: whether the item has such an argument.
 */
export function readCompletion(params: JsonObject): Result<CompletionAsked> {
  const ref = readOwn(params, "ref");
  const type = readOwnString(ref, "type");
  const name = readOwnString(ref, type === "ref/prompt" ? "name" : "uri");
  const argument = readOwn(params, "argument");
  const [key, value] = [readOwnString(argument, "name"), readOwnString(argument, "value")];
  const known = readOwn(readOwn(params, "context"), "arguments") ?? {};
  if ((type !== "ref/prompt" && type !== "ref/resource") || name === undefined) return invalid("ref");
  if (key === undefined || value === undefined) return invalid("argument");
  if (!isJsonObject(known) || !Object.values(known).every((one) => typeof one === "string")) return invalid("context");
  // Of two values nobody could say which one the upstream takes.
  if (Object.hasOwn(known, key)) return invalid("context");
  return ok({ kind: type === "ref/prompt" ? "prompt" : "template", name, args: { ...known, [key]: value } });
}

function invalid(member: string): ReturnType<typeof refuse> {
  return refuse("RPC_PARAMS_INVALID", { member });
}
