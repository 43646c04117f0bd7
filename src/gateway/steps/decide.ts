import { refuse, type Refusal } from "../../model/refusal.ts";
import type { Decision } from "../../model/decision.ts";
import type { Policy } from "../../policy/compile.ts";
import { decideRead } from "../../policy/decide-read.ts";
import { decide, decideServer } from "../../policy/decide.ts";
import { connectDecision } from "../connections/connect-tool.ts";
import { layDuties } from "../duties.ts";
import { given, type Exchange, type Target } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { policyOf } from "../policy-in-force.ts";
import { shadowDecision } from "../shadow.ts";
import { hopOf, questionAbout } from "./question.ts";
import { ownNameOf } from "../own-name.ts";

/** Sets `decision`, and `obligations` of what is allowed. The one place of the journey that asks policy; it sees the arguments as they will be sent. */
export function decideExchange(x: Exchange, g: Gateway): Refusal | undefined {
  const under = (policy: Policy): Decision =>
    x.target?.entry === undefined ? serverDecision(x, g, policy) : aboutItem(x, g, { target: x.target, policy });
  x.decision = under(policyOf(x, g));
  shadowDecision(x, g, x.decision, under);
  const refusal = refusalOf(x.decision);
  if (refusal === undefined) layDuties(x, g);
  return refusal;
}

/** What policy says of an exchange that concerns no item; streams ask again for every message. */
export function serverDecision(x: Exchange, g: Gateway, policy: Policy = policyOf(x, g)): Decision {
  return decideServer(policy, {
    principal: given(x.principal, "a principal"),
    server: x.arrival.server.name,
    request: { now: g.now(), transport: "http", ...hopOf(x) },
  });
}

function aboutItem(x: Exchange, g: Gateway, { target, policy }: { target: Target; policy: Policy }): Decision {
  const entry = given(target.entry, "a target");
  if (entry.connects) return connectDecision(x, g, entry, policy);
  const question = questionAbout(x, entry.item, g.now(), x.args);
  if (entry.item.kind !== "template") return decide(policy, question);
  return decideRead(policy, question, ownNameOf(target.asked, entry));
}

/** What a decision that does not allow is refused with. */
export function refusalOf(decision: Decision): Refusal | undefined {
  switch (decision.effect) {
    case "allow":
      return undefined;
    case "step-up":
      return refuse("SCOPE_INSUFFICIENT", { rule: decision.rule, scopes: decision.scopes, missing: decision.missing })
        .refusal;
    case "deny":
      return refuse(
        "POLICY_DENIED",
        { reason: decision.reason, rule: decision.rule ?? "" },
        decision.message === undefined ? {} : { message: decision.message },
      ).refusal;
  }
}
