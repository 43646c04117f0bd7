import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { limits } from "../model/limits.ts";
import type { ConfigFault } from "./fault.ts";
import { readYaml } from "./read-yaml.ts";
import { systemCode } from "./system-code.ts";

/** One policy file, parsed and not yet judged. */
export interface PolicyFile {
  readonly path: string;
  readonly value: unknown;
}

export type ReadPolicies =
  | { readonly ok: true; readonly documents: readonly PolicyFile[] }
  | { readonly ok: false; readonly faults: readonly ConfigFault[] };

/**
 * Reads every `*.yaml` and `*.yml` of a folder, in the order of their names. Cases (`*.cases.yaml`) and
 * entries that begin with a dot (the link that Kubernetes puts beside mounted files) are passed over. A folder
 * within is refused, because a deny in it would silently not count. Never throws. Does not compile.
 */
export function readPolicyFolder(folder: string): ReadPolicies {
  const listed = listFolder(folder);
  if (!listed.ok) return { ok: false, faults: [listed.fault] };
  const read = listed.names.map((name) => readPolicyFile(join(folder, name)));
  const faults = read.flatMap((file) => (file.ok ? [] : file.faults));
  if (faults.length > 0) return { ok: false, faults };
  return { ok: true, documents: read.flatMap((file) => (file.ok ? [file.document] : [])) };
}

type Listed =
  { readonly ok: true; readonly names: readonly string[] } | { readonly ok: false; readonly fault: ConfigFault };

function listFolder(folder: string): Listed {
  try {
    const entries = readdirSync(folder)
      .filter((name) => !name.startsWith("."))
      .sort();
    const within = entries.find((name) => statSync(join(folder, name)).isDirectory());
    if (within !== undefined) return unread(join(folder, within), "a folder", "policies side by side in one folder");
    const names = entries.filter((name) => /\.ya?ml$/iu.test(name) && !/\.cases\.ya?ml$/iu.test(name));
    if (names.length <= limits.policyFilesMax) return { ok: true, names };
    return unread(folder, `${names.length} files`, `at most ${limits.policyFilesMax} files`);
  } catch (error) {
    return unread(folder, `nothing readable (${systemCode(error)})`, "a readable folder of policies");
  }
}

function unread(path: string, found: string, expected: string): { ok: false; fault: ConfigFault } {
  return { ok: false, fault: { path, found, expected, rule: "policiesAreReadable" } };
}

type ReadFile =
  | { readonly ok: true; readonly document: PolicyFile }
  | { readonly ok: false; readonly faults: readonly ConfigFault[] };

function readPolicyFile(path: string): ReadFile {
  try {
    const yaml = readYaml(readFileSync(path, "utf8"), limits.policyFileBytesMax);
    if (yaml.ok) return { ok: true, document: { path, value: yaml.value } };
    return { ok: false, faults: yaml.faults.map((fault) => ({ ...fault, path })) };
  } catch (error) {
    const { fault } = unread(path, `nothing readable (${systemCode(error)})`, "a readable file");
    return { ok: false, faults: [fault] };
  }
}
