import { revisionOf, type Era, type Scenario } from "./suite.ts";

/** The suite speaks as a client of one era, and a server of the same or the other stands behind. */
export interface Cell {
  readonly client: Era;
  readonly server: Era;
}

export interface Judged {
  readonly cell: Cell;
  readonly passed: number;
  readonly required: number;
  /** How each scenario went, in words. */
  readonly lines: readonly string[];
  /** Every required scenario passes, or is excepted and does not. */
  readonly good: boolean;
}

interface Measures {
  /** How the server does without the gateway. Where it is given, nothing may be lost on the way. */
  readonly alone?: readonly Scenario[] | undefined;
  /** Scenarios that need not pass, and why. */
  readonly excepted?: ReadonlyMap<string, string> | undefined;
}

/**
 * Judges a run by its required scenarios. The suite passes a scenario in which nothing fails, though all of
 * it be skipped; so a check that succeeds against the server alone must succeed through the gateway too. An
 * exception for a scenario that passes is void and counts against the run, as does one for no scenario.
 */
export function verdictOn(cell: Cell, scenarios: readonly Scenario[], measures: Measures): Judged {
  const excepted = measures.excepted ?? new Map<string, string>();
  const alone = new Map(measures.alone?.map((scenario) => [scenario.name, scenario]));
  const faults = new Map(scenarios.map((scenario) => [scenario.name, faultsOf(scenario, alone.get(scenario.name))]));
  const passes = ({ name }: Scenario): boolean => faults.get(name)?.length === 0;
  const required = scenarios.filter((scenario) => scenario.required);
  const unknown = [...excepted.keys()].filter((name) => !required.some((scenario) => scenario.name === name));
  return {
    cell,
    passed: required.filter(passes).length,
    required: required.length,
    lines: [
      ...scenarios.flatMap((scenario) =>
        linesOf(scenario, faults.get(scenario.name) ?? [], excepted.get(scenario.name)),
      ),
      ...unknown.map((name) => `  FAIL ${name} is excepted, and there is no such required scenario`),
      ...(excepted.size > 0 ? [`  ${excepted.size} excepted in docs/compatibility.md`] : []),
    ],
    good:
      unknown.length === 0 &&
      required.length > 0 &&
      required.every((scenario) => passes(scenario) !== excepted.has(scenario.name)),
  };
}

function faultsOf(scenario: Scenario, alone: Scenario | undefined): readonly string[] {
  const lost = (alone?.succeeded ?? []).filter((check) => !scenario.succeeded.includes(check));
  const told = new Set(scenario.failures.map((failure) => failure.split(":", 1)[0]));
  const silent = [...new Set(lost)].filter((check) => !told.has(check.split(" ", 1)[0]));
  return [...scenario.failures, ...silent.map((check) => `${check}: succeeds without the gateway`)];
}

function linesOf(scenario: Scenario, faults: readonly string[], exception: string | undefined): readonly string[] {
  const passed = faults.length === 0;
  const kind = scenario.required ? "" : " (not required)";
  const excuse =
    exception === undefined ? "" : passed ? " passes, so its exception is void" : ` (excepted: ${exception})`;
  const notes = [...faults, ...scenario.warnings.map((warning) => `(warning) ${warning}`)];
  return [`  ${passed ? "pass" : "FAIL"} ${scenario.name}${kind}${excuse}`, ...notes.map((note) => `         ${note}`)];
}

/** The revision and both eras of a cell. */
export function nameOf(cell: Cell): string {
  return `${revisionOf[cell.client]} ${cell.client}/${cell.server}`;
}

export function lastLine({ cell, passed, required }: Judged): string {
  return `conformance: ${nameOf(cell)} ${passed}/${required}`;
}
