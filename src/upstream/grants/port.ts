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

/** What became of somebody's grant. No token is in it. */
export interface GrantChange {
  /** `opened`: to one more client of the gateway. `lost`: the authorization server ended it; `reason` says how. */
  readonly did: "connected" | "opened" | "revoked" | "lost" | "assigned";
  readonly person: Person;
  readonly upstream: string;
  /** The upstream's authorization server. */
  readonly issuer: string;
  readonly scopes: readonly string[];
  /** The client that the person admitted; empty where none is meant in particular. */
  readonly clientId: string;
  readonly reason?: string;
}

/** An upstream names another authorization server than the one that its grants are from. */
export interface Quarantine {
  readonly upstream: string;
  readonly known: string;
  /** As the upstream names them: of unchecked form. */
  readonly found: readonly string[];
}

/** Where facts about grants go for the evidence. Neither throws nor waits. */
export interface GrantWitness {
  changed(change: GrantChange): void;
  quarantined(quarantine: Quarantine): void;
}
