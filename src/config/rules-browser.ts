import { printable, type PlacedFault } from "./fault.ts";
import type { RawConfig } from "./raw.ts";

/** People of the built-in server sign in there; the browser client is for those of an issuer that is elsewhere. */
export function browserNamesAnIssuer({ auth }: RawConfig): PlacedFault[] {
  const { browser, issuers = [] } = auth;
  if (browser === undefined || issuers.some(({ alias }) => alias === browser.issuer)) return [];
  const expected = `the alias of one of auth.issuers (${issuers.map(({ alias }) => alias).join(", ") || "there is none"})`;
  return [
    { place: ["auth", "browser", "issuer"], found: printable(browser.issuer), expected, rule: "browserNamesAnIssuer" },
  ];
}
