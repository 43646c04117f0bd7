import { readFileSync, statSync } from "node:fs";
import type { ConfigFault } from "../config/fault.ts";
import { readYaml } from "../config/read-yaml.ts";
import { systemCode } from "../config/system-code.ts";
import { limits } from "../model/limits.ts";
import type { PolicyFault } from "../policy/language.ts";
import type { Place } from "../policy/read-fields.ts";
import { reportFaults } from "./check.ts";
import { asConfigFault } from "./load-policies.ts";
import type { Output } from "./output.ts";

/**
 * What a reader makes of a YAML or JSON file that a command names; undefined once everything that is wrong with the
 * file is reported.
 */
export function readValueFile<T>(
  path: string,
  reader: (place: Place, value: unknown) => T,
  output: Output,
): T | undefined {
  const read = readFile(path);
  if (!read.ok) {
    reportFaults(path, read.faults, output);
    return undefined;
  }
  const faults: PolicyFault[] = [];
  const value = reader({ notes: { file: path, faults, warnings: [] }, pointer: "" }, read.value);
  if (faults.length === 0) return value;
  reportFaults(path, faults.map(asConfigFault), output);
  return undefined;
}

type ReadFile =
  { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly faults: readonly ConfigFault[] };

/** A YAML file as its value. Never throws. */
export function readFile(path: string): ReadFile {
  try {
    const { size } = statSync(path);
    const bytesMax = limits.policyFileBytesMax;
    if (size > bytesMax) return { ok: false, faults: [unread(path, `${size} bytes`, `at most ${bytesMax} bytes`)] };
    const yaml = readYaml(readFileSync(path, "utf8"), bytesMax);
    return yaml.ok ? yaml : { ok: false, faults: yaml.faults.map((fault) => ({ ...fault, path })) };
  } catch (error) {
    return { ok: false, faults: [unread(path, `nothing readable (${systemCode(error)})`, "a readable file")] };
  }
}

function unread(path: string, found: string, expected: string): ConfigFault {
  return { path, found, expected, rule: "fileIsReadable" };
}

/** Whether a name is that of a file; whatever cannot be looked at is none. */
export function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}
