import { openCourier } from "./compose-crossing.ts";
import type { Config } from "./config/types.ts";
import type { ClosableCourier } from "./store/courier-local.ts";
import { createRedisStore, type RedisStore } from "./store/redis.ts";

/** The shared store as a command works on it, and the way to the replicas. */
export interface CommandStore {
  readonly store: RedisStore;
  readonly courier: ClosableCourier;
  readonly close: () => Promise<void>;
}

/** What a command does is said by the command; the rooms it borrows keep quiet. */
export const silent: Readonly<Record<"error" | "warn" | "info", () => void>> = {
  error: () => undefined,
  warn: () => undefined,
  info: () => undefined,
};

/** Throws for a store in memory, which no command reaches: rules and commands hold that before. */
export async function openCommandStore(config: Config): Promise<CommandStore> {
  const { store: kept, limits } = config;
  if (kept.kind === "memory") throw new Error("a command without a shared store");
  const store = createRedisStore({ url: kept.url.reveal(), commandTimeoutMs: limits.storeCommandTimeoutMs });
  // A store that does not get there answers the first operation so.
  await store.connection.ready(limits.storeConnectTimeoutMs);
  const courier = openCourier({
    config,
    log: silent,
    metrics: { storeFailed: () => undefined },
    connection: store.connection,
  });
  return {
    store,
    courier,
    close: async () => {
      await courier.close();
      await store.close();
    },
  };
}
