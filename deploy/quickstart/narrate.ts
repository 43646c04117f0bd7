import { isDeepStrictEqual } from "node:util";
import { shown } from "../../src/cli/output.ts";

/** A step whose outcome is not the one the story tells. */
export class StepDiffers extends Error {
  override readonly name = "StepDiffers";
}

/** Tells the story, and holds it to what happens. */
export interface Narrator {
  heading(title: string): void;
  /** One line; what a terminal would act on or hide is escaped. */
  say(line: string): void;
  /** Lines of evidence, set apart. */
  quote(lines: readonly string[]): void;
  /** Says that something holds, or throws `StepDiffers` when it does not. */
  holds(what: string, found: unknown, expected: unknown): void;
}

export function createNarrator(write: (text: string) => void): Narrator {
  let chapter = 0;
  let title = "";
  return {
    heading: (next) => {
      chapter += 1;
      title = next;
      write(`\n${String(chapter)}. ${next}\n\n`);
    },
    say: (line) => {
      write(`   ${shown(line)}\n`);
    },
    quote: (lines) => {
      for (const line of lines) write(`   | ${shown(line)}\n`);
    },
    holds: (what, found, expected) => {
      if (!isDeepStrictEqual(found, expected))
        throw new StepDiffers(`${title}: ${what}: found ${textOf(found)}, expected ${textOf(expected)}`);
      write(`   ok: ${shown(what)}\n`);
    },
  };
}

function textOf(value: unknown): string {
  return value === undefined ? "nothing" : shown(JSON.stringify(value));
}
