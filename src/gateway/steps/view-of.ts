import { shapeEntry } from "../../catalog/shaped-entry.ts";
import type { Entry, ServerTable } from "../../catalog/table.ts";
import type { View } from "../../catalog/views.ts";
import { listing } from "../../policy/decide.ts";
import { shapingOf } from "../../policy/obligations.ts";
import { refuse, type Refusal } from "../../model/refusal.ts";
import { connectDecision } from "../connections/connect-tool.ts";
import { given, type Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { inForceOf, policyOf } from "../policy-in-force.ts";
import { readerOf } from "../reader-of.ts";
import { hopOf, questionAbout } from "./question.ts";

/** What the exchange's principal sees of its server, under the policy in force. Synchronous where the catalog is. */
export function viewOf(x: Exchange, g: Gateway): View | Promise<View> {
  const { name } = x.arrival.server;
  const presentation = g.catalog.presentationFor(name, given(x.principal, "a principal"));
  const table = g.catalog.table(name, readerOf(x, g), presentation);
  return table instanceof Promise ? table.then((late) => viewOn(late, x, g)) : viewOn(table, x, g);
}

function viewOn(table: ServerTable, x: Exchange, g: Gateway): View {
  const principal = given(x.principal, "a principal");
  const { policy, digests } = inForceOf(x, g);
  const { name: server } = x.arrival.server;
  const visible = (entry: Entry): boolean => isVisible(x, g, entry);
  const present = (entry: Entry): Entry =>
    entry.connects ? entry : shapeEntry(entry, shapingOf(policy, { principal, server, item: entry.item }));
  const { era, revision } = hopOf(x);
  const under = { policy: `${digests.policy} ${digests.lock}`, revision: `${era} ${revision}` };
  return g.views.of({ table, principal, ...under, visible, present });
}

function isVisible(x: Exchange, g: Gateway, entry: Entry): boolean {
  if (entry.connects) return connectDecision(x, g, entry).effect === "allow";
  return listing(policyOf(x, g), questionAbout(x, entry.item, g.now())) === "listed";
}

/** Upstreams of the server whose lists cannot be had now, and why. */
export function catalogUnavailable(view: View): Refusal {
  const upstreams = view.table.missing.map(({ upstream }) => upstream);
  const codes = view.table.missing.map(({ refusal }) => refusal.code);
  return refuse("CATALOG_UNAVAILABLE", { upstreams, codes }).refusal;
}
