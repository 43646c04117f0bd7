import type { HeadlessRecords } from "./auth/port.ts";
import type { Config } from "./config/types.ts";
import { createRedisStore } from "./store/redis.ts";

/** The store, for a command that makes or ends tokens. Rules hold that it is Redis where there are any. */
export async function openTokenRecords(
  config: Config,
): Promise<{ records: HeadlessRecords; close: () => Promise<void> }> {
  if (config.store.kind === "memory") throw new Error("headless tokens without a shared store");
  const store = createRedisStore({
    url: config.store.url.reveal(),
    commandTimeoutMs: config.limits.storeCommandTimeoutMs,
  });
  // A store that is down shows at the first operation.
  await store.connection.ready(config.limits.storeConnectTimeoutMs);
  return { records: store, close: () => store.close() };
}
