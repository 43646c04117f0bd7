import type { Entry } from "../../catalog/table.ts";
import type { View } from "../../catalog/views.ts";
import { listing } from "../../policy/decide.ts";
import { given, type Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { questionAbout } from "./question.ts";

/** What the exchange's principal sees of its server, under the policy in force. */
export async function viewOf(x: Exchange, g: Gateway): Promise<View> {
  const principal = given(x.principal, "a principal");
  const table = await g.catalog.table(x.arrival.server.name);
  const policy = g.policy();
  const visible = (entry: Entry): boolean => listing(policy, questionAbout(x, entry.item, g.now())) === "listed";
  return g.views.of({ table, principal, policy: policy.digest, visible });
}
