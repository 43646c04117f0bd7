import type { Law } from "./built-in-laws.ts";

const builtIn = { users: [{ username: "ada", password: "${env:SECRET}" }] };
const browser = { issuer: "corp", clientId: "gateway" };
const files = { routes: ["/reports/*"], types: ["application/pdf"] };

/** Of `auth.browser`. */
export const browserLaws: readonly Law[] = [
  {
    rule: "browserNamesAnIssuer",
    at: "auth.browser.issuer",
    broken: [["auth.browser", { ...browser, issuer: "local" }]],
    held: [["auth.browser", browser]],
  },
  {
    rule: "browserNamesAnIssuer",
    at: "auth.browser.issuer",
    broken: [["auth", { builtIn, browser }]],
    held: [["auth", { builtIn }]],
  },
  {
    rule: "filesStandApartFromSignInPages",
    at: "upstreams.crm.files",
    broken: [
      ["auth.browser", browser],
      ["upstreams.crm.files", files],
    ],
    held: [["auth.browser", browser]],
  },
];
