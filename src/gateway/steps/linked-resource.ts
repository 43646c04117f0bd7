import { refuse, type Refusal } from "../../model/refusal.ts";
import type { Entry } from "../../catalog/table.ts";
import { listing } from "../../policy/decide.ts";
import { resolvedUri } from "../../policy/uri.ts";
import { given, type Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { policyOf } from "../policy-in-force.ts";
import type { LinkOwner } from "../link-book.ts";
import { questionAbout } from "./question.ts";

/**
 * Sets `target` for a URI that no list and no template of this principal's has, but a result had: it leads to the
 * upstream whose result named it to this principal, and is decided like a resource of that name in the upstream's
 * list. Otherwise the refusal that `unseen` makes. One that two upstreams named belongs to neither: were the newer
 * one to have it, a server could put itself in the place of another by repeating what that one said.
 */
export async function lookUpLink(
  x: Exchange,
  g: Gateway,
  { asked, unseen }: { asked: string; unseen: () => Refusal },
): Promise<Refusal | undefined> {
  const { name } = x.arrival.server;
  const named = await g.links.namedBy(linkOwnerOf(x), asked, g.catalog.upstreamsOf(name));
  const entries = named.map((upstream) => entryAt(x, g, { upstream, asked })).filter((entry) => entry !== undefined);
  const [entry] = entries;
  if (entry === undefined) return unseen();
  const upstreams = entries.map(({ item }) => item.upstream);
  if (upstreams.length > 1) return refuse("CATALOG_ITEM_COLLIDED", { upstreams, kind: "resource" }).refusal;
  x.target = { kind: "resource", asked, entry };
  return undefined;
}

/**
 * Links keep the upstream's own URIs. Where the upstream lists one, or a template of its covers it, under the server's
 * `uriPrefix`, that entry counts, hidden and withheld ones too: a link is no way around them.
 */
function entryAt(x: Exchange, g: Gateway, { upstream, asked }: { upstream: string; asked: string }): Entry | undefined {
  const { table, visible, byName, templates } = given(x.view, "a view");
  if (table.missing.some((missing) => missing.upstream === upstream)) return undefined;
  if (table.unconnected.includes(upstream)) return undefined;
  const linked = g.catalog.linked(table, upstream, asked);
  if (linked === undefined) return undefined;
  const { exposed, item } = linked;
  const own = [
    ...(byName.resource.get(exposed) ?? []),
    ...templates.filter((template) => belongs(template, exposed)),
  ].filter((entry) => entry.item.upstream === upstream);
  const seen = own.find((entry) => visible.has(entry));
  if (seen !== undefined) return { ...seen, exposed: seen.item.name };
  const isListed = listing(policyOf(x, g), questionAbout(x, item, g.now())) === "listed";
  return own.length === 0 && isListed ? { ...linked, exposed: asked } : undefined;
}

/** As received and, where dot segments lead elsewhere, as whoever resolves them reads it: the template vouches for its own URIs alone. */
export function belongs({ matches }: Entry, asked: string): boolean {
  if (matches?.(asked) !== true) return false;
  const resolved = resolvedUri(asked);
  return resolved === undefined || matches(resolved);
}

export function linkOwnerOf(x: Exchange): LinkOwner {
  const { tenant, key } = given(x.principal, "a principal");
  return { tenant, server: x.arrival.server.name, principalKey: key };
}
