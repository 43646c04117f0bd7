import type { Lock } from "../catalog/lock/lock.ts";
import type { ConfigFault } from "../config/fault.ts";
import { issuerAliasesOf } from "../config/issuer-aliases.ts";
import { parsePolicies, readPolicyTexts, type PolicyText } from "../config/policies.ts";
import type { Config } from "../config/types.ts";
import { compilePolicies, type Policy } from "../policy/compile.ts";
import type { PolicyDocument, PolicyFault } from "../policy/language.ts";
import { compileLockFor, readLock, readLockFile } from "./load-lock.ts";
import { itemFactsOf } from "./item-facts.ts";
import { annotationsKnown, labelsKnown } from "./item-notes.ts";

/** What decides, as text: what is read together, kept together and put in force together. */
export interface BundleTexts {
  readonly policies: readonly PolicyText[];
  /** The catalog lock; undefined where none is configured. */
  readonly lock?: string | undefined;
}

export type ReadBundle =
  { readonly ok: true; readonly texts: BundleTexts } | { readonly ok: false; readonly faults: readonly ConfigFault[] };

export interface LoadedPolicies {
  readonly ok: true;
  readonly policy: Policy;
  readonly lock: Lock | undefined;
  /** What the policy was compiled from. */
  readonly documents: readonly PolicyDocument[];
  readonly files: number;
  /** Folders of owners, by name. */
  readonly owners: readonly string[];
  readonly warnings: readonly ConfigFault[];
}

export type ReadPolicies = LoadedPolicies | { readonly ok: false; readonly faults: readonly ConfigFault[] };

/** Reads the files that a configuration names. Without a folder of policies there are none, and nothing is allowed. */
export function readBundle(config: Config): ReadBundle {
  const policies = config.policies === undefined ? noPolicies : readPolicyTexts(config.policies);
  const lock = readLock(config);
  if (policies.ok && lock.ok) return { ok: true, texts: { policies: policies.texts, lock: lock.text } };
  return { ok: false, faults: [...(policies.ok ? [] : policies.faults), ...(lock.ok ? [] : lock.faults)] };
}

/** Compiles what was read, for this configuration. Never throws. */
export function compileBundle(config: Config, { policies, lock: text }: BundleTexts): ReadPolicies {
  const locked = compileLockFor(config, text);
  const compiled = compilePoliciesFor(config, policies, locked.ok ? locked.lock : undefined);
  if (locked.ok && compiled.ok) return { ...compiled, warnings: [...compiled.warnings, ...locked.warnings] };
  return { ok: false, faults: [...(compiled.ok ? [] : compiled.faults), ...(locked.ok ? [] : locked.faults)] };
}

/** `lock`: the catalog lock that is in force with the policies. */
function compilePoliciesFor(config: Config, policies: readonly PolicyText[], lock: Lock | undefined): ReadPolicies {
  const read = parsePolicies(policies);
  if (!read.ok) return read;
  const compiled = compilePolicies(read.documents, {
    issuerAliases: issuerAliasesOf(config.auth),
    claims: mappedClaims(config.auth),
    upstreams: Object.keys(config.upstreams),
    servers: Object.keys(config.servers),
    labels: labelsKnown(config),
    annotations: annotationsKnown,
    factsOf: itemFactsOf(config, lock),
    limits: config.limits,
  });
  if (!compiled.ok) return { ok: false, faults: compiled.faults.map(asConfigFault) };
  const { policy, warnings } = compiled;
  const owners = [...new Set(policies.map(({ owner }) => owner))].filter((owner) => owner !== undefined);
  const { documents } = read;
  return { ok: true, policy, lock, documents, files: policies.length, owners, warnings: warnings.map(asConfigFault) };
}

/** Reads and compiles the policies that are tried out, with their own lock or the one in force; undefined where there are none. */
export function loadShadow(config: Config, { lock }: BundleTexts): ReadPolicies | undefined {
  if (config.shadow === undefined) return undefined;
  const read = readPolicyTexts(config.shadow.policies);
  if (!read.ok) return read;
  const other = config.catalogLock === undefined ? undefined : config.shadow.catalogLock;
  if (other === undefined) return compileBundle(config, { policies: read.texts, lock });
  const readOther = readLockFile(other);
  return readOther.ok ? compileBundle(config, { policies: read.texts, lock: readOther.text }) : readOther;
}

/** Reads and compiles the policies that a configuration names. */
export function loadPolicies(config: Config): ReadPolicies {
  const read = readBundle(config);
  return read.ok ? compileBundle(config, read.texts) : read;
}

/** The built-in authorization server maps no claims; a token without authentication has none. */
export function mappedClaims(auth: Config["auth"]): readonly string[] {
  return auth.kind === "none" ? [] : [...new Set(auth.issuers.flatMap(({ claims }) => Object.keys(claims)))];
}

const noPolicies = { ok: true, texts: [] } as const;

export function asConfigFault({ path, found, expected, message }: PolicyFault): ConfigFault {
  return { path, found, expected: `${expected} (${message})`, rule: "policy" };
}
