import { createPrivateKey, type KeyObject } from "node:crypto";
import { printable, type Place, type PlacedFault } from "./fault.ts";
import { isLoopbackHost } from "./loopback.ts";
import { connectPages } from "../model/identifiers.ts";
import { secretMask, type Secret } from "./secret.ts";
import type { Config } from "./types.ts";
import type { ClientConfig, CredentialConfig } from "./types-credentials.ts";

/** What the gateway writes itself, what belongs to one connection (RFC 9110 §7.6.1), and what frames a message. */
const gatewayHeaders: ReadonlySet<string> = new Set(
  (
    "host content-length content-type content-encoding accept accept-encoding connection keep-alive transfer-encoding te " +
    "trailer upgrade proxy-connection proxy-authorization proxy-authenticate expect date last-event-id traceparent tracestate"
  ).split(" "),
);

export function staticHeadersAreNotTheGateways(config: Config): PlacedFault[] {
  return eachCredential(config, (credential, place) => {
    if (credential.type !== "static") return [];
    return Object.keys(credential.headers)
      .filter((name) => gatewayHeaders.has(name.toLowerCase()) || name.toLowerCase().startsWith("mcp-"))
      .map((name) => ({
        place: [...place, "headers", name],
        found: printable(name),
        expected: "a header that the gateway does not write itself",
        rule: "staticHeadersAreNotTheGateways",
      }));
  });
}

/** A credential that shows nothing is `type: none`, and of two `Authorization` headers one would be a surprise. */
export function staticCredentialsShowOneThing(config: Config): PlacedFault[] {
  return eachCredential(config, (credential, place) => {
    if (credential.type !== "static") return [];
    const { headers, basic } = credential;
    const rule = "staticCredentialsShowOneThing";
    const names = Object.keys(headers).map((name) => name.toLowerCase());
    if (names.length === 0 && basic === undefined)
      return [{ place, found: "nothing", expected: "headers, basic or both", rule }];
    if (basic === undefined || !names.includes("authorization")) return [];
    const expected = "either basic or an Authorization header";
    return [{ place: [...place, "basic"], found: "both", expected, rule }];
  });
}

/** RFC 9110 §5.5: a line break in a value would start another header. Names that differ in case only are one. */
export function headerValuesAreSendable(config: Config): PlacedFault[] {
  return eachCredential(config, (credential, place) => {
    if (credential.type !== "static") return [];
    const seen = new Set<string>();
    return Object.entries(credential.headers).flatMap(([name, value]) => {
      const at = { place: [...place, "headers", name], rule: "headerValuesAreSendable" };
      const first = seen.size !== seen.add(name.toLowerCase()).size;
      if (!first) return [{ ...at, found: printable(name), expected: "each header once, whatever its case" }];
      if (/^[\x20-\x7E\t]*$/u.test(value.reveal())) return [];
      return [{ ...at, found: secretMask, expected: "printable ASCII in one line" }];
    });
  });
}

export function credentialIssuersAreHttps(config: Config): PlacedFault[] {
  return eachClient(config, ({ issuer }, place) => {
    if (isHttpsOrLoopback(issuer)) return [];
    const expected = "an https URL without query, fragment or credentials";
    return [{ place: [...place, "issuer"], found: printable(issuer), expected, rule: "credentialIssuersAreHttps" }];
  });
}

/** One way to prove who it is, so that it is plain which one a server must know. */
export function credentialClientsCanProveThemselves(config: Config): PlacedFault[] {
  return eachClient(config, ({ clientSecret, privateKey }, place) => {
    const rule = "credentialClientsCanProveThemselves";
    const expected = "either clientSecret or privateKey";
    if (clientSecret === undefined && privateKey === undefined) return [{ place, found: "neither", expected, rule }];
    if (clientSecret === undefined || privateKey === undefined) return [];
    return [{ place: [...place, "privateKey"], found: "both", expected, rule }];
  });
}

export function privateKeysCanSign(config: Config): PlacedFault[] {
  const ofClients = eachClient(config, ({ privateKey }, place) =>
    privateKey === undefined ? [] : keyFault(privateKey, [...place, "privateKey"]),
  );
  const ofGateway = config.keys.assertion.flatMap((key, index) => keyFault(key, ["keys", "assertion", index]));
  return [...ofClients, ...ofGateway];
}

function keyFault(key: Secret, place: Place): PlacedFault[] {
  const text = key.reveal();
  // An empty one has a fault already: it could not be read.
  if (text === "" || canSign(text)) return [];
  const expected = "a private key in PEM or as JWK: P-256, P-384, P-521, Ed25519, or RSA of 2048 bits and more";
  return [{ place, found: secretMask, expected, rule: "privateKeysCanSign" }];
}

function canSign(text: string): boolean {
  const key = parseKey(text);
  if (key === undefined) return false;
  const { namedCurve = "", modulusLength = 0 } = key.asymmetricKeyDetails ?? {};
  if (key.asymmetricKeyType === "ec") return ["prime256v1", "secp384r1", "secp521r1"].includes(namedCurve);
  return key.asymmetricKeyType === "ed25519" || (key.asymmetricKeyType === "rsa" && modulusLength >= 2_048);
}

function parseKey(text: string): KeyObject | undefined {
  try {
    if (!text.trimStart().startsWith("{")) return createPrivateKey(text);
    const jwk: unknown = JSON.parse(text);
    return typeof jwk === "object" && jwk !== null ? createPrivateKey({ key: { ...jwk }, format: "jwk" }) : undefined;
  } catch {
    return undefined;
  }
}

