import { openSealing } from "./compose-crossing.ts";
import type { Config } from "./config/types.ts";
import { createLinkBook, type LinkBook } from "./gateway/link-book.ts";
import type { Store } from "./store/store.ts";

/** Joins what results named to the store that replicas share. */
export function openLinks({ config, store }: { readonly config: Config; readonly store: Store }): LinkBook {
  return createLinkBook({ records: store, sealing: openSealing(config), now: Date.now, limits: config.limits });
}
