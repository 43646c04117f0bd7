import { printable, type PlacedFault } from "./fault.ts";
import type { Config } from "./types.ts";

/** Where an issuer gives out no other tokens, none of its callers gets through to such an upstream. */
export function boundTokensAreNotExchanged({ auth, upstreams }: Config): PlacedFault[] {
  if (auth.kind === "none") return [];
  const binding = auth.issuers.filter(({ dpop }) => dpop === "require").map(({ alias }) => alias);
  if (binding.length === 0) return [];
  return Object.entries(upstreams)
    .filter(([, { credential }]) => credential.type === "tokenExchange" && credential.boundTokens === "refuse")
    .map(([name]) => ({
      place: ["upstreams", name, "credential", "boundTokens"],
      found: "refuse",
      expected: `another credential, or send: every token of ${binding.join(", ")} is bound to a key, and not exchanged`,
      rule: "boundTokensAreNotExchanged",
    }));
}

/** An upstream that looks at `sub` alone takes the Ada of one issuer for the Ada of another. */
export function plainSubjectsMayBeShared({ auth, upstreams }: Config): PlacedFault[] {
  if (auth.kind === "none") return [];
  const { issuers, builtIn, headless } = auth;
  const aliases = [...issuers, builtIn, headless].flatMap((known) => (known === undefined ? [] : [known.alias]));
  if (aliases.length < 2) return [];
  return Object.entries(upstreams)
    .filter(([, { credential }]) => credential.type === "assertion" && credential.subject === "plain")
    .map(([name]) => ({
      place: ["upstreams", name, "credential", "subject"],
      found: "plain",
      expected: `qualified, unless the upstream tells people apart by sub_id: ${printable(aliases.join(", "))} may have the same subjects`,
      rule: "plainSubjectsMayBeShared",
    }));
}
