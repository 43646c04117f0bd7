import { printable, type PlacedFault } from "./fault.ts";
import { repeated } from "./rules-auth.ts";
import type { BuiltInConfig } from "./types-built-in.ts";
import type { Config } from "./types.ts";

const place = ["auth", "builtIn"] as const;

/** A username leads to one user and a subject to one principal; a client must not be taken for a user either. */
export function builtInNamesAreUnique(config: Config): PlacedFault[] {
  const builtIn = builtInOf(config);
  if (builtIn === undefined) return [];
  const usernames = builtIn.users.map((user, index) => ({
    text: user.username,
    place: [...place, "users", index, "username"],
  }));
  const clientIds = builtIn.clients.map((client, index) => ({
    text: client.clientId,
    place: [...place, "clients", index, "clientId"],
  }));
  const subjects = builtIn.users.map((user, index) => ({
    text: user.subject,
    place: [...place, "users", index, user.subject === user.username ? "username" : "subject"],
  }));
  const twice = [...repeated(usernames), ...repeated([...clientIds, ...subjects])];
  return repeatedOnce(twice).map(({ text, place: at }) => ({
    place: at,
    found: printable(text),
    expected: "a name that no other user or client has",
    rule: "builtInNamesAreUnique",
  }));
}

/** One fault a place: two equal usernames are two equal subjects as well. */
function repeatedOnce<T extends { place: readonly (string | number)[] }>(items: readonly T[]): T[] {
  return [...new Map(items.map((item) => [JSON.stringify(item.place), item])).values()];
}

export function clientScopesAreSupported(config: Config): PlacedFault[] {
  const supported = supportedScopes(config);
  return (builtInOf(config)?.clients ?? []).flatMap((client, index) =>
    (client.scopes ?? [])
      .filter((scope) => !supported.has(scope))
      .map((scope) => ({
        place: [...place, "clients", index, "scopes"],
        found: printable(scope),
        expected: "a scope that some server lists under scopes.supported",
        rule: "clientScopesAreSupported",
      })),
  );
}

/** A scope that no server knows is a misspelt one, and would leave somebody without what was meant. */
export function permittedScopesAreSupported(config: Config): PlacedFault[] {
  const builtIn = builtInOf(config);
  const supported = supportedScopes(config);
  const permitted = [
    ...(builtIn?.users ?? []).map(({ scopes }, index) => ({ scopes, at: [...place, "users", index, "scopes"] })),
    ...Object.entries(builtIn?.scopesByGroup ?? {}).map(([group, scopes]) => ({
      scopes,
      at: [...place, "scopesByGroup", group],
    })),
  ];
  return permitted.flatMap(({ scopes = [], at }) =>
    scopes
      .filter((scope) => !supported.has(scope))
      .map((scope) => ({
        place: at,
        found: printable(scope),
        expected: "a scope that some server lists under scopes.supported",
        rule: "permittedScopesAreSupported",
      })),
  );
}

function supportedScopes(config: Config): ReadonlySet<string> {
  return new Set(Object.values(config.servers).flatMap((server) => server.scopes.supported));
}

/** RFC 8252 §7.1. A browser runs or shows these itself, so a code sent there reaches whoever wrote the link. */
export const notPrivateUse: ReadonlySet<string> = new Set(
  "http https javascript data file blob about view-source vbscript ws wss ftp mailto".split(" "),
);

export function redirectSchemesArePrivateUse(config: Config): PlacedFault[] {
  return (builtInOf(config)?.redirectSchemes ?? []).flatMap((scheme, index) =>
    notPrivateUse.has(scheme)
      ? [
          {
            place: [...place, "redirectSchemes", index],
            found: printable(scheme),
            expected: "a private-use scheme, such as com.example.app",
            rule: "redirectSchemesArePrivateUse",
          },
        ]
      : [],
  );
}

/** A public or symmetric key could not sign what anybody else can verify. The text itself is never shown. */
export function signingKeysAreAPrivateJwkSet(config: Config): PlacedFault[] {
  const keys = builtInOf(config)?.signingKeys?.reveal() ?? "";
  if (keys === "" || isKeySet(keys, "private")) return [];
  const found = "something else";
  const expected = 'JSON such as {"keys": [...]} with private RSA, EC or OKP keys (RFC 7517 §5)';
  return [{ place: [...place, "signingKeys"], found, expected, rule: "signingKeysAreAPrivateJwkSet" }];
}

/** Whether a text is a JWK set of asymmetric keys, each with its private half or each without. */
export function isKeySet(text: string, half: "private" | "public"): boolean {
  const keys = memberOf(parsed(text), "keys");
  return Array.isArray(keys) && keys.length > 0 && keys.every((key) => isKey(key, half));
}

function isKey(key: unknown, half: "private" | "public"): boolean {
  const kty = memberOf(key, "kty");
  const isPrivate = typeof memberOf(key, "d") === "string";
  return (kty === "RSA" || kty === "EC" || kty === "OKP") && isPrivate === (half === "private");
}

function memberOf(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, key) ? Reflect.get(value, key) : undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

export function builtInOf({ auth }: Config): BuiltInConfig | undefined {
  return auth.kind === "none" ? undefined : auth.builtIn;
}
