import { parseArgs, type ParseArgsConfig } from "node:util";

type Options = NonNullable<ParseArgsConfig["options"]>;

interface Strictly<Known extends Options> {
  readonly args: string[];
  readonly allowPositionals: true;
  readonly strict: true;
  readonly options: Known;
}

/** Reads a command line; what is wrong with it, where something is. `parseArgs` throws on what it does not know, and names the option. */
export function parseOptions<const Known extends Options>(
  args: readonly string[],
  options: Known,
): ReturnType<typeof parseArgs<Strictly<Known>>> | string {
  try {
    return parseArgs({ args: [...args], allowPositionals: true, strict: true, options });
  } catch (error) {
    return error instanceof Error ? error.message : "unreadable arguments";
  }
}
