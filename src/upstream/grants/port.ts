import type { RecordCounters, RecordReads, RecordSets, RecordWrites } from "../../model/records.ts";

/** What grants need of a store. */
export type GrantRecords = Pick<RecordReads, "get"> &
  Pick<RecordWrites, "set" | "setIfAbsent" | "replace" | "touch" | "delete" | "take"> &
  Pick<RecordSets, "addMember" | "removeMember" | "members"> &
  Pick<RecordCounters, "increment">;

/**
 * Authenticated encryption of what is kept at rest. `open` gives undefined for whatever was not sealed with this
 * very associated text, by a key that is current or was before.
 */
export interface Sealer {
  seal(associated: string, text: string): string;
  open(associated: string, sealed: string): string | undefined;
}

/** Whose grant it is: a person or a service, whatever client acts for them. */
export interface Person {
  readonly tenant: string;
  readonly issuer: string;
  readonly subject: string;
}
