/** Keys that documents about the gateway mention and this version does not read: refused by name. */
export const laterKeys: ReadonlyMap<string, string> = new Map([
  ["webhook", "the webhook sink"],
  ["openTelemetry", "the OpenTelemetry sink"],
]);
