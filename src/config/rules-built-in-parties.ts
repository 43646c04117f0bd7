import { printable, type Place, type PlacedFault } from "./fault.ts";
import { isLoopbackHost } from "./loopback.ts";
import { repeated } from "./rules-auth.ts";
import { isKeySet, notPrivateUse, builtInOf } from "./rules-built-in.ts";
import { isIssuerUrl } from "./rules-issuers.ts";
import type { BuiltInClient, BuiltInProvider } from "./types-built-in.ts";
import type { Config } from "./types.ts";

const place = ["auth", "builtIn"] as const;

/** Somebody who signs in at the company's provider must not be taken for one of two kinds of people. */
export function providerStandsInForUsers(config: Config): PlacedFault[] {
  const builtIn = builtInOf(config);
  if (builtIn?.provider === undefined || builtIn.users.length === 0) return [];
  const expected = "no users, since people sign in at auth.builtIn.provider";
  return [{ place: [...place, "users"], found: `${builtIn.users.length}`, expected, rule: "providerStandsInForUsers" }];
}

export function providerUrlsAreUsable(config: Config): PlacedFault[] {
  const { provider, assertionIssuers = [] } = builtInOf(config) ?? {};
  const urls: { text: string | undefined; of: Pick<BuiltInProvider, "addresses">; at: Place }[] = [
    { text: provider?.issuer, of: provider ?? { addresses: "public" }, at: [...place, "provider", "issuer"] },
    ...assertionIssuers.flatMap((issuer, index) => [
      { text: issuer.issuer, of: issuer, at: [...place, "assertionIssuers", index, "issuer"] },
      { text: issuer.jwksUri, of: issuer, at: [...place, "assertionIssuers", index, "jwksUri"] },
    ]),
  ];
  return urls
    .filter(({ text, of }) => text !== undefined && !isIssuerUrl(text, of))
    .map(({ text, at }) => ({
      place: at,
      found: printable(text),
      expected: "an https URL without query, fragment or credentials (http on loopback with addresses: loopback)",
      rule: "providerUrlsAreUsable",
    }));
}

/** Who is public can be anybody, and so gets tokens for people alone, who consent; two proofs would be one too many. */
export function clientsCanProveThemselves(config: Config): PlacedFault[] {
  return (builtInOf(config)?.clients ?? []).flatMap((client, index) => {
    const expected = unprovable(client);
    const found = [client.clientSecret, client.jwks].filter((proof) => proof !== undefined).length;
    if (expected === undefined) return [];
    const rule = "clientsCanProveThemselves";
    return [{ place: [...place, "clients", index], found: `${found} of clientSecret and jwks`, expected, rule }];
  });
}

function unprovable({ clientSecret, jwks, grants }: BuiltInClient): string | undefined {
  if (clientSecret !== undefined && jwks !== undefined) return "either clientSecret or jwks";
  const proven = clientSecret !== undefined || jwks !== undefined;
  const needed = grants.some((grant) => grant !== "authorizationCode");
  return needed && !proven
    ? "clientSecret or jwks, since the client gets tokens without a person's consent"
    : undefined;
}

export function clientKeysArePublic(config: Config): PlacedFault[] {
  return (builtInOf(config)?.clients ?? []).flatMap(({ jwks }, index) => {
    const text = jwks?.reveal() ?? "";
    if (text === "" || isKeySet(text, "public")) return [];
    const expected = 'JSON such as {"keys": [...]} with public RSA, EC or OKP keys (RFC 7517 §5)';
    const rule = "clientKeysArePublic";
    return [{ place: [...place, "clients", index, "jwks"], found: "something else", expected, rule }];
  });
}

/** RFC 9700 §2.1: exact URIs, and none by which a code is sent in clear or shown to whoever wrote the link. */
export function clientRedirectsAreSafe(config: Config): PlacedFault[] {
  return (builtInOf(config)?.clients ?? []).flatMap((client, index) =>
    client.redirectUris
      .map((uri, at) => ({ uri, at }))
      .filter(({ uri }) => !isSafeRedirect(uri))
      .map(({ uri, at }) => ({
        place: [...place, "clients", index, "redirectUris", at],
        found: printable(uri),
        expected: "https, http on this machine, or a private-use scheme; without fragment, credentials or wildcard",
        rule: "clientRedirectsAreSafe",
      })),
  );
}