/** Where nobody signs in all callers are one, and no credential can tell them apart. */
export function credentialsOfCallersNeedSignIn(config: Config): PlacedFault[] {
  if (config.auth.kind !== "none") return [];
  return eachCredential(config, ({ type }, place) => {
    if (type !== "assertion" && type !== "tokenExchange" && type !== "user" && type !== "identityAssertion") return [];
    const expected = "a credential of the gateway's own, since auth: none tells nobody from anybody";
    return [{ place: [...place, "type"], found: type, expected, rule: "credentialsOfCallersNeedSignIn" }];
  });
}

/** A server that is not told what the token is for gives one that is good for everything, or none. */
export function exchangesNameTheirTarget(config: Config): PlacedFault[] {
  return eachCredential(config, (credential, place) => {
    if (credential.type !== "tokenExchange") return [];
    if (credential.audience !== undefined || credential.resource !== undefined) return [];
    return [{ place, found: "neither", expected: "audience, resource or both", rule: "exchangesNameTheirTarget" }];
  });
}

/** What is asserted is what the provider said as the caller signed in there; nobody else's callers have such a thing. */
export function identityAssertionsNeedAProvider(config: Config): PlacedFault[] {
  const { auth } = config;
  if (auth.kind === "none" || auth.builtIn?.provider?.clientSecret !== undefined) return [];
  return eachCredential(config, ({ type }, place) => {
    if (type !== "identityAssertion") return [];
    const expected = "auth.builtIn.provider with a clientSecret, whose people are the callers";
    return [{ place: [...place, "type"], found: type, expected, rule: "identityAssertionsNeedAProvider" }];
  });
}

/** A client is known to one server, and a secret belongs to a client. */
export function grantClientsAreWhole(config: Config): PlacedFault[] {
  return eachCredential(config, (credential, place) => {
    if (credential.type !== "user") return [];
    const { issuer, clientId, clientSecret } = credential;
    const fault = (name: string, expected: string): PlacedFault[] => [
      { place: [...place, name], found: "nothing", expected, rule: "grantClientsAreWhole" },
    ];
    if (clientId !== undefined && issuer === undefined)
      return fault("issuer", "the issuer where the client is registered");
    return clientSecret !== undefined && clientId === undefined
      ? fault("clientId", "the client whose secret it is")
      : [];
  });
}

/** A profile is of a server that neither names itself in answers nor registers clients: both have to be known beforehand. */
export function grantProfilesAreWhole(config: Config): PlacedFault[] {
  return eachCredential(config, (credential, place) => {
    if (credential.type !== "user" || credential.profile === "standard") return [];
    const { profile, issuer, clientId } = credential;
    const needed = [
      ["issuer", issuer, `the issuer of ${profile}'s authorization server, whose answers do not name it`],
      ["clientId", clientId, `a client registered by hand, as ${profile} registers none by itself`],
    ] as const;
    return needed
      .filter(([, value]) => value === undefined)
      .map(([name, , expected]) => ({
        place: [...place, name],
        found: "nothing",
        expected,
        rule: "grantProfilesAreWhole",
      }));
  });
}

/** People connect an upstream at `/connect/{its name}`. */
export function grantUpstreamsHaveTheirPages({ upstreams }: Config): PlacedFault[] {
  const taken = Object.values<string>(connectPages);
  return Object.entries(upstreams)
    .filter(([name, { credential }]) => credential.type === "user" && taken.includes(name))
    .map(([name]) => ({
      place: ["upstreams", name],
      found: printable(name),
      expected: `another name than ${taken.join(", ")}: /connect/${name} is a page of the gateway's own`,
      rule: "grantUpstreamsHaveTheirPages",
    }));
}

export function grantIssuersAreHttps(config: Config): PlacedFault[] {
  return eachCredential(config, (credential, place) => {
    if (credential.type !== "user" || credential.issuer === undefined || isHttpsOrLoopback(credential.issuer))
      return [];
    const expected = "an https URL without query, fragment or credentials";
    const found = printable(credential.issuer);
    return [{ place: [...place, "issuer"], found, expected, rule: "grantIssuersAreHttps" }];
  });
}

/** People connect on pages, and must sign in there as those whose calls use the grant. */
export function grantsNeedPages({ auth, upstreams }: Config): PlacedFault[] {
  if (auth.kind === "none") return [];
  const { builtIn, browser } = auth;
  const ownPages = builtIn !== undefined && (builtIn.provider !== undefined || builtIn.users.length > 0);
  if (ownPages || browser !== undefined) return [];
  return Object.entries(upstreams)
    .filter(([, { credential }]) => credential.type === "user")
    .map(([name]) => ({
      place: ["upstreams", name, "credential", "type"],
      found: "user",
      expected: "auth.browser, or auth.builtIn with people: somewhere for them to sign in with a browser and connect",
      rule: "grantsNeedPages",
    }));
}

function isHttpsOrLoopback(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  if (/[?#]/u.test(text) || url.username !== "" || url.password !== "") return false;
  return url.protocol === "https:" || (url.protocol === "http:" && isLoopbackHost(url.hostname));
}

function eachCredential(
  { upstreams }: Config,
  check: (credential: CredentialConfig, place: Place) => readonly PlacedFault[],
): PlacedFault[] {
  return Object.entries(upstreams).flatMap(([name, { credential }]) =>
    check(credential, ["upstreams", name, "credential"]),
  );
}

function eachClient(
  config: Config,
  check: (client: ClientConfig, place: Place) => readonly PlacedFault[],
): PlacedFault[] {
  return eachCredential(config, (credential, place) => ("addresses" in credential ? check(credential, place) : []));
}
