import type { ConfigFault } from "../config/fault.ts";
import { loadFile, type Environment, type LoadedFile } from "./load-file.ts";
import { shown, type ExitCode, type Output } from "./output.ts";
import { summary } from "./summary.ts";

/** `sallyport check`: everything that is wrong on standard error, or what would be served on standard output. */
export function check(file: string, env: Environment, output: Output): ExitCode {
  const read = loadFile(file, env);
  if (!read.ok) {
    reportFaults(file, read.faults, output);
    return 1;
  }
  for (const line of summary(read)) output.out(shown(line));
  reportWarnings(read, output);
  return 0;
}

/** Each fault with its place, what stands there and what should. Secrets are masked where faults are made. */
export function reportFaults(file: string, faults: readonly ConfigFault[], output: Output): void {
  const count = faults.length === 1 ? "1 fault" : `${faults.length} faults`;
  output.err(shown(`${file}: ${count}`));
  for (const fault of faults) report(fault, output);
}

export function reportWarnings({ warnings }: LoadedFile, output: Output): void {
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
