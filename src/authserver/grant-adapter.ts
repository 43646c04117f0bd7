import { errors } from "oidc-provider";
import type { Adapter, AdapterPayload } from "oidc-provider";
import { limits } from "../model/limits.ts";
import type { RecordKey } from "../model/records.ts";
import type { ClientDocuments } from "./client-documents.ts";
import { protectSecret } from "./client-secret.ts";
import { digestOf } from "./digest.ts";
import type { GrantRecords } from "./port.ts";
import { boundStrangers, leaveRoom } from "./strangers.ts";

export interface AdapterContext {
  readonly records: GrantRecords;
  readonly now: () => number;
  readonly refreshGraceMs: number;
  /** Clients that are found at their URL instead of in the store; undefined where none are. */
  readonly documents?: ClientDocuments | undefined;
}

/** The records belong to the gateway's own issuer; whose tenant its users are is said where tokens are verified. */
const tenant = "default";

/** Records that outlive their use a little, so that a late replay is still recognised as one. */
const afterlifeMs = 60_000;

/**
 * The library's storage of one model over the records. Ids are the tokens, cookies and codes
 * themselves: a record is found under the id's digest and does not repeat the id, so that whoever
 * reads the store can present nothing. A client's secret is kept as a digest.
 */
export function createGrantAdapter(model: string, context: AdapterContext): Adapter {
  const { records } = context;
  return {
    upsert: (id, payload, expiresIn) => upsert(model, context, { id, payload, expiresIn }),
    find: (id) => find(model, context, id),
    findByUid: async (uid) => {
      const digest = await records.get(["oauthSession", tenant, digestOf(uid)]);
      return digest === undefined ? undefined : readPayload(records, recordKey(model, digest));
    },
    findByUserCode: () => Promise.resolve(undefined),
    consume: (id) => consume(model, context, id),
    destroy: async (id) => {
      await records.delete(recordKey(model, digestOf(id)));
      await leaveRoom(model, records, digestOf(id));
    },
    revokeByGrantId: (grantId) => revokeFamily(model, records, grantId),
  };
}

interface Write {
  readonly id: string;
  readonly payload: AdapterPayload;
  readonly expiresIn: number | undefined;
}

async function upsert(model: string, context: AdapterContext, { id, payload, expiresIn }: Write): Promise<void> {
  const { records } = context;
  const ttlMs = expiresIn === undefined ? limits.oauthRegistrationUnusedMs : expiresIn * 1_000 + afterlifeMs;
  const digest = digestOf(id);
  if (model === "ReplayDetection") {
    await noteOnce(records, digest, ttlMs);
    return;
  }
  await records.set(recordKey(model, digest), JSON.stringify(stored(model, payload)), ttlMs);
  await boundStrangers(model, records, { payload, digest, ttlMs }, async (evicted) => {
    await records.delete(recordKey(model, evicted));
  });
  if (model === "Session" && payload.uid !== undefined) {
    await records.set(["oauthSession", tenant, digestOf(payload.uid)], digest, ttlMs);
  }
  if (payload.grantId !== undefined && model !== "Interaction") {
    await records.addMember(familyKey(payload.grantId), `${model}:${digest}`, ttlMs);
  }
  if ((model === "Grant" || model === "RefreshToken") && payload.clientId !== undefined)
    await noteUse(model, context, payload.clientId);
}

/** Somebody consented to the client, which takes no room of strangers' any more, or used it again. */
async function noteUse(model: string, { records, documents }: AdapterContext, clientId: string): Promise<void> {
  if (model === "Grant") await leaveRoom("Client", records, digestOf(clientId));
  await records.touch(recordKey("Client", digestOf(clientId)), limits.oauthRegistrationIdleMs);
  await documents?.noteUse(clientId);
}

/** The library looks first and writes then, which lets a client assertion through twice when it comes twice at once. */
async function noteOnce(records: GrantRecords, digest: string, ttlMs: number): Promise<void> {
  if (await records.setIfAbsent(recordKey("ReplayDetection", digest), "{}", ttlMs)) return;
  throw new errors.InvalidClientAuth("client assertion tokens must only be used once");
}

async function find(model: string, context: AdapterContext, id: string): Promise<AdapterPayload | undefined> {
  const described = model === "Client" ? await context.documents?.find(id) : undefined;
  if (described !== undefined) return described;
  const digest = digestOf(id);
  const payload = await readPayload(context.records, recordKey(model, digest));
  if (payload === undefined || model === "Client") return payload;
  const used = await context.records.get(consumedKey(model, digest));
  const found: AdapterPayload = { ...payload, jti: id };
  if (used !== undefined && !withinGrace(model, context, used)) found.consumed = used;
  return found;
}

/**
 * Marks a code or a refresh token as used. Of two callers one writes the mark and the other is
 * refused with `invalid_grant`: reading and marking apart would let both through. A refresh token
 * may be used again within the grace window, since clients refresh in parallel and the loser of such
 * a race would otherwise lose its sign-in; after it, a second use is a replay and ends the family.
 * Within the window a thief's use is not told apart from the client's.
 */
async function consume(model: string, context: AdapterContext, id: string): Promise<void> {
  const { records, now } = context;
  const digest = digestOf(id);
  const payload = await readPayload(records, recordKey(model, digest));
  if (payload === undefined) throw new errors.InvalidGrant("the grant is gone");
  const remainingMs = (payload.exp ?? 0) * 1_000 - now();
  const ttlMs = Math.max(remainingMs, 0) + afterlifeMs;
  if (await records.setIfAbsent(consumedKey(model, digest), String(now()), ttlMs)) return;
  const used = await records.get(consumedKey(model, digest));
  if (used === undefined || !withinGrace(model, context, used))
    throw new errors.InvalidGrant("the grant was used before");
}

async function revokeFamily(model: string, records: GrantRecords, grantId: string): Promise<void> {
  const prefix = `${model}:`;
  for (const member of await records.members(familyKey(grantId))) {
    if (!member.startsWith(prefix)) continue;
    await records.delete(recordKey(model, member.slice(prefix.length)));
    await records.removeMember(familyKey(grantId), member);
  }
}

function withinGrace(model: string, { now, refreshGraceMs }: AdapterContext, usedAt: string): boolean {
  return model === "RefreshToken" && now() - Number(usedAt) <= refreshGraceMs;
}

async function readPayload(records: GrantRecords, key: RecordKey): Promise<AdapterPayload | undefined> {
  const text = await records.get(key);
  if (text === undefined) return undefined;
  const payload: unknown = JSON.parse(text);
  return isPayload(payload) ? payload : undefined;
}

/** What was written here; the library checks kind and expiry of what it reads. */
function isPayload(value: unknown): value is AdapterPayload {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function stored(model: string, payload: AdapterPayload): AdapterPayload {
  const kept: AdapterPayload = { ...payload };
  delete kept.jti;
  if (model === "Client" && kept.client_secret !== undefined) kept.client_secret = protectSecret(kept.client_secret);
  if (model === "Interaction" && isPayload(kept.session)) kept.session = withoutCookie(kept.session);
  return kept;
}

function withoutCookie(session: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(session).filter(([name]) => name !== "cookie"));
}

function recordKey(model: string, digest: string): RecordKey {
  return ["oauth", tenant, model, digest];
}

function consumedKey(model: string, digest: string): RecordKey {
  return ["oauthUsed", tenant, model, digest];
}

function familyKey(grantId: string): RecordKey {
  return ["oauthFamily", tenant, digestOf(grantId)];
}
