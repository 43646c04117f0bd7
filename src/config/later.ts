/** Keys that documents about the gateway mention and this version does not read: refused by name. */
export const laterKeys: ReadonlyMap<string, string> = new Map([
  ["catalogLock", "the catalog lock"],
  ["presentations", "naming items differently for different principals"],
  ["introspection", "token introspection"],
  ["dpop", "DPoP"],
  ["webhook", "the webhook sink"],
  ["openTelemetry", "the OpenTelemetry sink"],
]);

/** Credential types of which the same holds. */
export const laterCredentials: ReadonlyMap<string, string> = new Map([
  ["assertion", "the gateway's own signed assertion"],
  ["tokenExchange", "token exchange (RFC 8693)"],
  ["identityAssertion", "the identity assertion grant"],
  ["grant", "the user's own grant"],
]);
