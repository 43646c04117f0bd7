import type { ConfigFault } from "../config/fault.ts";
import { costLines, isOpen, isOver, type MeasureCosts } from "./budget.ts";
import { loadFile, type Environment, type LoadedFile } from "./load-file.ts";
import { asWarning, lintFindings } from "./lint-findings.ts";
import { shown, type ExitCode, type Output } from "./output.ts";
import { summary } from "./summary.ts";

/** What `sallyport check` is asked. */
export interface CheckOrder {
  readonly file: string;
  /** What every server takes of a model's context is asked too, and an answer that cannot be had is a no. */
  readonly budget: boolean;
  /** Upstreams may be read for that. */
  readonly live: boolean;
}

export interface CheckRim {
  readonly env: Environment;
  readonly output: Output;
  readonly measure: MeasureCosts;
}

/**
 * `sallyport check`: everything that is wrong on standard error, or what would be served on standard output. A server
 * that takes more of a model's context than its budget is wrong too.
 */
export async function check(order: CheckOrder, { env, output, measure }: CheckRim): Promise<ExitCode> {
  const read = loadFile(order.file, env);
  if (!read.ok) {
    reportFaults(order.file, read.faults, output);
    return 1;
  }
  for (const line of summary(read)) output.out(shown(line));
  const isWithin = await reportCosts(order, read, { output, measure });
  const doubts = lintFindings(read.loaded.config, read).map(asWarning);
  reportWarnings({ warnings: [...read.warnings, ...doubts] }, output);
  return isWithin ? 0 : 1;
}

/** Nothing is measured where nobody set a budget and nobody asks. */
async function reportCosts(
  { budget, live }: CheckOrder,
  read: LoadedFile,
  { output, measure }: Pick<CheckRim, "output" | "measure">,
): Promise<boolean> {
  const isSet = Object.values(read.loaded.config.servers).some((server) => server.budget !== undefined);
  if (!budget && !isSet) return true;
  const measured = await measure(read, { live, all: budget });
  if ("faults" in measured) {
    for (const fault of measured.faults) output.err(shown(fault));
    return false;
  }
  const { costs } = measured;
  for (const line of ["", ...costLines(costs, budget)]) output.out(shown(line));
  for (const { server } of costs.filter(isOver)) output.err(shown(`servers.${server} is over its budget.`));
  return !costs.some((cost) => isOver(cost) || (budget && isOpen(cost)));
}

/** Each fault with its place, what stands there and what should. Secrets are masked where faults are made. */
export function reportFaults(file: string, faults: readonly ConfigFault[], output: Output): void {
  const count = faults.length === 1 ? "1 fault" : `${faults.length} faults`;
  output.err(shown(`${file}: ${count}`));
  for (const fault of faults) report(fault, output);
}

export function reportWarnings({ warnings }: Pick<LoadedFile, "warnings">, output: Output): void {
  if (warnings.length === 0) return;
  output.err(warnings.length === 1 ? "1 warning" : `${warnings.length} warnings`);
  for (const warning of warnings) report(warning, output);
}

function report({ path, line, found, expected, rule }: ConfigFault, output: Output): void {
  const where = [path === "" ? "the file" : path, line === undefined ? "" : ` (line ${line})`].join("");
  output.err(shown(`  ${where}  [${rule}]`));
  output.err(shown(`    found:    ${found}`));
  output.err(shown(`    expected: ${expected}`));
}
