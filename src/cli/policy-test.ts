import type { Lock } from "../catalog/lock/lock.ts";
import { casesBeside } from "../config/policy-cases.ts";
import { readCases, type Case } from "../policy/read-cases.ts";
import { runCases, type CaseResult, type CasesRun } from "../policy/run-cases.ts";
import { reportFaults } from "./check.ts";
import { explanationLines } from "./explanation-lines.ts";
import { asConfigFault } from "./load-policies.ts";
import { jsonOut, shown, type ExitCode, type Output } from "./output.ts";
import { openPolicies, type PolicyBundle } from "./policy-bundle.ts";
import { withLockedDigest } from "./policy-items.ts";
import type { OrderTo, PolicyDesk } from "./policy.ts";
import { readFile } from "./read-value.ts";

/** How much of an explanation stands under a case that fails: the decision and what is nearest to it. */
const explainedLinesMax = 6;

/**
 * `sallyport policy test`: 0 when every case holds, 1 when one does not, or cannot be read. What no case is about is a
 * warning, and with `--require-coverage` a failure.
 */
export function policyTest(order: OrderTo<"test">, { config, output }: PolicyDesk): ExitCode {
  const bundle = openPolicies(config, order.policies, output);
  if (bundle === undefined) return 1;
  const { found, without } = casesBeside(bundle.loaded.documents.map(({ path }) => path));
  const read = found.map((file) => casesOf(file, bundle, output));
  const cases = read.filter((one) => one !== undefined).flat();
  if (read.includes(undefined)) return 1;
  const run = runCases(bundle.policy, bundle.sources, cases);
  const failed = run.results.filter(({ differences }) => differences.length > 0);
  const gaps = [
    ...without.map((file) => `${file} has no cases`),
    ...run.unexercised.map(({ id, path }) => `no case is decided by ${id} (${path})`),
  ];
  if (order.json) output.out(jsonOut(asJson(run, without)));
  else report(run, failed, output);
  for (const gap of gaps) output.err(shown(gap));
  return failed.length > 0 || (order.requireCoverage && gaps.length > 0) ? 1 : 0;
}

function casesOf(file: string, { names, lock }: PolicyBundle, output: Output): readonly Case[] | undefined {
  const value = readFile(file);
  if (!value.ok) {
    reportFaults(file, value.faults, output);
    return undefined;
  }
  const read = readCases({ path: file, value: value.value }, names);
  if (read.ok) return read.cases.map((one) => underLock(one, lock));
  reportFaults(file, read.faults.map(asConfigFault), output);
  return undefined;
}

function underLock(one: Case, lock: Lock | undefined): Case {
  const { question } = one;
  const { item } = question;
  return item === undefined ? one : { ...one, question: { ...question, item: withLockedDigest(lock, item) } };
}

function report({ results }: CasesRun, failed: readonly CaseResult[], output: Output): void {
  for (const { case: one, differences, explanation } of failed) {
    output.out(shown(`not so: ${one.name} (${one.path})`));
    for (const { field, expected, found } of differences)
      output.out(shown(`  ${field}: expected ${expected}, found ${found}`));
    for (const line of explanationLines(explanation).slice(0, explainedLinesMax)) output.out(shown(`    ${line}`));
  }
  const held = results.length - failed.length;
  output.out(`${held} of ${results.length} cases hold`);
}

function asJson({ results, unexercised }: CasesRun, without: readonly string[]): unknown {
  return {
    cases: results.map(({ case: { name, path }, differences }) => ({ case: name, path, differences })),
    unexercised: unexercised.map(({ id, path }) => ({ rule: id, path })),
    withoutCases: without,
  };
}
