import type { Refusal } from "../../model/refusal.ts";
import type { Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { checkAgainst } from "./schema-check.ts";

/**
 * Holds what will be sent to the upstream's own schema. Where the schema that was shown is that same
 * one, the arguments have passed it already and nothing is done twice.
 */
export function checkOutgoing(x: Exchange, g: Gateway): Refusal | undefined {
  const entry = x.target?.entry;
  if (entry === undefined || entry.ownInput?.digest === entry.shownInput?.digest) return undefined;
  return checkAgainst(x, g, { entry, schema: entry.ownInput });
}
