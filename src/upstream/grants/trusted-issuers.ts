import { createHash } from "node:crypto";
import type { RecordKey } from "../../model/records.ts";
import { refuse } from "../../model/refusal.ts";
import { ok, type Result } from "../../model/result.ts";
import { unusable } from "./faults.ts";
import type { GrantsOptions } from "./options.ts";

/** Which authorization server each upstream may send its users to. */
export interface TrustedIssuers {
  /** One of those that the upstream names: the configured one, else the one known from before, else its first. */
  choose(upstream: string, configured: string | undefined, named: readonly string[]): Promise<Result<string>>;
  /** Remembers an issuer that turned out to be usable; refuses where another replica meanwhile found another. */
  keep(upstream: string, configured: string | undefined, issuer: string): Promise<Result<void>>;
  /**
   * The other upstream that uses this issuer: one for which it is configured, or the one that was the first to be found
   * with it. Where there is none, this upstream is the first from now on.
   */
  sharedWith(upstream: string, issuer: string): Promise<string | undefined>;
  issuerOf(upstream: string, configured: string | undefined): Promise<string | undefined>;
  /** What is remembered of an upstream stays, as if it had been asked. */
  inUse(upstream: string): Promise<void>;
}

/**
 * Trust on first use: an issuer once found stays, and only configuration changes it. The record is the same for
 * all tenants, as the upstream is. That an upstream names another one is told once, and again after it was well
 * meanwhile. `choose` and `keep` refuse with UPSTREAM_ISSUER_CHANGED.
 */
export function createTrustedIssuers(options: GrantsOptions): TrustedIssuers {
  const { records, limits, log, witness } = options;
  const life = limits.upstreamIssuerIdleMs;
  // By upstream, the issuer it is to name. Without what was found, which it may name anew with every question.
  const quarantined = new Map<string, string>();
  const changed = (upstream: string, known: string, found: readonly string[]): Result<never> => {
    if (quarantined.get(upstream) !== known) {
      quarantined.set(upstream, known);
      log("upstream-quarantined", { upstream, known, found: found[0] ?? "" });
      witness.quarantined({ upstream, known, found });
    }
    return refuse("UPSTREAM_ISSUER_CHANGED", { upstream, known, found: [...found] });
  };
  return {
    choose: async (upstream, configured, named) => {
      const [first] = named;
      if (first === undefined) return unusable(upstream, "no-authorization-server");
      const known = configured ?? (await records.get(recordOf(upstream)));
      if (known !== undefined && !named.includes(known)) return changed(upstream, known, named);
      quarantined.delete(upstream);
      return ok(known ?? first);
    },
    keep: async (upstream, configured, issuer) => {
      const key = recordOf(upstream);
      if (await records.setIfAbsent(key, issuer, life)) return ok(undefined);
      const known = await records.get(key);
      if (known === issuer) await records.touch(key, life);
      else if (configured === issuer) await records.set(key, issuer, life);
      else return changed(upstream, known ?? "", [issuer]);
      return ok(undefined);
    },
    sharedWith: (upstream, issuer) => otherUser(options, upstream, issuer),
    issuerOf: async (upstream, configured) => configured ?? (await records.get(recordOf(upstream))),
    inUse: async (upstream) => {
      const issuer = await records.get(recordOf(upstream));
      if (issuer === undefined) return;
      await records.touch(recordOf(upstream), life);
      if ((await records.get(firstOf(issuer))) === upstream) await records.touch(firstOf(issuer), life);
    },
  };
}

async function otherUser(
  { records, limits, upstreams, issuersElsewhere }: GrantsOptions,
  upstream: string,
  issuer: string,
): Promise<string | undefined> {
  const named = Object.entries(upstreams).map(([name, of]): [string, string | undefined] => [name, of.issuer]);
  const configured = [...named, ...Object.entries(issuersElsewhere)];
  const namesIt = configured.find(([name, its]) => name !== upstream && its === issuer);
  if (namesIt !== undefined) return namesIt[0];
  const key = firstOf(issuer);
  const life = limits.upstreamIssuerIdleMs;
  if (await records.setIfAbsent(key, upstream, life)) return undefined;
  const first = (await records.get(key)) ?? "";
  // Gone from the configuration, or named another server there since: what was its own is free.
  const isFree = first !== upstream && (!Object.hasOwn(upstreams, first) || upstreams[first]?.issuer !== undefined);
  if (first !== upstream && !isFree) return first;
  // Lost to a third one that found it at the same moment.
  return (await records.replace(key, first, upstream, life)) ? undefined : ((await records.get(key)) ?? first);
}

/** The issuer that an upstream was first found with. */
function recordOf(upstream: string): RecordKey {
  return ["grant-issuer", "default", upstream];
}

/** The upstream that was the first to be found with an issuer. */
function firstOf(issuer: string): RecordKey {
  return ["grant-issuer-first", "default", createHash("sha256").update(issuer).digest("hex")];
}
