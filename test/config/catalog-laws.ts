import type { Law } from "./built-in-laws.ts";
import { presentingLaws } from "./presenting-laws.ts";

const browser = { issuer: "corp", clientId: "gateway" };

/** Of what is read of upstreams, and of how it is shown. */
export const catalogLaws: readonly Law[] = [
  ...presentingLaws,
  {
    rule: "personalCatalogsNeedCallers",
    at: "upstreams.crm.catalogFrom",
    broken: [["upstreams.crm.catalogFrom", "user"]],
    held: [["upstreams.crm.catalogFrom", "service"]],
  },
  {
    rule: "personalCatalogsNeedCallers",
    at: "upstreams.crm.catalogFrom",
    broken: [
      ["upstreams.crm.catalogFrom", "user"],
      ["upstreams.crm.credential", { type: "none" }],
    ],
    held: [
      ["upstreams.crm.catalogFrom", "user"],
      ["upstreams.crm.credential", { type: "assertion" }],
    ],
  },
  {
    rule: "userGrantsReadForThemselves",
    at: "upstreams.crm.catalogFrom",
    broken: [
      ["auth.browser", browser],
      ["upstreams.crm.credential", { type: "user" }],
      ["upstreams.crm.catalogFrom", "service"],
    ],
    held: [
      ["auth.browser", browser],
      ["upstreams.crm.credential", { type: "user" }],
    ],
  },
  {
    rule: "userGrantsReadForThemselves",
    at: "upstreams.crm.catalogFrom",
    broken: [
      ["auth.browser", browser],
      ["catalogLock", "./x.json"],
      ["upstreams.crm.credential", { type: "user" }],
      ["upstreams.crm.catalogFrom", "service"],
    ],
    held: [
      ["auth.browser", browser],
      ["catalogLock", "./x.json"],
      ["upstreams.crm.credential", { type: "user" }],
      ["upstreams.crm.catalogFrom", "lock"],
    ],
  },
];
