import type { Scenario } from "./suite.ts";

/** How the suite's scenarios for authorization servers went. */
export interface AuthorizationJudged {
  readonly passed: number;
  readonly required: number;
  readonly lines: readonly string[];
  readonly good: boolean;
}

/** A scenario passes when something in it succeeded and nothing failed: one that was skipped shows nothing. */
export function authorizationVerdict(scenarios: readonly Scenario[]): AuthorizationJudged {
  const passes = ({ succeeded, failures }: Scenario): boolean => succeeded.length > 0 && failures.length === 0;
  const passed = scenarios.filter(passes).length;
  const lines = scenarios.flatMap((scenario) => [
    `  ${passes(scenario) ? "pass" : "FAIL"} ${scenario.name}`,
    ...scenario.failures.map((failure) => `    ${failure}`),
    ...scenario.warnings.map((warning) => `    warning: ${warning}`),
  ]);
  return { passed, required: scenarios.length, lines, good: scenarios.length > 0 && passed === scenarios.length };
}

export function authorizationLastLine({ passed, required }: AuthorizationJudged): string {
  return `conformance authorization: ${passed}/${required}`;
}
