import type { ConfigFault } from "../config/fault.ts";
import type { Config } from "../config/types.ts";
import { lintPolicy, type LintFinding } from "../policy/lint.ts";
import { ruleSources } from "../policy/rule-source.ts";
import { upstreamsHeld } from "./item-facts.ts";
import type { LoadedPolicies } from "./load-policies.ts";
import { knownCatalog } from "./policy-items.ts";

/** What is doubtful about policies that load, under the names and the catalog lock of a configuration. */
export function lintFindings(
  config: Config,
  { policy, documents, lock }: Pick<LoadedPolicies, "policy" | "documents" | "lock">,
): readonly LintFinding[] {
  const servers = Object.entries(config.servers).map(
    ([name, { upstreams }]) => [name, Object.keys(upstreams)] as const,
  );
  const known = lock === undefined ? undefined : knownCatalog(lock);
  const lockedUpstreams = lock === undefined ? new Set<string>() : upstreamsHeld(config);
  return lintPolicy(policy, ruleSources(documents), { servers: new Map(servers), lockedUpstreams, known });
}

/** A finding as `check` prints it, among the warnings of the configuration. */
export function asWarning({ id, path, text }: LintFinding): ConfigFault {
  return { path, found: id, expected: text, rule: "policyLint" };
}
