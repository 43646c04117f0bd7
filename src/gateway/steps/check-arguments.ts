import { isJsonObject, readOwn, type Json, type JsonObject } from "../../model/json.ts";
import { refuse, type Refusal } from "../../model/refusal.ts";
import { checkParamHeaders } from "../../protocol/modern/param-headers.ts";
import type { Entry } from "../../catalog/table.ts";
import { given, methodOf, paramsOf, type Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { argumentsUnfit, checkAgainst } from "./schema-check.ts";
import { settleUnknown } from "./unknown-arguments.ts";
import { ownNameOf } from "../own-name.ts";

/**
 * Sets `args`: a tool's arguments held to the schema that was shown, a prompt's to the arguments it shows. What policy
 * presets is not sent, and what it calls unknown is refused or taken away (ARGUMENTS_INVALID). For a resource the
 * arguments are `{}`, or `{ uri }` when a template carries the read.
 */
export function checkArguments(x: Exchange, g: Gateway): Refusal | undefined {
  const entry = x.target?.entry;
  // A completion's arguments are unfinished by nature; they were read with the reference.
  if (entry === undefined) return undefined;
  if (methodOf(x) === "completion/complete") return refuseFixed(x.args ?? {}, entry);
  const { kind } = entry.item;
  if (kind === "tool" || kind === "prompt") return checkSent(x, g, entry);
  x.args = kind === "template" ? { uri: ownNameOf(x.target?.asked ?? "", entry) } : {};
  return undefined;
}

function checkSent(x: Exchange, g: Gateway, entry: Entry): Refusal | undefined {
  const args = readOwn(paramsOf(x), "arguments") ?? {};
  if (!isJsonObject(args)) return invalid("arguments must be an object");
  x.args = args;
  const refusal = refuseFixed(args, entry) ?? settleUnknown(x, g, entry);
  if (refusal !== undefined) return refusal;
  return entry.item.kind === "prompt" ? checkPrompt(entry.shown, args) : checkTool(x, g, entry);
}

/** An argument of which policy says the value is like one that the item does not have, the same value included. */
function refuseFixed(args: JsonObject, { shaped }: Entry): Refusal | undefined {
  if (shaped === undefined || shaped.presets.size === 0) return undefined;
  const sent = Object.keys(args).filter((name) => shaped.presets.has(name));
  if (sent.length === 0) return undefined;
  const facts = { presets: sent, rules: [...shaped.rules] };
  return refuse("ARGUMENTS_INVALID", facts, { message: `Set here, and not to be sent: ${sent.join(", ")}.` }).refusal;
}

function checkTool(x: Exchange, g: Gateway, entry: Entry): Refusal | undefined {
  return checkHeaders(x, entry) ?? checkAgainst(x, g, { entry, schema: entry.shownInput, unfit: argumentsUnfit });
}

/** `Mcp-Param-*` of a modern client must repeat the arguments (2026-07-28, transport, "Custom headers"). */
function checkHeaders(x: Exchange, entry: Entry): Refusal | undefined {
  const classified = given(x.classified, "a classified message");
  if (classified.era !== "modern" || entry.paramHeaders === undefined) return undefined;
  const verdict = checkParamHeaders(entry.paramHeaders, x.args ?? {}, classified.paramHeaders);
  return verdict.ok ? undefined : verdict.refusal;
}

/** Holds a prompt's arguments to a definition of it. */
export function checkPrompt(definition: JsonObject, args: JsonObject): Refusal | undefined {
  const declared = readOwn(definition, "arguments");
  for (const argument of Array.isArray(declared) ? declared : []) {
    const name = readOwn(argument, "name");
    if (typeof name !== "string") continue;
    if (readOwn(argument, "required") === true && !Object.hasOwn(args, name)) return invalid(`${name} is required`);
  }
  const wrong = Object.entries(args).find(([, value]: [string, Json]) => typeof value !== "string");
  return wrong === undefined ? undefined : invalid(`${wrong[0]} must be a string`);
}

function invalid(message: string): Refusal {
  return refuse("ARGUMENTS_INVALID", {}, { message: `${message.slice(0, 200)}.` }).refusal;
}
