import { asLockDigest } from "../../catalog/lock/lock-digest.ts";
import { refuse, type Refusal } from "../../model/refusal.ts";
import { noteFindings, type Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";

/**
 * Holds the definition under which the exchange is judged to the catalog lock in force now: what was listed before
 * another lock came, or a snapshot changed, is not used under a definition that nobody approved. Refuses
 * CATALOG_ITEM_DRIFTED; where the lock is observed alone, notes a finding.
 *
 * Does not ask the upstream: what it would list at this moment is known no better than its list was read.
 */
export function checkDefinition(x: Exchange, g: Gateway): Refusal | undefined {
  const entry = x.target?.entry;
  // The gateway's own tool is no upstream's.
  if (entry === undefined || entry.connects) return undefined;
  const { upstream, kind, digest } = entry.item;
  const { mode, reason } = g.verdictOn(entry.item);
  if (reason === undefined) return undefined;
  if (mode === "enforce")
    return refuse("CATALOG_ITEM_DRIFTED", { upstream, kind, reason, found: asLockDigest(digest) }).refusal;
  noteFindings(x, [{ kind: "definition-drifted", where: "", detail: reason, count: 1 }]);
  return undefined;
}
