import { readOwnString } from "../../model/json.ts";
import { refuse, type Refusal } from "../../model/refusal.ts";
import type { Entry } from "../../catalog/table.ts";
import type { View } from "../../catalog/views.ts";
import { clientMethods } from "../../protocol/methods.ts";
import { listing } from "../../policy/decide.ts";
import { given, paramsOf, type Exchange, type Target } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { questionAbout } from "./question.ts";

/**
 * Sets `view` and `target`. Names are looked up in what this principal sees, never split. A miss and
 * an item hidden from the principal differ in their code, which stays inside, and not in their answer.
 */
export async function resolveTarget(x: Exchange, g: Gateway): Promise<Refusal | undefined> {
  const { era, message } = given(x.classified, "a classified message");
  const method = "method" in message ? clientMethods(era).get(message.method) : undefined;
  if (method === undefined) return refuse("RPC_METHOD_UNKNOWN").refusal;
  if (method.target === undefined) return undefined;
  x.view = await viewOf(x, g);
  return method.target === "list" ? undefined : lookUp(x, g, method.target);
}

async function viewOf(x: Exchange, g: Gateway): Promise<View> {
  const principal = given(x.principal, "a principal");
  const table = await g.catalog.table(x.arrival.server.name);
  const policy = g.policy();
  const visible = (entry: Entry): boolean => listing(policy, questionAbout(x, entry.item, g.now())) === "listed";
  return g.views.of({ table, principal, policy: policy.digest, visible });
}

function lookUp(x: Exchange, g: Gateway, kind: Target["kind"]): Refusal | undefined {
  const asked = readOwnString(paramsOf(x), kind === "resource" ? "uri" : "name");
  if (asked === undefined || asked.length > g.limits.uriCharsMax) return refuse("RPC_PARAMS_INVALID").refusal;
  const view = given(x.view, "a view");
  const found = candidates(view, kind, asked);
  const entry = found.find((candidate) => view.visible.has(candidate));
  x.target = { kind, asked, entry };
  return entry === undefined ? missing(x, g, found) : undefined;
}

/** A URI belongs to the listed resource of that URI, else to the first visible template it matches. */
function candidates(view: View, kind: Target["kind"], asked: string): readonly Entry[] {
  const named = view.table.byName[kind].get(asked) ?? [];
  if (kind !== "resource" || named.some((entry) => view.visible.has(entry))) return named;
  return [...named, ...view.table.templates.filter((template) => template.matches?.(asked) === true)];
}

/** Whoever would see the item, were it not withheld, is told why it is; anybody else hears "unknown". */
function missing(x: Exchange, g: Gateway, found: readonly Entry[]): Refusal {
  const policy = g.policy();
  const entitled = found.find(
    (entry) => entry.withheld !== undefined && listing(policy, questionAbout(x, entry.item, g.now())) === "listed",
  );
  if (entitled?.withheld !== undefined) return entitled.withheld;
  return refuse(found.length === 0 ? "ITEM_UNKNOWN" : "ITEM_HIDDEN").refusal;
}
