import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Values } from "./fixture-item.ts";
import {
  readChecks,
  revisionOf,
  runSuiteCommand,
  scenarioOf,
  type Era,
  type Requirement,
  type Scenario,
} from "./suite.ts";

/**
 * Whether a gateway stands between the client and the server that the suite plays, or the gateway's engine for
 * users' own grants is the client.
 */
export type Way = "through" | "alone" | "signing-in";

/** What the command prints last when all answers were the expected ones. */
export const drivenMark = "driven to the end";

/** The era of a revision that the suite names to its command. */
export function eraOf(revision: string): Era {
  const era = (["legacy", "modern"] as const).find((each) => revisionOf[each] === revision);
  if (era === undefined) throw new Error(`No era speaks ${JSON.stringify(revision)}`);
  return era;
}

/**
 * Runs these scenarios, the suite as a server of this era and our command as its client. One by one, since the
 * suite's own way to run what a revision requires runs all at once, sign-in included.
 */
export async function runClientSuite(
  era: Era,
  way: Way,
  requirements: readonly Requirement[],
): Promise<readonly Scenario[]> {
  const scenarios: Scenario[] = [];
  for (const requirement of requirements) scenarios.push(await runScenario(era, way, requirement));
  return scenarios;
}

async function runScenario(era: Era, way: Way, requirement: Requirement): Promise<Scenario> {
  const output = mkdtempSync(join(tmpdir(), "sallyport-conformance-client-"));
  try {
    // Extensions belong to no revision, so for one of them the suite wants to be told twice.
    const forced = requirement.required ? [] : ["--force"];
    const named = ["--scenario", requirement.name, "--spec-version", revisionOf[era], ...forced];
    await runSuiteCommand(["client", "--command", commandFor(way), ...named, "-o", output], output);
    const results = readdirSync(output, { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith("checks.json"))
      .map((path) => join(output, path, ".."));
    const [folder] = results;
    if (folder === undefined || results.length > 1) return scenarioOf(requirement, []);
    return clientScenarioOf(requirement, readChecks(folder), {
      stdout: readText(join(folder, "stdout.txt")),
      stderr: readText(join(folder, "stderr.txt")),
    });
  } finally {
    rmSync(output, { recursive: true, force: true });
  }
}

/** The suite hands this to a shell, with the URL of its server at the end. */
function commandFor(way: Way): string {
  const command =
    way === "signing-in" ? import.meta.resolve("./client-auth-command.ts") : import.meta.resolve("./client-command.ts");
  const words = [process.execPath, "--import", import.meta.resolve("tsx"), fileURLToPath(command)];
  return [...words, ...(way === "signing-in" ? [] : [way])].map((word) => `'${word}'`).join(" ");
}

function readText(path: string): string {
  return existsSync(path) ? readFileSync(path, "utf8") : "";
}

/**
 * Judges as the suite does for a client: what it warns of counts as failed, and so does a command that did
 * not get to its end, which leaves no trace in the checks.
 */
export function clientScenarioOf(
  requirement: Requirement,
  checks: readonly Values[],
  output: { readonly stdout: string; readonly stderr: string },
): Scenario {
  const scenario = scenarioOf(requirement, checks);
  const ended = output.stdout.trimEnd().endsWith(drivenMark);
  const last = output.stderr.trimEnd().split("\n").at(-1);
  return {
    ...scenario,
    failures: [...scenario.failures, ...scenario.warnings, ...(ended ? [] : [`command: ended early. ${last ?? ""}`])],
    warnings: [],
  };
}
