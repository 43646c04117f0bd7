import { createHash } from "node:crypto";
import { isJsonObject, readOwn, readOwnString } from "../model/json.ts";
import type { JsonObject } from "../model/json.ts";
import { isLogLevel } from "../model/log-level.ts";
import type { LogLevel } from "../model/log-level.ts";
import type { RecordKey } from "../model/records.ts";
import { isLegacyRevision } from "../model/revision.ts";
import { parseJsonText } from "../protocol/json/parse.ts";
import { writeJson } from "../protocol/json/write.ts";
import { identityFromInitialize } from "./identity.ts";
import { isSessionId } from "./legacy-hop.ts";
import type { LegacyGrant } from "./legacy-hop.ts";
import type { Link } from "./link.ts";
import type { OnAccountOf } from "./port.ts";

/**
 * Whose session it is: the client session's, or without one the principal's. It contains the credential that
 * opened it, since the upstream knows the session as that one's. Identifiers are digested: a client session's
 * id is a secret.
 */
export function sessionKey(link: Pick<Link, "upstream" | "credential">, account: OnAccountOf): RecordKey {
  const { tenant, principalKey, clientSession } = account;
  const owner = clientSession === undefined ? `p:${digest(principalKey)}` : `c:${digest(clientSession)}`;
  return ["upstream-session", tenant, link.upstream, link.credential.generation(account), owner];
}

/** The session as a store keeps it for other replicas. The owner's digest tells a foreign record apart. */
export function writeSessionRecord(grant: LegacyGrant, principalKey: string): string {
  const { id, revision, identity, declared } = grant;
  const { serverInfo, capabilities, instructions } = identity;
  const record: JsonObject = { v: 1, owner: digest(principalKey), revision, serverInfo, capabilities, declared };
  if (id !== undefined) record["id"] = id;
  if (instructions !== undefined) record["instructions"] = instructions;
  return writeJson(record);
}

/**
 * The session behind a record; undefined when it is not readable, so that a new session is opened, or when
 * `principalKey` is given and is not the owner's. Not checked: that the upstream still knows it.
 */
export function readSessionRecord(
  text: string,
  link: Pick<Link, "limits">,
  principalKey: string | undefined,
): LegacyGrant | undefined {
  const parsed = parseJsonText(text);
  if (!parsed.ok || !isJsonObject(parsed.value)) return undefined;
  const record = parsed.value;
  if (readOwn(record, "v") !== 1) return undefined;
  if (principalKey !== undefined && readOwn(record, "owner") !== digest(principalKey)) return undefined;
  const id = readOwnString(record, "id");
  const revision = readOwnString(record, "revision");
  if (revision === undefined || !isLegacyRevision(revision)) return undefined;
  if (id !== undefined && !isSessionId(id, link)) return undefined;
  const declared = readOwn(record, "declared");
  return {
    id,
    revision,
    identity: identityFromInitialize(record, { era: "legacy", revision }),
    // A record without it was written when nothing was declared.
    declared: isJsonObject(declared) ? declared : {},
  };
}

/** The level that the session `grant` was told; undefined when none is noted, or the record is of another session. */
export function readSessionLevel(text: string, { id }: Pick<LegacyGrant, "id">): LogLevel | undefined {
  const parsed = parseJsonText(text);
  if (!parsed.ok || readOwn(parsed.value, "id") !== id) return undefined;
  const level = readOwn(parsed.value, "logLevel");
  return isLogLevel(level) ? level : undefined;
}

/** The record with a level noted; undefined when it is not of the session `grant`. */
export function withSessionLevel(text: string, { id }: Pick<LegacyGrant, "id">, level: LogLevel): string | undefined {
  const parsed = parseJsonText(text);
  if (!parsed.ok || !isJsonObject(parsed.value) || readOwn(parsed.value, "id") !== id) return undefined;
  return writeJson({ ...parsed.value, logLevel: level });
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
