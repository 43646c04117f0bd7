import { refuse, type Refusal } from "../../model/refusal.ts";
import type { Decision } from "../../model/decision.ts";
import { decide, decideServer } from "../../policy/decide.ts";
import { connectDecision } from "../connections/connect-tool.ts";
import { given, type Exchange, type Target } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { policyOf } from "../policy-in-force.ts";
import { questionAbout } from "./question.ts";
import { ownNameOf } from "../own-name.ts";

/** Sets `decision`. The one place of the journey that asks policy; it sees the arguments as they will be sent. */
export function decideExchange(x: Exchange, g: Gateway): Refusal | undefined {
  x.decision = x.target?.entry === undefined ? serverDecision(x, g) : aboutItem(x, g, x.target);
  return refusalOf(x.decision);
}

/** What policy says of an exchange that concerns no item; streams ask again for every message. */
export function serverDecision(x: Exchange, g: Gateway): Decision {
  const classified = given(x.classified, "a classified message");
  return decideServer(policyOf(x, g), {
    principal: given(x.principal, "a principal"),
    server: x.arrival.server.name,
    request: {
      now: g.now(),
      transport: "http",
      era: classified.era,
      revision: x.session?.revision ?? classified.revision ?? "",
    },
  });
}

/** A read that a template carries is also a read of that URI: a deny on the URI counts. */
function aboutItem(x: Exchange, g: Gateway, target: Target): Decision {
  const entry = given(target.entry, "a target");
  if (entry.connects) return connectDecision(x, g, entry);
  const decision = decide(policyOf(x, g), questionAbout(x, entry.item, g.now(), x.args));
  if (entry.item.kind !== "template" || decision.effect === "deny") return decision;
  const uri = { upstream: entry.item.upstream, kind: "resource", name: ownNameOf(target.asked, entry) } as const;
  const onUri = decide(policyOf(x, g), questionAbout(x, uri, g.now(), {}));
  const isSilent = onUri.effect !== "deny" || onUri.reason === "no-rule-allows" || onUri.reason === "outside-token";
  return isSilent ? decision : onUri;
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
