import { readOwnString } from "../../model/json.ts";
import { refuse, type Refusal } from "../../model/refusal.ts";
import { collision, type Entry } from "../../catalog/table.ts";
import type { View } from "../../catalog/views.ts";
import { readCompletion } from "../../protocol/completion.ts";
import { clientMethods, type ClientMethod } from "../../protocol/methods.ts";
import { listing } from "../../policy/decide.ts";
import { given, paramsOf, type Exchange, type Target } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { policyOf } from "../policy-in-force.ts";
import { shadowHidden } from "../shadow.ts";
import { belongs, lookUpLink } from "./linked-resource.ts";
import { questionAbout } from "./question.ts";
import { catalogUnavailable, viewOf } from "./view-of.ts";

/**
 * Sets `view` and `target`. Names are looked up in what this principal sees, never split. A miss and
 * an item hidden from the principal differ in their code, which stays inside, and not in their answer.
 */
export function resolveTarget(x: Exchange, g: Gateway): Refusal | undefined | Promise<Refusal | undefined> {
  const { era, message } = given(x.classified, "a classified message");
  const method = "method" in message ? clientMethods(era).get(message.method) : undefined;
  if (method === undefined) return refuse("RPC_METHOD_UNKNOWN").refusal;
  const { target } = method;
  if (target === undefined) return undefined;
  const view = viewOf(x, g);
  return view instanceof Promise ? view.then((late) => lookIn(late, x, g, target)) : lookIn(view, x, g, target);
}

type Looked = Refusal | undefined | Promise<Refusal | undefined>;

function lookIn(view: View, x: Exchange, g: Gateway, target: NonNullable<ClientMethod["target"]>): Looked {
  x.view = view;
  if (target === "list") return undefined;
  if (target === "completion") return lookUpReference(x, g);
  return lookUp(x, g, target, readOwnString(paramsOf(x), target === "resource" ? "uri" : "name"));
}

/** Completion names a prompt or a template as a list showed it; the answer tells as much of an item as the item. */
function lookUpReference(x: Exchange, g: Gateway): Looked {
  const asked = readCompletion(paramsOf(x));
  if (!asked.ok) return asked.refusal;
  x.args = asked.value.args;
  return lookUp(x, g, asked.value.kind, asked.value.name);
}

function lookUp(x: Exchange, g: Gateway, kind: Target["kind"], asked: string | undefined): Looked {
  if (asked === undefined || asked.length > g.limits.uriCharsMax) return refuse("RPC_PARAMS_INVALID").refusal;
  const view = given(x.view, "a view");
  const named = view.byName[kind].get(asked) ?? [];
  const entry = named.find((candidate) => view.visible.has(candidate));
  x.target = { kind, asked, entry };
  if (entry !== undefined) return undefined;
  const withheld = withheldFrom(x, g, named);
  if (withheld !== undefined || kind !== "resource") return withheld ?? unseen(x, g, { view, found: named });
  return lookUpTemplate(x, g, { asked, named });
}

/**
 * A URI that is not listed belongs to the first visible template it matches. One that templates of two
 * upstreams match belongs to neither: the one that answers everything would answer for the other.
 */
function lookUpTemplate(x: Exchange, g: Gateway, { asked, named }: { asked: string; named: readonly Entry[] }): Looked {
  const view = given(x.view, "a view");
  const found = view.templates.filter((template) => belongs(template, asked));
  const visible = found.filter((template) => view.visible.has(template));
  const [entry] = visible;
  if (entry === undefined)
    return (
      withheldFrom(x, g, found) ??
      lookUpLink(x, g, { asked, unseen: () => unseen(x, g, { view, found: [...named, ...found] }) })
    );
  const upstreams = [...new Set(visible.map(({ item }) => item.upstream))];
  if (upstreams.length > 1) return refuse("CATALOG_ITEM_COLLIDED", { upstreams, kind: "template" }).refusal;
  x.target = { kind: "resource", asked, entry };
  return undefined;
}

/** Whoever would see an item, were it not withheld, is told why it is. */
function withheldFrom(x: Exchange, g: Gateway, found: readonly Entry[]): Refusal | undefined {
  const policy = policyOf(x, g);
  const collided = found.find((entry) => x.view?.collided.has(entry) === true);
  if (collided !== undefined) return collision(collided);
  const held = found.find(
    (entry) => entry.withheld !== undefined && listing(policy, questionAbout(x, entry.item, g.now())) === "listed",
  );
  if (held !== undefined) shadowHidden(x, g, [held]);
  return held?.withheld;
}

/**
 * Hidden and unknown are answered alike; only evidence tells them apart. While an upstream of the server was
 * never read, nobody can say that a name is unknown, and an agent that hears so gives the tool up. So it is with one
 * that lists nothing before it is connected: the tools may have been listed when it was.
 */
function unseen(x: Exchange, g: Gateway, of: { readonly view: View; readonly found: readonly Entry[] }): Refusal {
  const { view, found } = of;
  shadowHidden(x, g, found);
  x.hidden = found.length === 1 ? found[0]?.item : undefined;
  if (view.table.missing.length > 0) return catalogUnavailable(view);
  const [way] = view.visibleBy.tool.filter(({ connects }) => connects);
  if (way !== undefined) return notYetListed(way);
  return refuse(found.length === 0 ? "ITEM_UNKNOWN" : "ITEM_HIDDEN").refusal;
}

function notYetListed({ item: { upstream } }: Entry): Refusal {
  return refuse("UPSTREAM_CONNECTION_REQUIRED", { upstream, reason: "not-connected" }).refusal;
}
