import { scrubForeign } from "./scrub.ts";

/** Causes that are followed below the first error. */
const causesMax = 4;
const framesMax = 12;

export interface DescribedError {
  readonly name: string;
  /** The `code` of Node's and undici's errors, such as `ECONNREFUSED`. */
  readonly code?: string;
  readonly message: string;
  /** Frames in code of our own; the text above the frames repeats the message unscrubbed and is dropped. */
  readonly stack?: readonly string[];
  readonly cause?: DescribedError;
}

/**
 * An error as the log may hold it: name, code, scrubbed message, own frames, and the same of its causes.
 * All else is dropped, as libraries hang requests, headers and commands with their arguments on errors.
 */
export function describeError(error: unknown, charsMax: number, depth = 0): DescribedError {
  if (!(error instanceof Error)) return { name: "not an Error", message: typeof error };
  const code: unknown = "code" in error ? error.code : undefined;
  const frames = ownFrames(error.stack ?? "");
  return {
    name: scrubForeign(error.name, 100),
    ...(typeof code === "string" ? { code: scrubForeign(code, 100) } : {}),
    message: scrubForeign(error.message, charsMax),
    ...(frames.length === 0 ? {} : { stack: frames }),
    ...(error.cause === undefined || depth >= causesMax
      ? {}
      : { cause: describeError(error.cause, charsMax, depth + 1) }),
  };
}

function ownFrames(stack: string): string[] {
  return stack
    .split("\n")
    .filter((line) => /^\s{4}at .*\/(?:src|dist)\/[\w./-]+:\d+:\d+\)?$/u.test(line) && !line.includes("/node_modules/"))
    .slice(0, framesMax)
    .map((line) => line.trim().slice(0, 300));
}
