import type { OpenRecords } from "./cli/token.ts";
import { openCommandStore } from "./compose-command-store.ts";
import type { Config } from "./config/types.ts";
import { writeTokenChange } from "./gateway/crossing-token.ts";

/** The store, for a command that makes or ends tokens. Rules hold that it is Redis where there are any. */
export async function openTokenRecords(config: Config): ReturnType<OpenRecords> {
  const { store, courier, close } = await openCommandStore(config);
  return {
    records: store,
    tell: (change) => courier.broadcast("token", writeTokenChange(change)),
    close,
  };
}
