import type { ConfigFault } from "../config/fault.ts";
import { issuerAliasesOf } from "../config/issuer-aliases.ts";
import type { Config } from "../config/types.ts";
import type { PresentationConfig } from "../config/types-presenting.ts";
import { compileWho } from "../policy/compile-who.ts";
import type { PolicyFault } from "../policy/language.ts";
import type { Who } from "../policy/who.ts";
import { noteFaults } from "./item-notes.ts";
import { mappedClaims } from "./load-policies.ts";

/** A presentation, and whom it is for. */
export interface LoadedPresentation {
  readonly config: PresentationConfig;
  readonly matches: Who["matches"];
}

export type ReadPresentations =
  | {
      readonly ok: true;
      /** By server, in the order in which they are tried. */
      readonly byServer: ReadonlyMap<string, readonly LoadedPresentation[]>;
      readonly warnings: readonly ConfigFault[];
    }
  | { readonly ok: false; readonly faults: readonly ConfigFault[] };

/**
 * Reads whom the presentations are for, and holds the operator's patterns over items to what patterns are: what of a
 * configuration is written in the language of policies, and stands in the file itself. Never throws.
 */
export function loadPresentations(config: Config): ReadPresentations {
  const names = { issuerAliases: issuerAliasesOf(config.auth), claims: mappedClaims(config.auth) };
  const faults: ConfigFault[] = [...noteFaults(config)];
  const warnings: ConfigFault[] = [];
  const byServer = new Map<string, readonly LoadedPresentation[]>();
  for (const [server, { presentations }] of Object.entries(config.servers)) {
    const loaded: LoadedPresentation[] = [];
    for (const [at, presentation] of presentations.entries()) {
      const compiled = compileWho(presentation.who, names, `servers.${server}.presentations[${at}].who`);
      if (!compiled.ok) faults.push(...compiled.faults.map(asConfigFault));
      else {
        warnings.push(...compiled.warnings.map(asConfigFault));
        loaded.push({ config: presentation, matches: (principal) => compiled.who.matches(principal) });
      }
    }
    byServer.set(server, loaded.sort(byRank));
  }
  return faults.length > 0 ? { ok: false, faults } : { ok: true, byServer, warnings };
}

function byRank({ config: one }: LoadedPresentation, { config: other }: LoadedPresentation): number {
  return one.rank - other.rank || (one.id < other.id ? -1 : 1);
}

/** A pointer into a file that policy would name is a path of this one. */
function asConfigFault({ path, found, expected, message }: PolicyFault): ConfigFault {
  return { path: path.replace("#", "").replaceAll("/", "."), found, expected: `${expected} (${message})`, rule: "who" };
}
