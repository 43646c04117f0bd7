import type { AuthConfig } from "./types-auth.ts";

/**
 * The alias of the issuer that is asked about tokens without a form of their own at a server that advertises
 * `advertised`: that one, else the only one that can be asked. Undefined: nobody is.
 */
export function opaqueIssuerOf(auth: AuthConfig, advertised: string | undefined): string | undefined {
  if (auth.kind === "none") return undefined;
  const asked = auth.issuers.filter(({ introspection }) => introspection !== undefined).map(({ alias }) => alias);
  if (advertised !== undefined && asked.includes(advertised)) return advertised;
  return asked.length === 1 ? asked[0] : undefined;
}
