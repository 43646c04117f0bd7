import { isJsonObject, readOwn } from "../model/json.ts";
import type { JsonObject } from "../model/json.ts";
import type { RpcError, RpcRequest } from "../model/rpc.ts";
import { canonicalJson } from "../protocol/json/canonical.ts";
import type { OnAccountOf } from "./port.ts";

/** Client capabilities that let an upstream ask something (2025-11-25, lifecycle, "Capability Negotiation"). */
const askable = ["elicitation", "roots", "sampling"] as const;

/**
 * What a legacy session declares for `account`: of a client's capabilities those that let the upstream ask, as
 * they were given, and the extensions that the caller lets through. Tasks and what is experimental are left out:
 * no exchange carries them back. An account without a client session has nobody to ask and declares nothing.
 * Undefined when the caller leaves it open, so that any session of the account will do.
 */
export function declaredFor(
  { clientSession }: Pick<OnAccountOf, "clientSession">,
  clientCapabilities: JsonObject | undefined,
): JsonObject | undefined {
  if (clientSession === undefined) return {};
  if (clientCapabilities === undefined) return undefined;
  const declared: JsonObject = {};
  for (const name of askable) {
    const capability = readOwn(clientCapabilities, name);
    if (isJsonObject(capability)) declared[name] = capability;
  }
  const extensions = readOwn(clientCapabilities, "extensions");
  if (isJsonObject(extensions)) declared["extensions"] = extensions;
  return declared;
}

/** Whether a session that declared `declared` says what is `wanted` of it, in whatever order of keys. */
export function declares(declared: JsonObject, wanted: JsonObject | undefined): boolean {
  return wanted === undefined || declared === wanted || canonicalJson(declared) === canonicalJson(wanted);
}

/**
 * Why a request of the upstream goes no further; undefined when its session declared that it may be asked. A
 * server that asks for what it was not told of is answered, never left waiting: −32601 for a feature, −32602
 * for a mode of one (2025-11-25, elicitation, "Error Handling"; sampling, "Tools in Sampling"). Not checked:
 * the shape of anything but what names the mode.
 */
export function undeclared({ method, params }: RpcRequest, declared: JsonObject): RpcError | undefined {
  switch (method) {
    case "elicitation/create":
      return judge(readOwn(declared, "elicitation"), (elicitation) => mayElicit(elicitation, readOwn(params, "mode")));
    case "sampling/createMessage":
      return judge(readOwn(declared, "sampling"), (sampling) => mayUseTools(sampling) || !namesTools(params));
    case "roots/list":
      return judge(readOwn(declared, "roots"), () => true);
    default:
      return methodNotFound;
  }
}

/** What a request is answered with that nobody can serve. */
export const methodNotFound: RpcError = { code: -32601, message: "Method not found" };

const notDeclared: RpcError = { code: -32602, message: "The client has not declared this mode" };

function judge(
  capability: ReturnType<typeof readOwn>,
  covers: (capability: JsonObject) => boolean,
): RpcError | undefined {
  if (!isJsonObject(capability)) return methodNotFound;
  return covers(capability) ? undefined : notDeclared;
}

/** An empty `elicitation` means form mode (2025-11-25, elicitation, "Capabilities"); a request without mode is one. */
function mayElicit(elicitation: JsonObject, mode: ReturnType<typeof readOwn>): boolean {
  if (mode === "url") return isJsonObject(readOwn(elicitation, "url"));
  if (mode !== undefined && mode !== "form") return false;
  return isJsonObject(readOwn(elicitation, "form")) || !isJsonObject(readOwn(elicitation, "url"));
}

function mayUseTools(sampling: JsonObject): boolean {
  return isJsonObject(readOwn(sampling, "tools"));
}

function namesTools(params: JsonObject | undefined): boolean {
  return readOwn(params, "tools") !== undefined || readOwn(params, "toolChoice") !== undefined;
}
