import { createHmac, timingSafeEqual } from "node:crypto";
import { parseJsonText } from "../protocol/json/parse.ts";
import { writeJson } from "../protocol/json/write.ts";
import { isJsonObject, readOwn, readOwnString } from "../model/json.ts";
import type { Json, JsonObject } from "../model/json.ts";
import type { RecordKey } from "../model/records.ts";
import { isLegacyRevision } from "../model/revision.ts";
import type { LegacyRevision } from "../model/revision.ts";
import { isLogLevel, type LogLevel } from "../model/log-level.ts";

/** A legacy session as it is kept. */
export interface Session {
  /** What `Mcp-Session-Id` says. */
  readonly id: string;
  readonly tenant: string;
  readonly server: string;
  /** `Principal.key` of whoever opened it. */
  readonly principalKey: string;
  readonly revision: LegacyRevision;
  readonly clientInfo: JsonObject;
  readonly clientCapabilities: JsonObject;
  /** What the client asked for with `logging/setLevel`; undefined until it did. */
  readonly logLevel: LogLevel | undefined;
  /** Milliseconds since the epoch. `seenAt` lags behind the last use by up to `sessionTouchMsMin`. */
  readonly openedAt: number;
  readonly seenAt: number;
}

export interface MacKey {
  /** Names the key inside records: letters, digits, `-` and `_`. */
  readonly kid: string;
  /** At least 32 bytes (RFC 2104 §3: not shorter than the hash). */
  readonly key: Uint8Array;
}

/** The first key writes; every key reads, so that keys can be rotated without ending sessions. */
export type MacKeys = readonly [current: MacKey, ...previous: MacKey[]];

export function sessionKey(tenant: string, id: string): RecordKey {
  return ["session", tenant, id];
}

/**
 * A session as `kid.mac.json`. The MAC (HMAC-SHA-256) covers the record's key too: a record copied to
 * another id, or to another tenant, does not verify. It does not tell an older copy of the same record.
 */
export function writeSession(session: Session, [current]: MacKeys): string {
  const { id, tenant, logLevel, ...content } = session;
  const text = writeJson(logLevel === undefined ? content : { ...content, logLevel });
  return `${current.kid}.${macOf(sessionKey(tenant, id), text, current).toString("base64url")}.${text}`;
}

/** Undefined for a record that none of the keys vouches for, or that another version of the gateway wrote. */
export function readSession(
  record: string,
  { tenant, id }: Pick<Session, "tenant" | "id">,
  keys: MacKeys,
): Session | undefined {
  const kidEnd = record.indexOf(".");
  const macEnd = record.indexOf(".", kidEnd + 1);
  const key = keys.find((one) => one.kid === record.slice(0, kidEnd));
  if (kidEnd < 0 || macEnd < 0 || key === undefined) return undefined;
  const text = record.slice(macEnd + 1);
  const mac = Buffer.from(record.slice(kidEnd + 1, macEnd), "base64url");
  const expected = macOf(sessionKey(tenant, id), text, key);
  if (mac.length !== expected.length || !timingSafeEqual(mac, expected)) return undefined;
  const parsed = parseJsonText(text);
  return parsed.ok ? sessionOf(parsed.value, { tenant, id }) : undefined;
}

function macOf(key: RecordKey, text: string, { key: secret }: MacKey): Buffer {
  // JSON text of the key holds no line feed, so key and content cannot run into each other.
  return createHmac("sha256", secret)
    .update(`${JSON.stringify(key)}\n${text}`)
    .digest();
}

function sessionOf(value: Json, which: Pick<Session, "tenant" | "id">): Session | undefined {
  const server = readOwnString(value, "server");
  const principalKey = readOwnString(value, "principalKey");
  const revision = readOwnString(value, "revision");
  const clientInfo = readOwn(value, "clientInfo");
  const clientCapabilities = readOwn(value, "clientCapabilities");
  const times = timesOf(value);
  if (server === undefined || principalKey === undefined || times === undefined) return undefined;
  if (revision === undefined || !isLegacyRevision(revision)) return undefined;
  if (!isJsonObject(clientInfo) || !isJsonObject(clientCapabilities)) return undefined;
  const logLevel = readOwn(value, "logLevel");
  if (logLevel !== undefined && !isLogLevel(logLevel)) return undefined;
  return { ...which, server, principalKey, revision, clientInfo, clientCapabilities, logLevel, ...times };
}

function timesOf(value: Json): Pick<Session, "openedAt" | "seenAt"> | undefined {
  const openedAt = readOwn(value, "openedAt");
  const seenAt = readOwn(value, "seenAt");
  return typeof openedAt === "number" && typeof seenAt === "number" ? { openedAt, seenAt } : undefined;
}
