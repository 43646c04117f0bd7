import { lintFindings } from "./lint-findings.ts";
import { jsonOut, shown, type ExitCode } from "./output.ts";
import { openPolicies } from "./policy-bundle.ts";
import type { OrderTo, PolicyDesk } from "./policy.ts";

/** `sallyport policy lint`: 0 when there is nothing but hints, 1 when something is probably not meant. */
export function policyLint(order: OrderTo<"lint">, { config, output }: PolicyDesk): ExitCode {
  const bundle = openPolicies(config, order.policies, output);
  if (bundle === undefined) return 1;
  const findings = lintFindings(config, bundle.loaded);
  if (order.json) output.out(jsonOut(findings));
  else {
    for (const { id, severity, path, text } of findings) output.out(shown(`${path}: ${severity} ${id}: ${text}`));
    output.out(findings.length === 1 ? "1 finding" : `${findings.length} findings`);
  }
  return findings.some(({ severity }) => severity === "warning") ? 1 : 0;
}
