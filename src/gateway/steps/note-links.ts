import { readOwn, isJsonObject, type JsonObject } from "../../model/json.ts";
import { StoreUnavailable } from "../../model/records.ts";
import type { Refusal } from "../../model/refusal.ts";
import { resourcesNamedIn } from "../../sanitize/links.ts";
import { methodOf, type Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { belongs, linkOwnerOf } from "./linked-resource.ts";

/**
 * Notes the resources that a result names and nothing lists, so that the principal it is delivered to can read them
 * (2025-11-25, tools, "Resource Links": such links "are not guaranteed to appear in the results of `resources/list`").
 * Stands after the checks: what is not delivered names nothing. A store that is down costs the reading, not the result.
 */
export function noteLinks(x: Exchange, g: Gateway): Refusal | undefined | Promise<undefined> {
  const upstream = x.target?.entry?.item.upstream;
  const result = deliveredIn(x);
  if (upstream === undefined || result === undefined) return undefined;
  const named = [...resourcesNamedIn(result)].filter((uri) => isWorthNoting(x, g, { upstream, uri }));
  return named.length === 0 ? undefined : note(x, g, { upstream, named });
}

/** The second form of tasks brings a result within its answer. */
function deliveredIn(x: Exchange): JsonObject | undefined {
  if (x.result === undefined || x.asksInput) return undefined;
  const inner = methodOf(x) === "tasks/get" ? readOwn(x.result, "result") : x.result;
  return isJsonObject(inner) ? inner : undefined;
}

/** Not what a list or a template leads to before any record is looked at, nor the address of a file. */
function isWorthNoting(x: Exchange, g: Gateway, { upstream, uri }: { upstream: string; uri: string }): boolean {
  if (uri === "" || uri.length > g.limits.uriCharsMax) return false;
  if (g.files.isPublicAddress(x.arrival.server.name, upstream, uri)) return false;
  const { view } = x;
  if (view === undefined) return true;
  const listed = view.byName.resource.get(uri)?.some((entry) => view.visible.has(entry)) ?? false;
  return !listed && !view.templates.some((template) => view.visible.has(template) && belongs(template, uri));
}

async function note(x: Exchange, g: Gateway, of: { upstream: string; named: readonly string[] }): Promise<undefined> {
  const kept = of.named.slice(0, g.limits.linksNotedPerResultMax);
  try {
    const leftOut = (await g.links.note(linkOwnerOf(x), of.upstream, kept)) + of.named.length - kept.length;
    if (leftOut > 0) g.logRefusal({ ref: x.ref, during: "links of a result", leftOut }, undefined);
  } catch (cause) {
    if (!(cause instanceof StoreUnavailable)) throw cause;
    g.logRefusal({ ref: x.ref, code: "STORE_UNAVAILABLE", during: "links of a result" }, cause);
  }
}
