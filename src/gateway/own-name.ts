import type { Entry } from "../catalog/table.ts";

/**
 * The upstream's own name of what was asked for: what policy judges and what is sent. For a template's
 * resource it is the URI without the server's `uriPrefix`, as policy names upstream identity and never an alias.
 */
export function ownNameOf(asked: string, { item, exposed }: Pick<Entry, "item" | "exposed">): string {
  return item.kind === "template" ? asked.slice(exposed.length - item.name.length) : item.name;
}
