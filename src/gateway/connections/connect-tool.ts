import type { Entry } from "../../catalog/table.ts";
import type { Decision } from "../../model/decision.ts";
import { refuse, type Refusal } from "../../model/refusal.ts";
import type { Policy } from "../../policy/compile.ts";
import { reaches } from "../../policy/decide.ts";
import type { Settled } from "../asking/input-rounds.ts";
import { outcomeOf } from "../asking/judge-input.ts";
import { given, type Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { policyOf } from "../policy-in-force.ts";
import { throughConnection } from "./through-connection.ts";

/**
 * What policy says of the gateway's own tool: it is for whoever some rule allows something of the upstream, since
 * connecting is the way to that; rules name an upstream's items, of which it is none.
 */
export function connectDecision(
  x: Exchange,
  g: Gateway,
  { item }: Pick<Entry, "item">,
  policy: Policy = policyOf(x, g),
): Decision {
  const principal = given(x.principal, "a principal");
  const may = reaches(policy, { principal, server: x.arrival.server.name, upstream: item.upstream });
  return may ? { effect: "allow", rule: "", read: [] } : { effect: "deny", reason: "no-rule-allows", read: [] };
}

/** A call of the gateway's own tool: it sets `result` once the upstream is connected, and asks like any other call. */
export async function callConnectTool(x: Exchange, g: Gateway): Promise<Refusal | undefined> {
  const entry = x.target?.entry;
  if (entry?.connects !== true) return undefined;
  const { upstream } = entry.item;
  const { answer } = await throughConnection(x, g, () => look(x, g, upstream));
  if (answer.kind === "refused" || answer.kind === "failed") {
    x.outcome = outcomeOf(answer.refusal);
    return answer.refusal;
  }
  if (answer.kind === "result") x.result = answer.result;
  return undefined;
}

/** As an upstream would answer that has nothing to do but to be connected. */
async function look(x: Exchange, g: Gateway, upstream: string): Promise<{ readonly answer: Settled }> {
  const principal = given(x.principal, "a principal");
  const isThere = await g.connections.wait({ principal, upstream }, { until: g.now(), signal: x.cancellation });
  if (!isThere) {
    const { refusal } = refuse("UPSTREAM_CONNECTION_REQUIRED", { upstream, reason: "not-connected" });
    return { answer: { kind: "failed", outcome: "failed", refusal, hop: undefined } };
  }
  const text = `${g.connections.titleOf(upstream)} is connected. List the tools again to see what it offers.`;
  const hop = { era: "modern", revision: "2026-07-28" } as const;
  return { answer: { kind: "result", result: { content: [{ type: "text", text }] }, hop, bytes: text.length } };
}
