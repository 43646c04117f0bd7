import type { RecordReads, RecordSets, RecordWrites } from "../model/records.ts";

/** What the built-in authorization server needs of a store: codes, grants, clients, sessions, keys. */
export type GrantRecords = RecordReads & RecordWrites & RecordSets;
