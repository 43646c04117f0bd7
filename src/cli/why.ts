import { findByRef } from "../audit/find.ts";
import { systemCode } from "../config/system-code.ts";
import { reportFaults } from "./check.ts";
import { configuredLines, fileLines } from "./evidence-lines.ts";
import { loadFile, type Environment } from "./load-file.ts";
import { shown, type ExitCode, type Output } from "./output.ts";
import { tellStory } from "./story.ts";

/** Where `why` looks for events: a file of them, or where a configuration keeps them. */
export type EvidencePlace = { readonly audit: string } | { readonly config: string };

/**
 * `sallyport why`: what happened to the request that carries a reference. It believes the events as they
 * stand; `sallyport audit verify` is what shows whether they were changed.
 */
export async function why(
  asked: { readonly ref: string; readonly from: EvidencePlace },
  env: Environment,
  output: Output,
): Promise<ExitCode> {
  const lines = linesFrom(asked.from, env, output);
  if (lines === undefined) return 1;
  try {
    const events = await findByRef(lines, asked.ref);
    if (events.length === 0) {
      output.err(shown(`No event carries the reference ${asked.ref}.`));
      return 1;
    }
    for (const line of tellStory(events)) output.out(shown(line));
    return 0;
  } catch (error) {
    output.err(shown(`The events cannot be read (${systemCode(error)}).`));
    return 1;
  }
}

function linesFrom(from: EvidencePlace, env: Environment, output: Output): AsyncIterable<string> | undefined {
  if ("audit" in from) return fileLines(from.audit);
  const read = loadFile(from.config, env);
  if (!read.ok) {
    reportFaults(from.config, read.faults, output);
    return undefined;
  }
  const lines = configuredLines(read.loaded.config);
  if (lines === undefined) output.err("This configuration keeps no events.");
  return lines;
}
