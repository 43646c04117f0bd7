import type { AuthConfig } from "./types-auth.ts";

/** What policies may name as issuers. `anonymous` is everybody's where authentication is switched off. */
export function issuerAliasesOf(auth: AuthConfig): readonly string[] {
  if (auth.kind === "none") return ["anonymous"];
  const external = auth.issuers.map(({ alias }) => alias);
  return auth.builtIn === undefined ? external : [...external, auth.builtIn.alias];
}
