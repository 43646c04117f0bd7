import type { JsonObject } from "../../model/json.ts";
import { refuse } from "../../model/refusal.ts";
import { ok } from "../../model/result.ts";
import type { Era } from "../../model/revision.ts";
import type { DefinitionSource } from "../port.ts";
import { isLockedKind, type LockedUpstream } from "./document.ts";
import type { Lock } from "./lock.ts";

/**
 * Definitions out of the lock, for upstreams that only users can list: of each item the one that was approved last.
 * Nothing is asked of the upstream, so what the lock does not pin is not there: concrete resources, and capabilities
 * other than to list what it has (completion, logging, subscriptions, tasks).
 *
 * Not checked: whether the upstream still has them. A call of one that it has no more is its own error.
 */
export function lockedSource(options: {
  readonly lock: () => Lock | undefined;
  readonly eraOf: (upstream: string) => Era;
  readonly cleanInstructions: (text: string) => string | undefined;
}): DefinitionSource {
  const find = (upstream: string): LockedUpstream | undefined => options.lock()?.document.upstreams.get(upstream);
  return {
    identify: (upstream) => {
      const locked = find(upstream);
      if (locked === undefined)
        return Promise.resolve(refuse("CATALOG_UNAVAILABLE", { upstream, fault: "not in the catalog lock" }));
      const text = locked.instructions.at(-1)?.text;
      return Promise.resolve(
        ok({
          era: options.eraOf(upstream),
          capabilities: capabilitiesOf(locked),
          instructions: text === undefined ? undefined : options.cleanInstructions(text),
          ownInstructions: text,
        }),
      );
    },
    page: ({ upstream, kind }) => {
      const items = isLockedKind(kind) ? [...(find(upstream)?.items[kind].values() ?? [])] : [];
      const newest = items.map(({ approved }) => approved.at(-1)?.definition);
      const definitions = newest.filter((definition) => definition !== undefined);
      return Promise.resolve(ok({ definitions, nextCursor: undefined, bytes: 0 }));
    },
  };
}

function capabilitiesOf({ items }: LockedUpstream): JsonObject {
  return {
    ...(items.tool.size > 0 ? { tools: {} } : {}),
    ...(items.prompt.size > 0 ? { prompts: {} } : {}),
    ...(items.template.size > 0 ? { resources: {} } : {}),
  };
}
