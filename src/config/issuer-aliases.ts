import type { AuthConfig } from "./types-auth.ts";

/** What policies may name as issuers. `anonymous` is everybody's where authentication is switched off. */
export function issuerAliasesOf(auth: AuthConfig): readonly string[] {
  if (auth.kind === "none") return ["anonymous"];
  const external = auth.issuers.map(({ alias }) => alias);
  const own = [auth.builtIn, auth.headless].flatMap((one) => (one === undefined ? [] : [one.alias]));
  return [...external, ...own];
}

/** Those at which somebody can sign in: metadata may send clients there. */
export function signInAliasesOf(auth: AuthConfig): readonly string[] {
  if (auth.kind === "none") return [];
  return issuerAliasesOf({ ...auth, headless: undefined });
}
