/** Public identifiers: whatever peers, operators or stores see and may come to depend on. */

/** Prefix of the gateway's own `_meta` keys. */
export const metaPrefix = "io.sallyport/";
export const storeKeyPrefix = "sallyport";
export const metricPrefix = "sallyport_";

/** Server names that would collide with the gateway's own routes. */
export const reservedServerNames: readonly string[] = [
  ".well-known",
  "authorize",
  "token",
  "register",
  "connect",
  "files",
  "oauth",
];

/** Pages below `/connect`; every other single segment there names an upstream. */
export const connectPages = {
  signIn: "sign-in",
  signOut: "sign-out",
  callback: "callback",
  granted: "granted",
  revoke: "revoke",
} as const;

/** `_meta` keys of revision 2026-07-28 (basic, "_meta"). */
export const protocolVersionMetaKey = "io.modelcontextprotocol/protocolVersion";
export const clientInfoMetaKey = "io.modelcontextprotocol/clientInfo";
export const clientCapabilitiesMetaKey = "io.modelcontextprotocol/clientCapabilities";
export const serverInfoMetaKey = "io.modelcontextprotocol/serverInfo";
export const logLevelMetaKey = "io.modelcontextprotocol/logLevel";
export const subscriptionIdMetaKey = "io.modelcontextprotocol/subscriptionId";
/** 2025-11-25, tasks, "Related Task Metadata". */
export const relatedTaskMetaKey = "io.modelcontextprotocol/related-task";

/** Extensions that this gateway knows by name. */
export const tasksExtension = "io.modelcontextprotocol/tasks";
export const uiExtension = "io.modelcontextprotocol/ui";
