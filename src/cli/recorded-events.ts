import { readEvent } from "../audit/read-event.ts";
import { systemCode } from "../config/system-code.ts";
import type { Config } from "../config/types.ts";
import type { JsonObject } from "../model/json.ts";
import { fileLines, redisSinkLines } from "./evidence-lines.ts";
import { shown, type Output } from "./output.ts";
import type { RecordedPlace } from "./policy-arguments.ts";

/**
 * Hands every event of a place of evidence to `take`, in the order of the place. Lines that are no whole event are
 * passed over; the chain is not verified. False, once said, where the place cannot be read.
 */
export async function eachEvent(
  place: RecordedPlace,
  { config, output }: { readonly config: Config; readonly output: Output },
  take: (event: JsonObject) => void,
): Promise<boolean> {
  const lines = place === "redis" ? redisSinkLines(config) : fileLines(place.audit);
  if (lines === undefined) {
    output.err("This configuration keeps no events in Redis: say --audit EVENTS.");
    return false;
  }
  try {
    for await (const line of lines) {
      const read = readEvent(line);
      if (read !== undefined) take(read.event);
    }
    return true;
  } catch (error) {
    output.err(shown(`The events cannot be read (${systemCode(error)}).`));
    return false;
  }
}
