import type { DefinitionPage, DefinitionSource } from "./catalog/port.ts";
import type { ItemKind } from "./model/item.ts";
import { isJsonObject, readOwn, readOwnString, type JsonObject } from "./model/json.ts";
import { limits } from "./model/limits.ts";
import { refuse } from "./model/refusal.ts";
import { ok, type Result } from "./model/result.ts";
import { upstreamResult } from "./protocol/bridge.ts";
import { cleanResult } from "./sanitize/clean-result.ts";
import { gatewayKey, type OnAccountOf, type UpstreamAnswer, type Upstreams } from "./upstream/port.ts";

/** On which lists are read that are the same for everybody. */
export const gatewayAccount: OnAccountOf = {
  tenant: "default",
  principalKey: gatewayKey,
  clientSession: undefined,
  caller: undefined,
};

const lists: Readonly<Record<ItemKind, { method: string; key: string }>> = {
  tool: { method: "tools/list", key: "tools" },
  prompt: { method: "prompts/list", key: "prompts" },
  resource: { method: "resources/list", key: "resources" },
  template: { method: "resources/templates/list", key: "resourceTemplates" },
};

/** The catalog's view of the upstreams: pages of definitions, freed of the hop they came over. */
export function definitionSource(upstreams: Upstreams, timeoutMs: number, account: OnAccountOf): DefinitionSource {
  return {
    identify: async (upstream, signal) => {
      const identity = await upstreams.identify(upstream, account, signal);
      if (!identity.ok) return identity;
      const { hop, capabilities, instructions } = identity.value;
      const ownInstructions = instructions?.slice(0, limits.instructionsCharsMax).toWellFormed();
      const shown = ownInstructions === undefined ? undefined : cleanInstructions(ownInstructions);
      return ok({ era: hop.era, capabilities, instructions: shown, ownInstructions });
    },
    page: async ({ upstream, kind, cursor, signal }) => {
      const { method, key } = lists[kind];
      const answer = await upstreams.request({
        upstream,
        method,
        params: cursor === undefined ? {} : { cursor },
        account,
        name: undefined,
        inputSchema: undefined,
        kind: undefined,
        signal,
        timeoutMs,
      });
      return pageOf(answer, { upstream, method, key });
    },
  };
}

/** Every client of a server reads them at its first message, so they are cleaned like everything that is listed. */
export function cleanInstructions(instructions: string): string | undefined {
  return readOwnString(cleanResult("initialize", { instructions }).value, "instructions");
}

function pageOf(answer: UpstreamAnswer, of: { upstream: string; method: string; key: string }): Result<DefinitionPage> {
  const { upstream, method, key } = of;
  if (answer.kind === "failed") return { ok: false, refusal: answer.refusal };
  if (answer.kind === "error")
    return refuse("UPSTREAM_ANSWER_INVALID", { upstream, method, rpcCode: answer.error.code });
  const result = upstreamResult(answer.hop, method, answer.result);
  if (!result.ok) return result;
  const definitions = readOwn(result.value, key);
  if (!Array.isArray(definitions))
    return refuse("UPSTREAM_ANSWER_INVALID", { upstream, method, fault: `${key} is no array` });
  const objects = definitions.filter((definition): definition is JsonObject => isJsonObject(definition));
  return ok({ definitions: objects, nextCursor: readOwnString(result.value, "nextCursor"), bytes: answer.bytes });
}
