import type { Config } from "../config/types.ts";
import { StoreUnavailable } from "../model/records.ts";
import { reportFaults } from "./check.ts";
import { loadFile, type Environment } from "./load-file.ts";
import { shown, type ExitCode, type Output } from "./output.ts";

/** Where a command runs, and how it opens what it works with. */
export interface At<Means> {
  readonly env: Environment;
  readonly output: Output;
  readonly open: (config: Config) => Promise<Means>;
}

/**
 * Carries out a command on the store that a configuration names, and closes what it opened. `named` reads what the
 * command line names against the configuration, or says in words what is wrong with it. A store that is in the memory
 * of the gateway, or does not answer, is said in words as well.
 */
export async function withStore<Means extends { close(): Promise<void> }, Named>(
  file: string,
  { env, output, open }: At<Means>,
  command: {
    readonly named: (config: Config) => Named | string;
    readonly work: (named: Named, means: Means, config: Config) => Promise<ExitCode>;
  },
): Promise<ExitCode> {
  const read = loadFile(file, env);
  if (!read.ok) {
    reportFaults(file, read.faults, output);
    return 1;
  }
  const { config } = read.loaded;
  const named = command.named(config);
  if (typeof named === "string") return no(named, output);
  if (config.store.kind === "memory")
    return no("the store is in the memory of the gateway, which no command reaches; restart it instead", output);
  const means = await open(config);
  try {
    return await command.work(named, means, config);
  } catch (error) {
    if (error instanceof StoreUnavailable) return no("the store does not answer; repeat the command", output);
    throw error;
  } finally {
    await means.close();
  }
}

export function counted(count: number, noun: string): string {
  return count === 1 ? `1 ${noun}` : `${count} ${noun}s`;
}

export function no(because: string, output: Output): ExitCode {
  output.err(shown(`No: ${because}.`));
  return 1;
}
