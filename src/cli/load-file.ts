import { readFileSync, statSync } from "node:fs";
import { resolve } from "node:path";
import type { Lock } from "../catalog/lock/lock.ts";
import type { ConfigFault } from "../config/fault.ts";
import { loadConfig, type LoadedConfig, type RefusedConfig } from "../config/load.ts";
import { systemCode } from "../config/system-code.ts";
import { limits } from "../model/limits.ts";
import type { Policy } from "../policy/compile.ts";
import type { PolicyDocument } from "../policy/language.ts";
import { loadPolicies } from "./load-policies.ts";
import { loadPresentations } from "./load-presentations.ts";

/** Everything a start needs, proven to load. */
export interface LoadedFile {
  readonly ok: true;
  readonly loaded: LoadedConfig;
  readonly policy: Policy;
  /** Undefined where none is configured. */
  readonly lock: Lock | undefined;
  /** What the policy was compiled from. */
  readonly documents: readonly PolicyDocument[];
  readonly policyFiles: number;
  /** Folders of owners within the folder of policies. */
  readonly policyOwners: readonly string[];
  readonly warnings: readonly ConfigFault[];
}

export type ReadConfigFile = LoadedFile | { readonly ok: false; readonly faults: readonly ConfigFault[] };

export type Environment = (name: string) => string | undefined;

/**
 * Reads a configuration file with its secrets and policies. Never throws. The policies are read only once the
 * configuration holds, since they name its servers, upstreams and issuers.
 */
export function loadFile(file: string, env: Environment): ReadConfigFile {
  const loaded = loadConfigFile(file, env);
  if (!loaded.ok) return loaded;
  const policies = loadPolicies(loaded.config);
  if (!policies.ok) return policies;
  const presentations = loadPresentations(loaded.config);
  if (!presentations.ok) return presentations;
  const { policy, lock, documents, files: policyFiles, owners: policyOwners } = policies;
  return {
    ok: true,
    loaded,
    policy,
    lock,
    documents,
    policyFiles,
    policyOwners,
    warnings: [...loaded.warnings, ...policies.warnings, ...presentations.warnings],
  };
}

/** The same without the policies: whoever starts a gateway has a way out when those are broken. Never throws. */
export function loadConfigFile(file: string, env: Environment): LoadedConfig | RefusedConfig {
  const path = resolve(file);
  const text = readText(path);
  if (typeof text !== "string") return { ok: false, faults: [text] };
  return loadConfig({ text, path, env, readFile: readSecretFile });
}

function readText(path: string): string | ConfigFault {
  try {
    return readBounded(path, limits.configurationBytesMax);
  } catch (error) {
    const found = `nothing readable (${systemCode(error)})`;
    return { path, found, expected: "a readable configuration file", rule: "configurationIsReadable" };
  }
}

function readSecretFile(path: string): string {
  return readBounded(path, limits.secretBytesMax);
}

/** A device or pipe has no size to judge by, and never ends: regular files only. */
function readBounded(path: string, bytesMax: number): string {
  const status = statSync(path);
  if (!status.isFile()) throw Object.assign(new Error("not a regular file"), { code: "not a regular file" });
  if (status.size > bytesMax) throw Object.assign(new Error("too large"), { code: `over ${bytesMax} bytes` });
  return readFileSync(path, "utf8");
}
