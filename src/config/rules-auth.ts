import { printable, type Place, type PlacedFault } from "./fault.ts";
import { isLoopbackHost } from "./loopback.ts";
import type { RawConfig } from "./raw.ts";
import type { Config } from "./types.ts";

/** Exactly one answer to who vouches for callers: nobody, or at least one issuer. */
export function authIsNoneOrIssuers({ auth }: RawConfig): PlacedFault[] {
  const named = ["none", "issuers", "builtIn"].filter((key) => Object.hasOwn(auth, key));
  const alone = named.length === 1 || !named.includes("none");
  if (named.length > 0 && alone) return [];
  const found = named.length === 0 ? "nothing" : named.join(" and ");
  return [{ place: ["auth"], found, expected: "none, or issuers, builtIn or both", rule: "authIsNoneOrIssuers" }];
}

/** With both, nobody could say whether a missing claim falls back to the fixed tenant. It would be another's. */
export function tenantIsStatedOnce({ auth }: RawConfig): PlacedFault[] {
  return (auth.issuers ?? []).flatMap((issuer, index) =>
    issuer.tenant === undefined || issuer.tenantClaim === undefined
      ? []
      : [
          {
            place: ["auth", "issuers", index, "tenantClaim"],
            found: "tenant and tenantClaim",
            expected: "one of them",
            rule: "tenantIsStatedOnce",
          },
        ],
  );
}

/** Without authentication whoever connects is served, so only this machine may be able to connect. */
export function authNoneBindsLoopback({ auth, listen, publicUrl }: Config): PlacedFault[] {
  if (auth.kind !== "none") return [];
  const rule = "authNoneBindsLoopback";
  const faults: PlacedFault[] = [];
  if (!isLoopbackHost(listen.host)) {
    const expected = "a loopback address, since auth is none";
    faults.push({ place: ["listen", "host"], found: printable(listen.host), expected, rule });
  }
  if (URL.canParse(publicUrl) && !isLoopbackHost(new URL(publicUrl).hostname)) {
    const expected = "a loopback host, since auth is none";
    faults.push({ place: ["publicUrl"], found: printable(publicUrl), expected, rule });
  }
  return faults;
}

/** Policies name groups by alias: two issuers under one would vouch for each other's groups. */
export function issuerAliasesAreUnique({ auth }: Config): PlacedFault[] {
  if (auth.kind === "none") return [];
  const aliases = auth.issuers.map((issuer, index) => ({
    text: issuer.alias,
    place: ["auth", "issuers", index, "alias"],
  }));
  if (auth.builtIn !== undefined) aliases.push({ text: auth.builtIn.alias, place: ["auth", "builtIn", "alias"] });
  for (const [index, { alias }] of (auth.builtIn?.assertionIssuers ?? []).entries())
    aliases.push({ text: alias, place: ["auth", "builtIn", "assertionIssuers", index, "alias"] });
  if (auth.headless !== undefined) aliases.push({ text: auth.headless.alias, place: ["auth", "headless", "alias"] });
  return repeated(aliases).map(({ text, place }) => ({
    place,
    found: printable(text),
    expected: "an alias that no other issuer has",
    rule: "issuerAliasesAreUnique",
  }));
}

/** A command makes these tokens, and a store in the memory of one process is out of its reach. */
export function headlessNeedsRedisStore({ auth, store }: Config): PlacedFault[] {
  if (auth.kind === "none" || auth.headless === undefined || store.kind === "redis") return [];
  const expected = "store: { redis: … }, which `sallyport token create` writes to";
  return [{ place: ["auth", "headless"], found: "a store in memory", expected, rule: "headlessNeedsRedisStore" }];
}

/** A token's `iss` leads to exactly one issuer; the built-in one has `publicUrl`. */
export function issuersAreUnique({ auth, publicUrl }: Config): PlacedFault[] {
  if (auth.kind === "none") return [];
  const identifiers = auth.builtIn === undefined ? [] : [{ text: publicUrl, place: ["publicUrl"] as Place }];
  for (const [index, issuer] of auth.issuers.entries()) {
    const place = ["auth", "issuers", index];
    identifiers.push({ text: issuer.issuer, place: [...place, "issuer"] });
    for (const [at, text] of issuer.issuerAliases.entries()) {
      identifiers.push({ text, place: [...place, "issuerAliases", at] });
    }
  }
  return repeated(identifiers).map(({ text, place }) => ({
    place,
    found: printable(text),
    expected: "an identifier that no other issuer has",
    rule: "issuersAreUnique",
  }));
}

/** Every text that stood before, at its later place. */
export function repeated(texts: readonly { text: string; place: Place }[]): { text: string; place: Place }[] {
  const seen = new Set<string>();
  return texts.filter(({ text }) => seen.size === seen.add(text).size);
}
