import type { ConfigFault } from "../config/fault.ts";
import { issuerAliasesOf } from "../config/issuer-aliases.ts";
import { readPolicyFolder } from "../config/policies.ts";
import type { Config } from "../config/types.ts";
import { compilePolicies, type Policy } from "../policy/compile.ts";
import type { PolicyFault } from "../policy/language.ts";

export interface LoadedPolicies {
  readonly ok: true;
  readonly policy: Policy;
  readonly files: number;
  readonly warnings: readonly ConfigFault[];
}

export type ReadPolicies = LoadedPolicies | { readonly ok: false; readonly faults: readonly ConfigFault[] };

/** Reads and compiles the policies that a configuration names. Without a folder there are none, and nothing is allowed. */
export function loadPolicies(config: Config): ReadPolicies {
  const read = config.policies === undefined ? noPolicies : readPolicyFolder(config.policies);
  if (!read.ok) return read;
  const compiled = compilePolicies(read.documents, {
    issuerAliases: issuerAliasesOf(config.auth),
    claims: mappedClaims(config.auth),
    upstreams: Object.keys(config.upstreams),
    servers: Object.keys(config.servers),
    limits: config.limits,
  });
  if (!compiled.ok) return { ok: false, faults: compiled.faults.map(asConfigFault) };
  const { policy, warnings } = compiled;
  return { ok: true, policy, files: read.documents.length, warnings: warnings.map(asConfigFault) };
}

/** The built-in authorization server maps no claims; a token without authentication has none. */
function mappedClaims(auth: Config["auth"]): readonly string[] {
  return auth.kind === "none" ? [] : [...new Set(auth.issuers.flatMap(({ claims }) => Object.keys(claims)))];
}

const noPolicies = { ok: true, documents: [] } as const;

function asConfigFault({ path, found, expected, message }: PolicyFault): ConfigFault {
  return { path, found, expected: `${expected} (${message})`, rule: "policy" };
}
