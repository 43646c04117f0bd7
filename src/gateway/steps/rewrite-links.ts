import { readOwn, type JsonObject } from "../../model/json.ts";
import type { Refusal } from "../../model/refusal.ts";
import { rewriteContentLinks, rewriteStructuredLinks, type LinkRules } from "../../sanitize/links.ts";
import type { Entry } from "../../catalog/table.ts";
import type { Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";

/**
 * Gives links to files of the upstream, as its configuration names them, the public address under which they are
 * fetched. A link is no permission: whoever follows it is authenticated and decided on then. Links to elsewhere, to
 * the upstream's other paths and to resources that this principal can read by their URI stay.
 */
export function rewriteLinks(x: Exchange, g: Gateway): Refusal | undefined {
  if (x.result !== undefined) x.result = withPublicLinks(x, g, x.result);
  return undefined;
}

/** The same for a result that stands within another one. */
export function withPublicLinks(x: Exchange, g: Gateway, result: JsonObject): JsonObject {
  const entry = x.target?.entry;
  const rules = entry === undefined ? undefined : rulesFor(x, g, entry.item.upstream);
  if (entry === undefined || rules === undefined) return result;
  return withStructured(rewriteContentLinks(result, rules), g, { entry, rules });
}

function rulesFor(x: Exchange, g: Gateway, upstream: string): LinkRules | undefined {
  const { name } = x.arrival.server;
  const route = g.files.find(name, upstream);
  if (route === undefined) return undefined;
  const addressFor = (url: string): string | undefined =>
    isReadable(x, url) ? undefined : g.files.publicAddress(name, upstream, url);
  return { origin: route.origin, addressFor, linksMax: g.limits.linksPerResultMax };
}

/** A resource of the catalog is read by the URI it is listed under, which is therefore left as it is. */
function isReadable({ view }: Exchange, uri: string): boolean {
  return view?.byName.resource.get(uri)?.some((entry) => view.visible.has(entry)) ?? false;
}

/**
 * A schema may ask for the address that the upstream wrote (`pattern`, `const`, `maxLength`). Structured content
 * that fits its schema with the upstream's links and not with public ones keeps the upstream's.
 */
function withStructured(result: JsonObject, g: Gateway, of: { entry: Entry; rules: LinkRules }): JsonObject {
  const structured = readOwn(result, "structuredContent");
  if (structured === undefined) return result;
  const rewritten = rewriteStructuredLinks(structured, of.rules);
  if (rewritten === structured) return result;
  const { output } = of.entry;
  const checker = output === undefined ? undefined : g.checkers.for(output.digest, output.schema);
  const fits = checker?.usable !== true || checker.check(rewritten).length === 0;
  return fits ? { ...result, structuredContent: rewritten } : result;
}
