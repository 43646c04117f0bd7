import type { RecordKey, RecordReads, RecordWrites } from "../../model/records.ts";
import { readOwnString } from "../../model/json.ts";
import { parseJsonText } from "../../protocol/json/parse.ts";
import { writeJson } from "../../protocol/json/write.ts";
import type { SessionName } from "./stream-notes.ts";

export type HolderRecords = RecordReads & Pick<RecordWrites, "set" | "setIfAbsent" | "replace">;

/** Which stream a session has, and on which replica. */
export interface Holder {
  /** The replica's courier address. */
  readonly address: string;
  readonly stream: string;
}

/** Who holds the GET stream of a session, where every replica finds it. Every operation rejects with `StoreUnavailable`. */
export interface StreamHolders {
  /** Takes the place, whoever has it, and returns who had it. */
  claim(session: SessionName, holder: Holder): Promise<Holder | undefined>;
  /** Stays in the place; false when another stream has it by now. */
  keep(session: SessionName, holder: Holder): Promise<boolean>;
  /** Leaves the place, unless another stream has it by now. */
  leave(session: SessionName, holder: Holder): Promise<void>;
  find(session: SessionName): Promise<Holder | undefined>;
}

/** A record lives `lifeMs` beyond its last `keep`, so that nothing is sent for long to a replica that died. */
export function createStreamHolders(records: HolderRecords, lifeMs: number): StreamHolders {
  const find = async (session: SessionName): Promise<Holder | undefined> =>
    readHolder(await records.get(holderKey(session)));
  return {
    claim: async (session, holder) => {
      const before = await find(session);
      await records.set(holderKey(session), writeHolder(holder), lifeMs);
      return before;
    },
    keep: async (session, holder) => {
      const text = writeHolder(holder);
      const kept = await records.replace(holderKey(session), text, text, lifeMs);
      // Absent after an outage, or when the one before let go just now: the place is free to take.
      return kept || records.setIfAbsent(holderKey(session), text, lifeMs);
    },
    leave: async (session, holder) => {
      // A record of one millisecond more: to compare and delete is no operation of a store.
      await records.replace(holderKey(session), writeHolder(holder), "", 1);
    },
    find,
  };
}

function holderKey({ tenant, id }: SessionName): RecordKey {
  return ["stream", tenant, id];
}

function writeHolder({ address, stream }: Holder): string {
  return writeJson({ address, stream });
}

function readHolder(record: string | undefined): Holder | undefined {
  const parsed = record === undefined || record === "" ? undefined : parseJsonText(record);
  if (parsed?.ok !== true) return undefined;
  const address = readOwnString(parsed.value, "address");
  const stream = readOwnString(parsed.value, "stream");
  return address === undefined || stream === undefined ? undefined : { address, stream };
}
