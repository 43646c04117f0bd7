import type { AdapterPayload } from "oidc-provider";
import { limits } from "../model/limits.ts";
import type { RecordKey } from "../model/records.ts";
import { digestOf } from "./digest.ts";
import type { GrantRecords } from "./port.ts";

const tenant = "default";

/** Records that share a bound. `key` is the set of their digests. */
interface Room {
  readonly key: RecordKey;
  readonly max: number;
}

/** A record that was written: the digest of its id, and how long it lives. */
interface Written {
  readonly payload: AdapterPayload;
  readonly digest: string;
  readonly ttlMs: number;
}

/**
 * Bounds what can be written without signing in, so that sessions, codes and denied tokens find room in the store that
 * all share. The newest is let in and the oldest leave: whoever writes very many leaves others less time to sign in, and
 * cannot keep anybody from beginning. Counted for all addresses together, as one network has as many as it likes.
 *
 * An authorization in which somebody signed in leaves the strangers' room for one of this person's own: no stranger pushes
 * it out. The client that it is for stays until somebody consents: to begin an authorization costs whoever has signed in
 * nothing, and registrations that leave by it would have no bound. While replicas write at once there can be one record more
 * for each of these writes. Call it once the record is written; `drop` removes one.
 */
export async function boundStrangers(
  model: string,
  records: GrantRecords,
  written: Written,
  drop: (digest: string) => Promise<void>,
): Promise<void> {
  const room = roomOf(model, written.payload);
  if (room === undefined) return;
  if (room.signedIn) await leaveRoom("Interaction", records, written.digest);
  if ((await records.addMember(room.key, written.digest, written.ttlMs)) <= room.max) return;
  // Some at a time, so that not every write of a flood has to look for the oldest.
  const batch = Math.min(limits.oauthEvictedRecordsMax, Math.ceil(room.max / 20));
  const evicted = await records.takeExcess(room.key, { keepMax: room.max - batch, takeMax: 2 * batch });
  await Promise.all(evicted.map(drop));
}

/** What is destroyed, or no stranger's any more, leaves its room to the next. */
export async function leaveRoom(model: string, records: GrantRecords, digest: string): Promise<void> {
  if (model === "Interaction" || model === "Client") await records.removeMember(strangersOf(model), digest);
}

function roomOf(model: string, payload: AdapterPayload): (Room & { readonly signedIn: boolean }) | undefined {
  if (model === "Client") return { key: strangersOf(model), max: limits.oauthRegistrationsUnusedMax, signedIn: false };
  if (model !== "Interaction") return undefined;
  const subject = subjectOf(payload);
  if (subject === undefined) return { key: strangersOf(model), max: limits.oauthInteractionsMax, signedIn: false };
  const key: RecordKey = ["oauthInteractions", tenant, digestOf(subject)];
  return { key, max: limits.oauthInteractionsPerPersonMax, signedIn: true };
}

/** Who signed in, in this authorization or in this browser before; both stand here by the library's word. */
function subjectOf({ session, result }: AdapterPayload): string | undefined {
  return session?.accountId ?? result?.login?.accountId;
}

function strangersOf(model: "Interaction" | "Client"): RecordKey {
  return ["oauthStrangers", tenant, model];
}
