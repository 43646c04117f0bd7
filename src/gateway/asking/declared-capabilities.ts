import type { JsonObject } from "../../model/json.ts";
import { listing } from "../../policy/decide.ts";
import { capabilitiesFor, declaredFeatures } from "../../protocol/client-features.ts";
import type { Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { policyOf } from "../policy-in-force.ts";
import { extensionsFor } from "../extensions.ts";
import { questionAboutFeature } from "../steps/question.ts";

/** What the client behind an exchange says it can do: of its session, or with the request itself. */
export function capabilitiesOf(x: Exchange): JsonObject {
  return x.session?.clientCapabilities ?? x.classified?.meta?.clientCapabilities ?? {};
}

/**
 * The capabilities that are declared to `upstream` on the client's behalf: what the client declared, less what policy
 * surely denies to this principal and upstream, and the extensions that its server lets through. Undefined for a client that declared nothing to be asked, as most do.
 */
export function declaredCapabilities(x: Exchange, g: Gateway, upstream: string): JsonObject | undefined {
  const own = capabilitiesOf(x);
  const features = declaredFeatures(own);
  const extensions = extensionsFor(x, own);
  if (features.size === 0) return extensions === undefined ? undefined : { extensions };
  const policy = policyOf(x, g);
  const now = g.now();
  const may = [...features].filter(
    (feature) => listing(policy, questionAboutFeature(x, { upstream, feature }, now)) === "listed",
  );
  const declared = capabilitiesFor(own, new Set(may));
  return extensions === undefined ? declared : { ...declared, extensions };
}
