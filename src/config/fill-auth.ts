import { defaults } from "./defaults.ts";
import { fillBuiltIn } from "./fill-built-in.ts";
import { fillIssuer } from "./fill-issuer.ts";
import { mapByName } from "./map-by-name.ts";
import type { RawAuth, RawBrowser, RawHeadless } from "./raw.ts";
import type { SecretReader } from "./secret-reader.ts";
import type { AuthConfig, BrowserConfig, HeadlessConfig } from "./types-auth.ts";

/** `none` beside issuers is refused by `authIsNoneOrIssuers`. */
export function fillAuth(raw: RawAuth, secrets: SecretReader): AuthConfig {
  if (raw.none === true) return { kind: "none" };
  return {
    kind: "issuers",
    issuers: (raw.issuers ?? []).map((issuer, index) => fillIssuer(issuer, ["auth", "issuers", index], secrets)),
    builtIn: raw.builtIn === undefined ? undefined : fillBuiltIn(raw.builtIn, secrets),
    browser: raw.browser === undefined ? undefined : fillBrowser(raw.browser, secrets),
    headless: raw.headless === undefined ? undefined : fillHeadless(raw.headless),
    scopeImplications: mapByName(raw.scopeImplications ?? {}, (implied) => implied),
  };
}

function fillHeadless({ alias, tenant }: RawHeadless): HeadlessConfig {
  return { alias: alias ?? defaults.headlessAlias, tenant: tenant ?? defaults.tenant };
}

function fillBrowser({ issuer, clientId, clientSecret, scopes }: RawBrowser, secrets: SecretReader): BrowserConfig {
  return {
    issuer,
    clientId,
    clientSecret: secrets.readOptional(["auth", "browser", "clientSecret"], clientSecret),
    scopes: scopes ?? defaults.browserScopes,
  };
}
