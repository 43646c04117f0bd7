import { destination as pinoDestination, pino } from "pino";
import type { DestinationStream } from "pino";
import { limits } from "../model/limits.ts";
import { describeError } from "./describe-error.ts";
import { isSecretName, redacted, scrub } from "./scrub.ts";

export type LogLevel = "fatal" | "error" | "warn" | "info" | "debug" | "trace";

/**
 * What happened, and flat facts about it. An event is a fixed name in lower case, `gateway.started`,
 * never built from data. A fact is a text, a number, a boolean or a list of texts; of anything else only
 * its type is written, so rooms whose port says `unknown` can be joined to this as they are.
 */
export type LogFacts = Readonly<Record<string, unknown>>;

/** One line of log. The error goes last; what of it is kept, `describeError` says. */
export type LogLine = (event: string, facts?: LogFacts, error?: unknown) => void;

export interface Log {
  readonly fatal: LogLine;
  readonly error: LogLine;
  readonly warn: LogLine;
  readonly info: LogLine;
  readonly debug: LogLine;
  /** Writes what is buffered, synchronously. Before the process ends. */
  flush(): void;
}

export interface LogOptions {
  readonly level: LogLevel;
  /** Default: standard output, buffered up to `limits.logBufferBytesMax`; beyond it lines are dropped. */
  readonly destination?: DestinationStream;
  readonly textCharsMax?: number;
}

/**
 * The gateway's own log: JSON lines for operators. It is not the evidence; see `audit/`.
 *
 * An object never ends up in it, so a request, a header map or a record cannot by accident. Texts are
 * scrubbed and cut all the same, and a fact whose name says secret is replaced.
 */
export function createLog(options: LogOptions): Log {
  const { level, textCharsMax = limits.logTextCharsMax } = options;
  const standard =
    options.destination === undefined
      ? pinoDestination({ dest: 1, sync: false, minLength: 0, maxLength: limits.logBufferBytesMax })
      : undefined;
  const sink = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    options.destination ?? standard,
  );

  const at =
    (severity: Exclude<LogLevel, "trace">): LogLine =>
    (event, facts = {}, error) => {
      if (!sink.isLevelEnabled(severity)) return;
      const cause = error === undefined ? {} : { error: describeError(error, textCharsMax) };
      sink[severity]({
        event: eventName.test(event) ? event : "log.event-unnamed",
        ...cleanFacts(facts, textCharsMax),
        ...cause,
      });
    };

  return {
    fatal: at("fatal"),
    error: at("error"),
    warn: at("warn"),
    info: at("info"),
    debug: at("debug"),
    flush: () => standard?.flushSync(),
  };
}

const eventName = /^[a-z\d][a-z\d.-]{0,99}$/u;
/** Names that a line has itself; a fact of that name is moved out of the way. */
const ownNames: ReadonlySet<string> = new Set(["event", "level", "time", "error", "msg"]);
const listItemsMax = 100;

function cleanFacts(facts: LogFacts, charsMax: number): Record<string, unknown> {
  const cleaned: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(facts)) {
    if (value === undefined) continue;
    cleaned[ownNames.has(name) ? `fact.${name}` : name] = isSecretName(name) ? redacted : cleanValue(value, charsMax);
  }
  return cleaned;
}

function cleanValue(value: unknown, charsMax: number): unknown {
  if (typeof value === "string") return scrub(value, charsMax);
  if (typeof value === "number" || typeof value === "boolean") return value;
  if (!Array.isArray(value)) return `[${typeof value}]`;
  return value
    .slice(0, listItemsMax)
    .map((item: unknown) => (typeof item === "string" ? scrub(item, charsMax) : `[${typeof item}]`));
}
