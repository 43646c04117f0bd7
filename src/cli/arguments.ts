import { parseArgs } from "node:util";

/** What the command line asks for. */
export type Command =
  | { readonly command: "serve" | "check" | "verify"; readonly file: string }
  | {
      readonly command: "why";
      readonly ref: string;
      /** A JSON Lines file of evidence, or the configuration that says where evidence is. */
      readonly from: { readonly audit: string } | { readonly config: string };
    }
  | { readonly command: "version" | "help" }
  | { readonly command: "misused"; readonly message: string };

export const usage = `Usage:
  sallyport serve FILE                 start the gateway that FILE configures
  sallyport check FILE                 say what FILE would serve, or all that is wrong with it
  sallyport why REF --audit EVENTS     tell what happened to the request with this reference,
  sallyport why REF --config FILE      from a file of events, or from where FILE keeps them
  sallyport audit verify EVENTS        show whether events were changed, removed or reordered
  sallyport --version
  sallyport --help

Exit codes: 0 done; 1 the answer is no; 2 wrong usage.
`;

/** Reads `process.argv` without its first two entries. Never throws; does not look at files. */
export function readArguments(args: readonly string[]): Command {
  const parsed = parse(args);
  if (typeof parsed === "string") return misused(parsed);
  const { values, positionals } = parsed;
  if (values.help === true) return { command: "help" };
  if (values.version === true) return { command: "version" };
  const [name = "", ...rest] = positionals;
  const reads = new Set(name === "why" ? ["audit", "config"] : []);
  const stray = Object.keys(values).find((option) => !reads.has(option));
  if (stray !== undefined) return misused(`--${stray} does not belong to ${name === "" ? "no command" : name}`);
  return readCommand(name, rest, values);
}

function readCommand(name: string, rest: readonly string[], values: Parsed["values"]): Command {
  switch (name) {
    case "serve":
    case "check":
      return withFile(name, rest);
    case "audit":
      return rest[0] === "verify" ? withFile("verify", rest.slice(1)) : misused("audit knows: verify EVENTS");
    case "why":
      return readWhy(rest, values);
    default:
      return misused(name === "" ? "no command" : `unknown command ${name}`);
  }
}

interface Parsed {
  readonly values: { help?: boolean; version?: boolean; audit?: string; config?: string };
  readonly positionals: readonly string[];
}

/** `parseArgs` throws on what it does not know; its messages name the option. */
function parse(args: readonly string[]): Parsed | string {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      strict: true,
      options: {
        help: { type: "boolean", short: "h" },
        version: { type: "boolean" },
        audit: { type: "string" },
        config: { type: "string", short: "c" },
      },
    });
  } catch (error) {
    return error instanceof Error ? error.message : "unreadable arguments";
  }
}

function withFile(command: "serve" | "check" | "verify", rest: readonly string[]): Command {
  const [file, ...more] = rest;
  if (file === undefined || more.length > 0) return misused(`${command} takes one file`);
  return { command, file };
}

function readWhy(rest: readonly string[], { audit, config }: Parsed["values"]): Command {
  const [ref, ...more] = rest;
  if (ref === undefined || more.length > 0) return misused("why takes one reference");
  if (audit !== undefined && config === undefined) return { command: "why", ref, from: { audit } };
  if (config !== undefined && audit === undefined) return { command: "why", ref, from: { config } };
  return misused("why takes --audit EVENTS or --config FILE, and one of them");
}

function misused(message: string): Command {
  return { command: "misused", message };
}
