import type { LogLevel } from "../model/log-level.ts";
import type { RecordKey } from "../model/records.ts";
import type { LegacyGrant } from "./legacy-hop.ts";
import type { Link } from "./link.ts";
import type { UpstreamSessionRecords } from "./port.ts";
import { readSessionLevel, readSessionRecord, withSessionLevel, writeSessionRecord } from "./session-record.ts";

/**
 * Sessions as the store keeps them for other replicas. It serves reuse and tidiness, not security: when the
 * store is down, sessions are opened per replica and live in memory. Nothing here rejects; a failure is
 * logged and reads as absent.
 */
export interface SessionStore {
  /** Without `owner` the session of whoever opened it. */
  load(link: Link, key: RecordKey, owner?: string): Promise<LegacyGrant | undefined>;
  save(key: RecordKey, grant: LegacyGrant, owner: string): Promise<void>;
  /** The log level that any replica has told the upstream in this session. */
  level(key: RecordKey, grant: LegacyGrant): Promise<LogLevel | undefined>;
  /** Notes it. Does nothing when the record is of another session by now, or changes meanwhile. */
  noteLevel(key: RecordKey, grant: LegacyGrant, level: LogLevel): Promise<void>;
  touch(key: RecordKey): Promise<void>;
  remove(key: RecordKey): Promise<void>;
  /** True only when the store says that there is no record. */
  isGone(key: RecordKey): Promise<boolean>;
}

export function createSessionStore(
  records: UpstreamSessionRecords,
  ttlMs: number,
  log: (event: string, facts: Readonly<Record<string, unknown>>) => void,
): SessionStore {
  const attempt = async <T>(operation: string, work: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await work();
    } catch (fault) {
      const name = fault instanceof Error ? fault.name : "unknown";
      log("upstream-session-record-unavailable", { operation, fault: name });
      return undefined;
    }
  };
  return {
    async load(link, key, owner) {
      const text = await attempt("load", () => records.get(key));
      return text === undefined ? undefined : readSessionRecord(text, link, owner);
    },
    async save(key, grant, owner) {
      await attempt("save", () => records.set(key, writeSessionRecord(grant, owner), ttlMs));
    },
    async level(key, grant) {
      const text = await attempt("load", () => records.get(key));
      return text === undefined ? undefined : readSessionLevel(text, grant);
    },
    async noteLevel(key, grant, level) {
      await attempt("save", async () => {
        const text = await records.get(key);
        const noted = text === undefined ? undefined : withSessionLevel(text, grant, level);
        if (text !== undefined && noted !== undefined) await records.replace(key, text, noted, ttlMs);
      });
    },
    async touch(key) {
      await attempt("touch", () => records.touch(key, ttlMs));
    },
    async remove(key) {
      await attempt("delete", () => records.delete(key));
    },
    async isGone(key) {
      return (await attempt("load", async () => (await records.get(key)) === undefined)) === true;
    },
  };
}
