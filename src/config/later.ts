/** Keys that documents about the gateway mention and this version does not read: refused by name. */
export const laterKeys: ReadonlyMap<string, string> = new Map([
  ["catalogLock", "the catalog lock"],
  ["presentations", "naming items differently for different principals"],
  ["webhook", "the webhook sink"],
  ["openTelemetry", "the OpenTelemetry sink"],
]);
