import type { RecordReads, RecordSets, RecordWrites } from "../model/records.ts";

/** What sessions need of a store. */
export type SessionRecords = RecordReads &
  Pick<RecordWrites, "set" | "setIfAbsent" | "replace" | "touch" | "delete"> &
  Pick<RecordSets, "addMember" | "removeMember" | "members">;
