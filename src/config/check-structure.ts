import { Ajv2020 } from "ajv/dist/2020.js";
import type { ErrorObject, ValidateFunction } from "ajv/dist/2020.js";
import type { Place, PlacedFault } from "./fault.ts";
import type { RawConfig } from "./raw.ts";
import { configSchema } from "./schema.ts";
import { structureFault } from "./structure-fault.ts";

/**
 * `configSchema` compiled once. All errors are collected; nothing is coerced or filled in. `verbose` gives each
 * error the schema and value it is about, from which faults in our own words are made.
 */
const holds: ValidateFunction<RawConfig> = new Ajv2020({
  allErrors: true,
  verbose: true,
  strict: true,
  allowUnionTypes: true,
  discriminator: true,
  ownProperties: true,
}).compile<RawConfig>(configSchema);

export interface Structure {
  /** The configuration as typed, without what is at `removed`; undefined when its form is too wrong for that. */
  readonly raw: RawConfig | undefined;
  readonly faults: readonly PlacedFault[];
  readonly removed: readonly Place[];
}

/**
 * Holds a value to the schema. What has a fault and may be absent is taken out of the value, so that the
 * cross-field rules can still say what else is wrong, of everything but the places that were taken out.
 */
export function checkStructure(value: unknown): Structure {
  if (holds(value)) return { raw: value, faults: [], removed: [] };
  const errors = (holds.errors ?? []).map((error) => ({ error, place: placeOf(error.instancePath, value) }));
  const faults = errors.flatMap(({ error, place }) => structureFault(error, place));
  const removed = errors.map(({ error, place }) => placeToRemove(error, place));
  for (const place of removed) remove(value, place);
  return { raw: holds(value) ? value : undefined, faults, removed };
}

function placeToRemove(error: ErrorObject, place: Place): Place {
  const key: unknown = error.params["additionalProperty"] ?? error.params["propertyName"];
  return typeof key === "string" ? [...place, key] : place;
}

/**
 * Removes one key. Not items of lists, whose later indices would move; not whole upstreams and servers,
 * since others name them, and would be blamed for it.
 */
function remove(root: unknown, place: Place): void {
  const key = place.at(-1);
  const named = place.length === 2 && (place[0] === "upstreams" || place[0] === "servers");
  if (typeof key !== "string" || named) return;
  let parent = root;
  for (const part of place.slice(0, -1)) parent = memberOf(parent, part);
  if (typeof parent === "object" && parent !== null) Reflect.deleteProperty(parent, key);
}

function memberOf(value: unknown, key: string | number): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, key) ? Reflect.get(value, key) : undefined;
}

/** An RFC 6901 pointer as a place; a part is an index where the value it leads into is a list. */
function placeOf(pointer: string, value: unknown): Place {
  let at = value;
  return pointer
    .split("/")
    .slice(1)
    .map((part) => {
      const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
      const inList = Array.isArray(at);
      at = memberOf(at, key);
      return inList ? Number(key) : key;
    });
}
