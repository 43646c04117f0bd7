import { refuse, type Refusal } from "../../model/refusal.ts";
import type { RpcError } from "../../model/rpc.ts";
import { capabilitiesAt, requiredCapabilities } from "../../protocol/required-capabilities.ts";
import { declaredFeatures } from "../../protocol/client-features.ts";
import type { Exchange } from "../exchange.ts";
import { capabilitiesOf } from "./declared-capabilities.ts";

/** 2026-07-28, basic, "Error Codes": the server needs a capability that the request does not declare. */
export const missingCapability = -32021;

/**
 * Why a modern upstream refused a call with −32021: CLIENT_CAPABILITY_MISSING, or CLIENT_FEATURE_DENIED when the client
 * did declare what is required and policy kept it from the upstream: no client could do better.
 */
export function missingCapabilityRefusal(x: Exchange, error: RpcError): Refusal {
  const required = requiredCapabilities(error.data);
  const wanted = declaredFeatures(capabilitiesAt(required));
  const own = declaredFeatures(capabilitiesOf(x));
  const withheld = wanted.size > 0 && [...wanted].every((feature) => own.has(feature));
  if (withheld) return refuse("CLIENT_FEATURE_DENIED", { feature: [...wanted], reason: "withheld", rule: "" }).refusal;
  return refuse("CLIENT_CAPABILITY_MISSING", { required }).refusal;
}
