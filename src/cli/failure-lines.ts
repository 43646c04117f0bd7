import { StartRefused } from "../model/start-refused.ts";
import { scrubForeign } from "../telemetry/scrub.ts";

/** Longest message of a library that is passed on. */
const messageCharsMax = 500;

/**
 * What to say of a failure that ended a command. Our own refusals to start are said in full; a library's
 * message is scrubbed of what looks like a credential, since it may quote a URL or a header.
 */
export function failureLines(error: unknown): readonly string[] {
  if (error instanceof StartRefused) return error.lines;
  if (error instanceof Error) return [`${error.name}: ${scrubForeign(error.message, messageCharsMax)}`];
  return ["unknown failure"];
}
