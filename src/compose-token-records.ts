import type { OpenRecords } from "./cli/token.ts";
import { openCourier } from "./compose-crossing.ts";
import type { Config } from "./config/types.ts";
import { writeTokenChange } from "./gateway/crossing-token.ts";
import { createRedisStore } from "./store/redis.ts";

/** The store, for a command that makes or ends tokens. Rules hold that it is Redis where there are any. */
export async function openTokenRecords(config: Config): ReturnType<OpenRecords> {
  if (config.store.kind === "memory") throw new Error("headless tokens without a shared store");
  const store = createRedisStore({
    url: config.store.url.reveal(),
    commandTimeoutMs: config.limits.storeCommandTimeoutMs,
  });
  // A store that is down shows at the first operation.
  await store.connection.ready(config.limits.storeConnectTimeoutMs);
  const courier = openCourier({ config, log: silent, metrics: uncounted, connection: store.connection });
  return {
    records: store,
    tell: (change) => courier.broadcast("token", writeTokenChange(change)),
    close: async () => {
      await courier.close();
      await store.close();
    },
  };
}

const nothing = (): void => undefined;
const silent = { error: nothing, warn: nothing };
const uncounted = { storeFailed: nothing };
