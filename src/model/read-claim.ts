import { isJsonObject, readOwn } from "./json.ts";
import type { Json, JsonObject } from "./json.ts";

/** The claim under a configured name: a JSON pointer when it begins with `/`, else the name itself. */
export function readClaim(claims: JsonObject, name: string): Json | undefined {
  if (!name.startsWith("/")) return readOwn(claims, name);
  const steps = name.slice(1).split("/");
  return steps.reduce<Json | undefined>(
    (at, step) => readStep(at, step.replaceAll("~1", "/").replaceAll("~0", "~")),
    claims,
  );
}

function readStep(value: Json | undefined, step: string): Json | undefined {
  return isJsonObject(value) ? readOwn(value, step) : undefined;
}
