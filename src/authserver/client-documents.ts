import { errors } from "oidc-provider";
import type { AdapterPayload } from "oidc-provider";
import { limits } from "../model/limits.ts";
import type { RecordKey } from "../model/records.ts";
import { createDocumentMemory, type DocumentRead, type KnownDocument } from "./client-document-memory.ts";
import { isDocumentClientId } from "./client-document.ts";
import { digestOf } from "./digest.ts";
import { createFetchLane } from "./fetch-lane.ts";
import type { GrantRecords } from "./port.ts";
import { readDocumentAt, type DocumentReader } from "./read-client-document.ts";

/** Clients whose `client_id` is the URL of their metadata document. */
export interface ClientDocuments {
  /**
   * Undefined for an id that is no such URL. Rejects with `InvalidClient` for a document that cannot be used,
   * and with `TemporarilyUnavailable` where it could not be had.
   */
  find(clientId: string): Promise<AdapterPayload | undefined>;
  /** Somebody consented to the client, or used what they consented to. Does nothing for an id that is no such URL. */
  noteUse(clientId: string): Promise<void>;
}

export interface ClientDocumentParts extends DocumentReader {
  readonly records: Pick<GrantRecords, "get" | "set">;
}

/**
 * Reads documents under the egress guard and keeps them for as long as their servers say, within bounds, so that
 * a change is seen after an hour at the latest. While a document's server fails, or nothing more may be fetched, the last
 * good reading serves another day: neither a failure of theirs nor a crowd here must make clients throw their sign-ins
 * away. One reading at a time for each document, and few in all, since strangers name them: documents to which nobody has
 * consented have a lane of their own, and take nothing from the others. Kept per process, but for who is in use.
 */
export function createClientDocuments(parts: ClientDocumentParts): ClientDocuments {
  const { records, now } = parts;
  const memory = createDocumentMemory();
  const pending = new Map<string, Promise<KnownDocument>>();
  const lanes = { inUse: createFetchLane(now), offered: createFetchLane(now) };
  const isInUse = async (clientId: string): Promise<boolean> => (await records.get(useKey(clientId))) !== undefined;
  const readAnew = async (clientId: string, before: KnownDocument | undefined): Promise<KnownDocument> => {
    const inUse = before?.inUse === true || (await isInUse(clientId));
    const lane = inUse ? lanes.inUse : lanes.offered;
    if (!lane.enter()) {
      if (mayStillServe(before, now())) return before;
      throw unavailable();
    }
    try {
      const read = await readDocumentAt(clientId, parts, () => lane.another());
      const next = { ...stillServing(before, read, now()), inUse };
      memory.keep(clientId, next);
      return next;
    } finally {
      lane.leave();
    }
  };
  const current = (clientId: string): Promise<KnownDocument> | KnownDocument => {
    const known = memory.get(clientId);
    if (known !== undefined && known.freshUntil > now()) return known;
    const running = pending.get(clientId);
    if (running !== undefined) return running;
    const reading = readAnew(clientId, known).finally(() => pending.delete(clientId));
    pending.set(clientId, reading);
    return reading;
  };
  return {
    find: async (clientId) => {
      if (!isDocumentClientId(clientId)) return undefined;
      const { outcome } = await current(clientId);
      if (outcome.kind === "good") return { ...outcome.metadata };
      if (outcome.kind === "unreachable") throw unavailable();
      throw new errors.InvalidClient(`the client metadata document cannot be used: ${outcome.reason}`);
    },
    noteUse: async (clientId) => {
      if (!isDocumentClientId(clientId)) return;
      const known = memory.get(clientId);
      if (known !== undefined) memory.keep(clientId, { ...known, inUse: true });
      await records.set(useKey(clientId), "1", limits.oauthRegistrationIdleMs);
    },
  };
}

/** Of a server that fails: the reading of before, asked anew after the time a failure is remembered. */
function stillServing(before: KnownDocument | undefined, read: DocumentRead, now: number): DocumentRead {
  const stays = read.outcome.kind === "unreachable" && mayStillServe(before, now);
  return stays ? { ...before, freshUntil: read.freshUntil } : read;
}

function mayStillServe(before: KnownDocument | undefined, now: number): before is KnownDocument {
  return before?.outcome.kind === "good" && now - before.readAt <= limits.oauthClientDocumentStaleMsMax;
}

/** Shared, so that a replica that has never seen the client reads its document in the lane of those in use. */
function useKey(clientId: string): RecordKey {
  return ["oauthDocumentsUsed", "default", digestOf(clientId)];
}

function unavailable(): errors.TemporarilyUnavailable {
  return new errors.TemporarilyUnavailable("the client metadata document cannot be had at the moment");
}
