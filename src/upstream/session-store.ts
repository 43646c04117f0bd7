import type { RecordKey } from "../model/records.ts";
import type { LegacyGrant } from "./legacy-hop.ts";
import type { Link } from "./link.ts";
import type { UpstreamSessionRecords } from "./port.ts";
import { readSessionRecord, writeSessionRecord } from "./session-record.ts";

/**
 * Sessions as the store keeps them for other replicas. It serves reuse and tidiness, not security: when the
 * store is down, sessions are opened per replica and live in memory. Nothing here rejects; a failure is
 * logged and reads as absent.
 */
export interface SessionStore {
  /** Without `owner` the session of whoever opened it. */
  load(link: Link, key: RecordKey, owner?: string): Promise<LegacyGrant | undefined>;
  save(key: RecordKey, grant: LegacyGrant, owner: string): Promise<void>;
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
