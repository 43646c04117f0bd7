import { clientFeatures, type AskedKinds, type ClientFeature } from "../model/client-feature.ts";
import type { Json } from "../model/json.ts";

/** What was asked, as a value that is kept until its answers come: pairs of key and feature. */
export function writeAskedKinds(asked: AskedKinds): Json {
  return [...asked].map(([key, feature]) => [key, feature]);
}

/** What `writeAskedKinds` wrote; undefined for anything else. */
export function readAskedKinds(value: Json | undefined): AskedKinds | undefined {
  if (!Array.isArray(value)) return undefined;
  const asked = new Map<string, ClientFeature>();
  for (const pair of value) {
    const [key, name] = Array.isArray(pair) ? pair : [];
    const feature = clientFeatures.find((known) => known === name);
    if (typeof key !== "string" || feature === undefined) return undefined;
    asked.set(key, feature);
  }
  return asked;
}
