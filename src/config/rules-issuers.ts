import { printable, type PlacedFault } from "./fault.ts";
import { isLoopbackHost } from "./loopback.ts";
import { secretMask } from "./secret.ts";
import type { IssuerConfig } from "./types-auth.ts";
import type { Config } from "./types.ts";

/** RFC 8414 §2: https, no query, no fragment. Plain http only where the keys come from this machine. */
export function issuerUrlsAreUsable({ auth }: Config): PlacedFault[] {
  if (auth.kind === "none") return [];
  return auth.issuers.flatMap((issuer, index) => {
    const places = [
      { text: issuer.issuer, place: ["auth", "issuers", index, "issuer"] },
      { text: issuer.jwksUri, place: ["auth", "issuers", index, "jwksUri"] },
      { text: issuer.introspection?.endpoint, place: ["auth", "issuers", index, "introspection", "endpoint"] },
    ];
    return places
      .filter(({ text }) => text !== undefined && !isIssuerUrl(text, issuer))
      .map(({ text, place }) => ({
        place,
        found: printable(text),
        expected: "an https URL without query, fragment or credentials (http on loopback with addresses: loopback)",
        rule: "issuerUrlsAreUsable",
      }));
  });
}

export function audiencesNameKnownServers(config: Config): PlacedFault[] {
  return unknownServers(config, "audience", "audiencesNameKnownServers");
}

export function scopePrefixesNameKnownServers(config: Config): PlacedFault[] {
  return unknownServers(config, "scopePrefix", "scopePrefixesNameKnownServers");
}

function unknownServers({ auth, servers }: Config, key: "audience" | "scopePrefix", rule: string): PlacedFault[] {
  if (auth.kind === "none") return [];
  return auth.issuers.flatMap((issuer, index) =>
    Object.keys(issuer[key])
      .filter((server) => servers[server] === undefined)
      .map((server) => ({
        place: ["auth", "issuers", index, key, server],
        found: printable(server),
        expected: `one of the servers ${Object.keys(servers).join(", ")}`,
        rule,
      })),
  );
}

/** What an issuer's identifier says of its tokens, where that is known to make them useless here. */
interface Unusable {
  readonly issuer: RegExp;
  readonly expected: string;
  readonly rule: string;
}

const unusable: readonly Unusable[] = [
  {
    issuer: /^(https:\/\/)?accounts\.google\.com\/?$/u,
    expected:
      "an issuer whose access tokens say for which server they are; Google's do not, so people of Google sign in through auth.builtIn, which asks Google who they are",
    rule: "issuersProveAnAudience",
  },
  {
    issuer: /^https:\/\/github\.com(\/login\/oauth)?\/?$/u,
    expected:
      "an issuer whose access tokens say for which server they are; GitHub's do not, and it is no OpenID provider either",
    rule: "issuersProveAnAudience",
  },
  {
    issuer: /^https:\/\/[a-z0-9.-]+\.(okta|oktapreview|okta-emea)\.com\/?$/u,
    expected:
      "a custom authorization server, such as https://….okta.com/oauth2/default: tokens of the organisation's own are for Okta alone",
    rule: "issuersProveAnAudience",
  },
  {
    issuer: /^https:\/\/login\.microsoftonline\.com\/(common|organizations|consumers)(\/|$)/u,
    expected: "one tenant's issuer, https://login.microsoftonline.com/TENANT-ID/v2.0, since tokens never name this one",
    rule: "issuersAreNamedByTheirTokens",
  },
];

/** Audience and issuer are always checked; a provider with which that cannot succeed is told at once, not by every token. */
export function issuersProveAnAudience(config: Config): PlacedFault[] {
  return unusableIssuers(config, "issuersProveAnAudience");
}

export function issuersAreNamedByTheirTokens(config: Config): PlacedFault[] {
  return unusableIssuers(config, "issuersAreNamedByTheirTokens");
}

function unusableIssuers({ auth }: Config, rule: string): PlacedFault[] {
  if (auth.kind === "none") return [];
  return auth.issuers.flatMap(({ issuer }, index) => {
    const kind = unusable.find((one) => one.rule === rule && one.issuer.test(issuer));
    if (kind === undefined) return [];
    return [{ place: ["auth", "issuers", index, "issuer"], found: printable(issuer), expected: kind.expected, rule }];
  });
}

/** TLS takes what is no certificate for no authority at all, and then nobody is trusted. */
export function issuerAuthoritiesArePem({ auth }: Config): PlacedFault[] {
  if (auth.kind === "none") return [];
  return auth.issuers.flatMap(({ tls }, index) =>
    tls === undefined || tls.ca.reveal() === "" || tls.ca.reveal().includes("-----BEGIN CERTIFICATE-----")
      ? []
      : [
          {
            place: ["auth", "issuers", index, "tls", "ca"],
            found: secretMask,
            expected: "certificates as PEM, each from -----BEGIN CERTIFICATE----- on",
            rule: "issuerAuthoritiesArePem",
          },
        ],
  );
}

/** A token that is no JWT does not say whose it is; shown to every issuer in turn, it would be given to strangers. */
export function opaqueTokensHaveOneIssuer(config: Config): PlacedFault[] {
  const { auth, servers } = config;
  if (auth.kind === "none") return [];
  const asked = auth.issuers.filter(({ introspection }) => introspection !== undefined).map(({ alias }) => alias);
  if (asked.length < 2) return [];
  return Object.entries(servers)
    .filter(([, { issuer }]) => !asked.includes(issuer ?? ""))
    .map(([server, { issuer }]) => ({
      place: ["servers", server, "issuer"],
      found: printable(issuer),
      expected: `one of ${asked.join(", ")}, since each has introspection and an opaque token says of none that it is the issuer`,
      rule: "opaqueTokensHaveOneIssuer",
    }));
}

export function isIssuerUrl(text: string, issuer: Pick<IssuerConfig, "addresses">): boolean {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  if (/[?#]/u.test(text) || url.username !== "" || url.password !== "") return false;
  return (
    url.protocol === "https:" ||
    (url.protocol === "http:" && issuer.addresses === "loopback" && isLoopbackHost(url.hostname))
  );
}
