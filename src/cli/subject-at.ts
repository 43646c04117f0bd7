import { headlessIssuer } from "../auth/verify-headless.ts";
import type { Config } from "../config/types.ts";
import type { Subject } from "../model/principal.ts";
import { spelledName } from "./spelled-name.ts";

/** Whose tokens an issuer's are, as the verifier reads them. */
export interface KnownIssuer {
  readonly alias: string;
  readonly issuer: string;
  /** Undefined where each token names its own. */
  readonly tenant: string | undefined;
}

/**
 * The person or service that a command names, by the issuer's alias or identifier; a sentence for the operator where
 * nobody can be meant. A subject that no token ever named is taken as it is, an e-mail address in its one spelling: who
 * is out may never have come.
 */
export function subjectAt(
  named: { readonly subject: string; readonly issuer: string; readonly tenant: string | undefined },
  config: Config,
): Subject | string {
  const known = issuersOf(config);
  const found = known.find(({ alias, issuer }) => alias === named.issuer || issuer === named.issuer);
  if (found === undefined)
    return `${named.issuer} is none of the issuers ${known.map(({ alias }) => alias).join(", ") || "(there are none)"}`;
  const tenant = found.tenant ?? named.tenant;
  if (tenant === undefined) return `tokens of ${found.alias} name their tenant: say --tenant too`;
  if (named.tenant !== undefined && named.tenant !== tenant)
    return `everybody of ${found.alias} is of tenant ${tenant}`;
  if (named.subject === "" || named.subject.length > config.limits.identityCharsMax)
    return `SUBJECT takes 1 to ${config.limits.identityCharsMax} characters`;
  return { tenant, issuer: found.issuer, subject: spelledName(named.subject, found.issuer, config) };
}

export function issuersOf({ auth, publicUrl }: Config): readonly KnownIssuer[] {
  if (auth.kind === "none") return [];
  const { issuers, builtIn, headless } = auth;
  return [
    ...issuers.map(({ alias, issuer, tenant, tenantClaim }) => ({
      alias,
      issuer,
      tenant: tenantClaim === undefined ? tenant : undefined,
    })),
    ...(builtIn === undefined ? [] : [{ alias: builtIn.alias, issuer: publicUrl, tenant: "default" }]),
    ...(headless === undefined ? [] : [{ alias: headless.alias, issuer: headlessIssuer, tenant: headless.tenant }]),
  ];
}
