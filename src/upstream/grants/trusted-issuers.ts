import type { RecordKey } from "../../model/records.ts";
import { refuse } from "../../model/refusal.ts";
import { ok, type Result } from "../../model/result.ts";
import { unusable } from "./faults.ts";
import type { GrantsOptions } from "./options.ts";

/** Which authorization server each upstream may send its users to. */
export interface TrustedIssuers {
  /** One of those that the upstream names: the configured one, else the one known from before, else its first. */
  choose(upstream: string, configured: string | undefined, named: readonly string[]): Promise<Result<string>>;
  /** Remembers an issuer that turned out to be usable. */
  keep(upstream: string, issuer: string): Promise<void>;
  issuerOf(upstream: string, configured: string | undefined): Promise<string | undefined>;
}

/**
 * Trust on first use: an issuer once found stays, and only configuration changes it. The record is the same for
 * all tenants, as the upstream is. That an upstream names another one is told once, and again after it was well
 * meanwhile.
 */
export function createTrustedIssuers({ records, limits, log, witness }: GrantsOptions): TrustedIssuers {
  // By upstream, the issuer it is to name. Without what was found, which it may name anew with every question.
  const quarantined = new Map<string, string>();
  const tell = (upstream: string, known: string, found: readonly string[]): void => {
    if (quarantined.get(upstream) === known) return;
    quarantined.set(upstream, known);
    log("upstream-quarantined", { upstream, known, found: found[0] ?? "" });
    witness.quarantined({ upstream, known, found });
  };
  return {
    choose: async (upstream, configured, named) => {
      const [first] = named;
      if (first === undefined) return unusable(upstream, "no-authorization-server");
      const known = configured ?? (await records.get(recordOf(upstream)));
      if (known === undefined || named.includes(known)) {
        quarantined.delete(upstream);
        return ok(known ?? first);
      }
      tell(upstream, known, named);
      return refuse("UPSTREAM_ISSUER_CHANGED", { upstream, known, found: [...named] });
    },
    keep: async (upstream, issuer) => {
      const key = recordOf(upstream);
      const life = limits.upstreamIssuerIdleMs;
      if (await records.setIfAbsent(key, issuer, life)) return;
      if ((await records.get(key)) === issuer) await records.touch(key, life);
      else await records.set(key, issuer, life);
    },
    issuerOf: async (upstream, configured) => configured ?? (await records.get(recordOf(upstream))),
  };
}

function recordOf(upstream: string): RecordKey {
  return ["grant-issuer", "default", upstream];
}
