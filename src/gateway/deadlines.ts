import type { ItemIdentity } from "../model/item.ts";
import type { Obligations } from "../model/obligations.ts";
import type { UpstreamRequest } from "../upstream/port.ts";
import type { Gateway } from "./gateway.ts";

/** Deadlines of an item in place of its upstream's own. What is absent stays as it is. */
export interface ItemDeadlines {
  readonly callMs?: number | undefined;
  readonly firstByteMs?: number | undefined;
  readonly idleMs?: number | undefined;
}

/** How long a request for an item may take, as a whole and in its parts: as configured, or less where policy says so. */
export function deadlinesOf(
  { treatments, limits }: Pick<Gateway, "treatments" | "limits">,
  item: ItemIdentity,
  obligations?: Pick<Obligations, "deadlineMs">,
): Pick<UpstreamRequest, "timeoutMs" | "deadlines"> {
  const treatment = treatments.get(item.upstream);
  const deadlines = treatment?.deadlines(item);
  const configuredMs = deadlines?.callMs ?? treatment?.callTimeoutMs ?? limits.upstreamCallTimeoutMs;
  const timeoutMs = Math.min(configuredMs, obligations?.deadlineMs ?? Infinity);
  return { timeoutMs, deadlines };
}