function isSafeRedirect(uri: string): boolean {
  if (!URL.canParse(uri) || /[#*\s\\]/u.test(uri)) return false;
  const url = new URL(uri);
  if (url.username !== "" || url.password !== "") return false;
  if (url.protocol === "https:") return true;
  if (url.protocol === "http:") return isLoopbackHost(url.hostname);
  return !notPrivateUse.has(url.protocol.slice(0, -1));
}

/** A grant whose means are missing could never be used, and means without the grant would be read by nobody. */
export function clientGrantsHaveTheirMeans(config: Config): PlacedFault[] {
  const builtIn = builtInOf(config);
  const asserting = (builtIn?.assertionIssuers.length ?? 0) > 0;
  return (builtIn?.clients ?? []).flatMap(({ grants, redirectUris }, index) => {
    const at = [...place, "clients", index];
    const faults: [Place, string, string][] = [];
    const byCode = grants.includes("authorizationCode");
    if (byCode && redirectUris.length === 0) faults.push([[...at, "redirectUris"], "none", "a redirect URI"]);
    if (!byCode && redirectUris.length > 0)
      faults.push([[...at, "redirectUris"], "some", "none without authorizationCode"]);
    if (grants.includes("identityAssertion") && !asserting)
      faults.push([[...at, "grants"], "identityAssertion", "auth.builtIn.assertionIssuers to take assertions from"]);
    const rule = "clientGrantsHaveTheirMeans";
    return faults.map(([where, found, expected]) => ({ place: where, found, expected, rule }));
  });
}

export function assertionClientsHaveTheGrant(config: Config): PlacedFault[] {
  const builtIn = builtInOf(config);
  const granted = (builtIn?.clients ?? [])
    .filter(({ grants }) => grants.includes("identityAssertion"))
    .map(({ clientId }) => clientId);
  return (builtIn?.assertionIssuers ?? []).flatMap(({ clients = [] }, index) =>
    clients
      .map((clientId, at) => ({ clientId, at }))
      .filter(({ clientId }) => !granted.includes(clientId))
      .map(({ clientId, at }) => ({
        place: [...place, "assertionIssuers", index, "clients", at],
        found: printable(clientId),
        expected: "one of auth.builtIn.clients with the grant identityAssertion",
        rule: "assertionClientsHaveTheGrant",
      })),
  );
}

/** An assertion's `iss` leads to one issuer, whose alias stands before its people. */
export function assertionIssuersAreUnique(config: Config): PlacedFault[] {
  const issuers = (builtInOf(config)?.assertionIssuers ?? []).map(({ issuer }, index) => ({
    text: issuer,
    place: [...place, "assertionIssuers", index, "issuer"] as Place,
  }));
  return repeated([{ text: config.publicUrl, place: ["publicUrl"] }, ...issuers]).map(({ text, place: at }) => ({
    place: at,
    found: printable(text),
    expected: "an issuer that no other entry has, and that is not this server itself",
    rule: "assertionIssuersAreUnique",
  }));
}

/** `okta:ada` must be Ada of Okta and nobody else: neither a user nor a service may be called so. */
export function assertionSubjectsAreTheirOwn(config: Config): PlacedFault[] {
  const builtIn = builtInOf(config);
  if (builtIn === undefined) return [];
  const prefixes = builtIn.assertionIssuers.map(({ alias }) => `${alias}:`);
  const names: { text: string; at: Place }[] = [
    ...builtIn.users.map(({ subject }, index) => ({ text: subject, at: [...place, "users", index, "subject"] })),
    ...builtIn.clients.map(({ clientId }, index) => ({ text: clientId, at: [...place, "clients", index, "clientId"] })),
  ];
  return names
    .filter(({ text }) => prefixes.some((prefix) => text.startsWith(prefix)))
    .map(({ text, at }) => ({
      place: at,
      found: printable(text),
      expected: "a name that does not begin as those of an assertion issuer's people do",
      rule: "assertionSubjectsAreTheirOwn",
    }));
}

/** People of the provider are the same whichever way they come, so both ways must call them the same. */
export function assertionsOfTheProviderNameAlike(config: Config): PlacedFault[] {
  const { provider, assertionIssuers = [] } = builtInOf(config) ?? {};
  return assertionIssuers.flatMap(({ issuer, subjectFrom, groupsClaim }, index) => {
    if (issuer !== provider?.issuer) return [];
    if (subjectFrom === provider.subjectFrom && groupsClaim === provider.groupsClaim) return [];
    const found = `${subjectFrom} and ${printable(groupsClaim)}`;
    const expected = "the subjectFrom and groupsClaim of auth.builtIn.provider, whose people these are";
    return [
      { place: [...place, "assertionIssuers", index], found, expected, rule: "assertionsOfTheProviderNameAlike" },
    ];
  });
}
