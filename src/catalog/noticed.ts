import type { Finding } from "../model/finding.ts";
import type { CatalogItem } from "./fetch-upstream.ts";

/**
 * The items whose findings are not those of the reading before: what has to be reported, and only once.
 * Items without findings are left out, also when they had some before. At most one entry per item, so a
 * reading leads to at most `itemsPerUpstreamMax` reports.
 *
 * Does not compare definitions: one that changed and has the same findings is not in the answer.
 */
export function newlyNoticed(before: readonly CatalogItem[], after: readonly CatalogItem[]): readonly CatalogItem[] {
  const known = new Map(before.map((item) => [keyOf(item), textOf(item.findings)]));
  return after.filter((item) => item.findings.length > 0 && known.get(keyOf(item)) !== textOf(item.findings));
}

function keyOf({ kind, name }: CatalogItem): string {
  return `${kind} ${name}`;
}

function textOf(findings: readonly Finding[]): string {
  return JSON.stringify(findings.map(({ kind, where, detail, count }) => [kind, where, detail, count]));
}
