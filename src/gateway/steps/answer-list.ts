import type { Entry } from "../../catalog/table.ts";
import type { ItemKind } from "../../model/item.ts";
import { readOwn, type JsonObject } from "../../model/json.ts";
import { refuse, type Refusal } from "../../model/refusal.ts";
import { codecFor } from "../../protocol/codec.ts";
import { writeJson } from "../../protocol/json/write.ts";
import { given, methodOf, paramsOf, type Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { readerOf } from "../reader-of.ts";
import type { Bound } from "../sealing.ts";
import { shadowList } from "../shadow.ts";
import { catalogUnavailable } from "./view-of.ts";

/**
 * Sets `resultText`: everything of a kind that this principal may see, in pages where it is much (basic,
 * "Pagination"). It is an error, never an empty list, when nothing is to be shown because an upstream cannot be
 * read. Refuses CURSOR_INVALID (−32602) for a cursor that was not given to this principal, at this server, for
 * this list, or has expired.
 */
export function answerList(x: Exchange, g: Gateway, kind: ItemKind): Refusal | undefined {
  const cursor = readOwn(paramsOf(x), "cursor");
  const after = typeof cursor === "string" ? openCursor(x, g, cursor) : undefined;
  if (cursor !== undefined && after === undefined) return refuse("CURSOR_INVALID").refusal;
  const view = given(x.view, "a view");
  const { era } = given(x.classified, "a classified message");
  const shown = view.visibleBy[kind].length;
  if (shown === 0 && view.table.missing.length > 0) return catalogUnavailable(view);
  const staleMs = g.catalog.staleMs(x.arrival.server.name, readerOf(x, g));
  x.listed = { shown, known: view.table.entries.length, ...(staleMs > 0 ? { staleMs } : {}) };
  shadowList(x, g, view);
  const page = after === undefined ? `${era} ${kind}` : `${era} ${kind} after ${after}`;
  x.resultText = view.listText(page, () => writePage(x, g, { kind, ...pageOf(view.visibleBy[kind], after, g.limits) }));
  return undefined;
}

interface Page {
  readonly entries: readonly Entry[];
  /** The name after which the next page begins; undefined for the last one. */
  readonly next: string | undefined;
}

/**
 * A list that fits is shown in the order of the configuration. Pages of a longer one are in the order of the
 * names, so that a place in it means the same once its item is gone or others have come: no item that stays is
 * left out or shown twice. A page holds at least one item.
 */
function pageOf(
  visible: readonly Entry[],
  after: string | undefined,
  bounds: { readonly listItemsPerPageMax: number; readonly listPageBytesMax: number },
): Page {
  const whole = after === undefined ? fitting(visible, bounds) : undefined;
  if (whole === visible.length) return { entries: visible, next: undefined };
  const rest = visible
    .filter(({ exposed }) => after === undefined || exposed > after)
    .sort((one, other) => (one.exposed < other.exposed ? -1 : 1));
  const entries = rest.slice(0, Math.max(1, fitting(rest, bounds)));
  return { entries, next: entries.length < rest.length ? entries.at(-1)?.exposed : undefined };
}

/** How many of the first entries fit into one page. */
function fitting(
  entries: readonly Entry[],
  bounds: { readonly listItemsPerPageMax: number; readonly listPageBytesMax: number },
): number {
  let bytes = 0;
  for (const [at, { shown }] of entries.entries()) {
    bytes += Buffer.byteLength(writeJson(shown));
    if (at >= bounds.listItemsPerPageMax || bytes > bounds.listPageBytesMax) return at;
  }
  return entries.length;
}

const listKeys: Readonly<Record<ItemKind, string>> = {
  tool: "tools",
  prompt: "prompts",
  resource: "resources",
  template: "resourceTemplates",
};

function writePage(x: Exchange, g: Gateway, { kind, entries, next }: Page & { readonly kind: ItemKind }): string {
  const { era } = given(x.classified, "a classified message");
  const items: JsonObject = { [listKeys[kind]]: entries.map((entry) => entry.shown) };
  const result = next === undefined ? items : { ...items, nextCursor: sealCursor(x, g, next) };
  return writeJson(
    codecFor(era).encodeResult(methodOf(x), result, { serverInfo: { ...g.info }, ttlMs: g.limits.viewAgeMsMax }),
  );
}

/** What a view has written is kept for its principal alone, and for less time than a cursor lives. */
function sealCursor(x: Exchange, g: Gateway, next: string): string {
  return g.sealing.seal(cursorBound(x), next, g.limits.listCursorMs);
}

function openCursor(x: Exchange, g: Gateway, cursor: string): string | undefined {
  const opened = g.sealing.open(cursorBound(x), cursor);
  return opened.ok ? opened.text : undefined;
}

function cursorBound(x: Exchange): Bound {
  const { tenant, key } = given(x.principal, "a principal");
  const where = { tenant, server: x.arrival.server.name, principalKey: key };
  return { purpose: "cursor", ...where, upstream: "", item: methodOf(x), args: "" };
}
