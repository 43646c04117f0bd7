import type { AuditEvent } from "./event.ts";

/** One place where evidence goes. */
export interface AuditSink {
  readonly name: string;
  /**
   * Writes events in order, each as its line without the line break; resolves when they are as durable as this
   * sink makes them. Rejects when it cannot.
   */
  write(lines: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

/** What `gateway` calls. `record` never throws; it reports whether the event is certain to be kept. */
export interface Evidence {
  /**
   * Puts one event into the queue of every sink. False when audit is `required` and a required sink is
   * full or failing: the caller then refuses with AUDIT_UNAVAILABLE. `digests` are of what the event was decided under;
   * undefined: what is in force now.
   */
  record(event: AuditDraft, digests?: AuditEvent["digests"]): boolean;
  /** Resolves once everything recorded before is written (used by "no record, no forward"); false as above. */
  settled(): Promise<boolean>;
  /** The same of every sink, best-effort ones too; false as well where one of them has no room, or there is none. */
  settledEverywhere(): Promise<boolean>;
  close(): Promise<void>;
}

/** An event before the recorder gives it sequence, time, replica, hash chain and configuration digests. */
export type AuditDraft = Omit<AuditEvent, "v" | "seq" | "at" | "replica" | "prev" | "hash" | "digests">;

/** An append-only stream in a shared store. */
export interface StreamWriter {
  /**
   * Appends the entries in order, all of them or none, and trims the stream to about `lengthMax`
   * entries. Rejects when it cannot; the entries may then stand in the stream all the same.
   */
  append(stream: string, entries: readonly string[], lengthMax: number): Promise<void>;
}

export interface StreamEntry {
  readonly id: string;
  readonly text: string;
}

export interface StreamReader {
  /** At most `countMax` entries in order, from the stream's start or after the entry with this id. */
  read(stream: string, after: string | undefined, countMax: number): Promise<readonly StreamEntry[]>;
}
