import { createHash } from "node:crypto";
import { limits } from "../model/limits.ts";
import { checkStructure } from "./check-structure.ts";
import { placed, type ConfigFault, type Place, type PlacedFault } from "./fault.ts";
import { fill } from "./fill.ts";
import { freeze } from "./freeze.ts";
import { readYaml } from "./read-yaml.ts";
import { rawRules, rules, warningRules } from "./rules.ts";
import { createSecretReader } from "./secret-reader.ts";
import type { Config } from "./types.ts";

/** Where a configuration comes from. Reading is the caller's, so that a test needs no file. */
export interface ConfigSource {
  readonly text: string;
  /** Absolute path of the file; relative paths in it start from its folder. */
  readonly path: string;
  readonly env: (name: string) => string | undefined;
  /** The text of a secret's file; throws when it cannot be read. */
  readonly readFile: (path: string) => string;
}

export interface LoadedConfig {
  readonly ok: true;
  readonly config: Config;
  /** SHA-256 (hex) of the configuration in force; secrets do not enter into it, so it may be published. */
  readonly digest: string;
  readonly warnings: readonly ConfigFault[];
}

export interface RefusedConfig {
  readonly ok: false;
  readonly faults: readonly ConfigFault[];
}

/**
 * Reads a configuration and says everything that is wrong with it at once. Never throws. Unknown keys do
 * not hide what else is wrong, nor do wrong values that may be absent; the rules wait for the others.
 *
 * Not checked: whether an address answers, whether an issuer or upstream is what it says, and whether the
 * policies compile (`cli/check.ts` does that).
 */
export function loadConfig(source: ConfigSource): LoadedConfig | RefusedConfig {
  const yaml = readYaml(source.text, limits.configurationBytesMax);
  if (!yaml.ok) return yaml;
  const structure = checkStructure(yaml.value);
  if (structure.raw === undefined) return refused(structure.faults, yaml.lineOf);
  const raw = structure.raw;
  const secrets = createSecretReader(source);
  const config = freeze(fill(raw, source.path, secrets));
  const broken = [...rawRules.flatMap((rule) => rule(raw)), ...rules.flatMap((rule) => rule(config))];
  const faults = [
    ...structure.faults,
    ...secrets.faults(),
    ...broken.filter(({ place }) => !structure.removed.some((removed) => touches(place, removed))),
  ];
  if (faults.length > 0) return refused(faults, yaml.lineOf);
  const warnings = warningRules.flatMap((rule) => rule(config));
  return { ok: true, config, digest: digestOf(config), warnings: warnings.map((fault) => placed(fault, yaml.lineOf)) };
}

/** Whether one place lies within the other. */
function touches(place: Place, other: Place): boolean {
  const shorter = place.length < other.length ? place : other;
  return shorter.every((part, index) => part === place[index] && part === other[index]);
}

function refused(faults: readonly PlacedFault[], lineOf: (place: Place) => number | undefined): RefusedConfig {
  const max = limits.configurationFaultsMax;
  const told = faults
    .slice(0, max)
    .map((fault) => placed(fault, lineOf))
    .sort((one, other) => (one.line ?? 0) - (other.line ?? 0));
  if (faults.length <= max) return { ok: false, faults: told };
  const rest = { path: "", found: `${faults.length - max} more faults`, expected: "none", rule: "tooManyFaults" };
  return { ok: false, faults: [...told, rest] };
}

/** `JSON.stringify` masks secrets, and `fill` always writes keys in one order; only names from the file vary. */
function digestOf(config: Config): string {
  return createHash("sha256").update(JSON.stringify(config)).digest("hex");
}
