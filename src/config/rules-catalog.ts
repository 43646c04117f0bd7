import type { PlacedFault } from "./fault.ts";
import type { Config } from "./types.ts";

/** Credential types with which an upstream sees who calls. */
const ofCallers: ReadonlySet<string> = new Set(["assertion", "tokenExchange", "identityAssertion", "user"]);

/** With a credential that is the same for everybody, lists are the same too, and reading them for each is for nothing. */
export function personalCatalogsNeedCallers({ upstreams, auth }: Config): PlacedFault[] {
  return Object.entries(upstreams).flatMap(([name, { catalogFrom, credential }]) => {
    if (catalogFrom !== "user" || (auth.kind !== "none" && ofCallers.has(credential.type))) return [];
    const found = auth.kind === "none" ? "auth: { none: true }" : `credential.type: ${credential.type}`;
    const expected = "service, or authentication and a credential that differs by caller";
    return [{ place: ["upstreams", name, "catalogFrom"], found, expected, rule: "personalCatalogsNeedCallers" }];
  });
}

/** The gateway itself has no grant at such an upstream, so it could read nothing. */
export function userGrantsReadForThemselves({ upstreams }: Config): PlacedFault[] {
  return Object.entries(upstreams).flatMap(([name, { catalogFrom, credential }]) => {
    if (credential.type !== "user" || catalogFrom !== "service") return [];
    const place = ["upstreams", name, "catalogFrom"];
    return [{ place, found: catalogFrom, expected: "user or lock", rule: "userGrantsReadForThemselves" }];
  });
}
