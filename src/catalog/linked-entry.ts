import type { JsonObject } from "../model/json.ts";
import { digestOf } from "../protocol/json/canonical.ts";
import { shape, type UpstreamPart } from "./shape.ts";
import { toEntry, type Entry } from "./table.ts";

/**
 * The entry of a resource that an upstream names in a result and need not list: what the entry of a listed one would
 * be, as far as the URI tells. Undefined when the server leaves such a URI out (`include`, `hide`).
 */
export function linkedEntry(part: UpstreamPart, uri: string): Entry | undefined {
  const definition: JsonObject = { uri, name: uri };
  const identity = { upstream: part.upstream, kind: "resource", name: uri } as const;
  const item = {
    ...identity,
    definition,
    digest: digestOf(definition),
    shown: definition,
    findings: [],
    withheld: undefined,
  };
  const exposed = shape(part, item);
  return exposed === undefined ? undefined : toEntry(part, item, exposed);
}
