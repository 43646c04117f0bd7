import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { limits } from "../model/limits.ts";
import type { ConfigFault } from "./fault.ts";
import { readYaml } from "./read-yaml.ts";
import { systemCode } from "./system-code.ts";

/** One policy file as it was read. */
export interface PolicyText {
  readonly path: string;
  readonly text: string;
  /** The folder within the folder of policies that it stands in; undefined: it stands in none. */
  readonly owner: string | undefined;
}

/** One policy file, parsed and not yet judged. */
export interface PolicyFile {
  readonly path: string;
  readonly value: unknown;
  readonly owner: string | undefined;
}

export type ReadTexts =
  | { readonly ok: true; readonly texts: readonly PolicyText[] }
  | { readonly ok: false; readonly faults: readonly ConfigFault[] };

export type ReadPolicies =
  | { readonly ok: true; readonly documents: readonly PolicyFile[] }
  | { readonly ok: false; readonly faults: readonly ConfigFault[] };

/**
 * Reads every `*.yaml` and `*.yml` of a folder and of the folders in it, each of which is an owner's, in the order of
 * their names. Cases (`*.cases.yaml`) and entries that begin with a dot (the link that Kubernetes puts beside mounted
 * files) are passed over. A folder within an owner's is refused, because a deny in it would silently not count. Never
 * throws. Does not parse.
 */
export function readPolicyTexts(folder: string): ReadTexts {
  const listed = listFolder(folder);
  if (!listed.ok) return { ok: false, faults: [listed.fault] };
  const read = listed.files.map((file) => readPolicyFile(file));
  const faults = read.flatMap((file) => (file.ok ? [] : [file.fault]));
  if (faults.length > 0) return { ok: false, faults };
  return { ok: true, texts: read.flatMap((file) => (file.ok ? [file.policy] : [])) };
}

/** Parses policy files. Never throws. Does not compile. */
export function parsePolicies(texts: readonly PolicyText[]): ReadPolicies {
  const read = texts.map(({ path, text, owner }) => ({ path, owner, yaml: readYaml(text, limits.policyFileBytesMax) }));
  const faults = read.flatMap(({ path, yaml }) => (yaml.ok ? [] : yaml.faults.map((fault) => ({ ...fault, path }))));
  if (faults.length > 0) return { ok: false, faults };
  const documents = read.flatMap(({ path, owner, yaml }) => (yaml.ok ? [{ path, owner, value: yaml.value }] : []));
  return { ok: true, documents };
}

/** Reads and parses the policies of a folder. */
export function readPolicyFolder(folder: string): ReadPolicies {
  const read = readPolicyTexts(folder);
  return read.ok ? parsePolicies(read.texts) : read;
}

interface ListedFile {
  readonly path: string;
  readonly owner: string | undefined;
}

type Listed =
  { readonly ok: true; readonly files: readonly ListedFile[] } | { readonly ok: false; readonly fault: ConfigFault };

function listFolder(folder: string): Listed {
  try {
    const entries = entriesOf(folder);
    const owners = entries.filter((name) => isFolder(join(folder, name)));
    const files = policyFiles(folder, entries, undefined);
    for (const owner of owners) {
      const own = join(folder, owner);
      const within = entriesOf(own).find((name) => isFolder(join(own, name)));
      if (within !== undefined) return unread(join(own, within), "a folder", "an owner's policies side by side");
      files.push(...policyFiles(own, entriesOf(own), owner));
    }
    if (files.length <= limits.policyFilesMax) return { ok: true, files };
    return unread(folder, `${files.length} files`, `at most ${limits.policyFilesMax} files`);
  } catch (error) {
    return unread(folder, `nothing readable (${systemCode(error)})`, "a readable folder of policies");
  }
}

function entriesOf(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => !name.startsWith("."))
    .sort();
}

function isFolder(path: string): boolean {
  return statSync(path).isDirectory();
}

function policyFiles(folder: string, names: readonly string[], owner: string | undefined): ListedFile[] {
  return names
    .filter((name) => /\.ya?ml$/iu.test(name) && !/\.cases\.ya?ml$/iu.test(name))
    .map((name) => ({ path: join(folder, name), owner }));
}

function unread(path: string, found: string, expected: string): { ok: false; fault: ConfigFault } {
  return { ok: false, fault: { path, found, expected, rule: "policiesAreReadable" } };
}

type ReadFile =
  { readonly ok: true; readonly policy: PolicyText } | { readonly ok: false; readonly fault: ConfigFault };

/** Longer than its bound is refused here as well, before it is read: a file may be of any size. */
function readPolicyFile({ path, owner }: ListedFile): ReadFile {
  try {
    const { size } = statSync(path);
    if (size > limits.policyFileBytesMax)
      return unread(path, `${size} bytes`, `at most ${limits.policyFileBytesMax} bytes`);
    return { ok: true, policy: { path, text: readFileSync(path, "utf8"), owner } };
  } catch (error) {
    return unread(path, `nothing readable (${systemCode(error)})`, "a readable file");
  }
}

/**
 * Names, sizes and times of the files, so that a change of any of them shows without reading them. Two states that
 * differ in content alone, and in none of these, are not told apart.
 */
export function stampOfPolicies(folder: string | undefined): string {
  if (folder === undefined) return "";
  const listed = listFolder(folder);
  if (!listed.ok) return listed.fault.found;
  return JSON.stringify(listed.files.map(({ path }) => stampOfFile(path)));
}

/** The same of one file. */
export function stampOfFile(path: string): readonly unknown[] {
  try {
    const { ino, size, mtimeMs } = statSync(path);
    return [path, ino, size, mtimeMs];
  } catch (error) {
    return [path, systemCode(error)];
  }
}
