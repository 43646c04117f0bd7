import { randomBytes } from "node:crypto";
import type { Config } from "./config/types.ts";
import { createAsking, type Asking } from "./gateway/asking/asking.ts";
import type { Courier } from "./model/courier.ts";
import type { Store } from "./store/store.ts";

export function openAsking(of: { readonly config: Config; readonly store: Store; readonly courier: Courier }): Asking {
  const { config, store, courier } = of;
  return createAsking({ records: store, courier, random: randomBytes, now: Date.now, limits: config.limits });
}
