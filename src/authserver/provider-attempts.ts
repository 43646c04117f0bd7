import { createHash, randomBytes } from "node:crypto";
import { limits } from "../model/limits.ts";
import type { RecordKey } from "../model/records.ts";
import { StoreUnavailable } from "../model/records.ts";
import type { GrantRecords, Sealer } from "./port.ts";

/** A sign-in under way at the provider. */
export interface Attempt {
  /** The interaction that it is for. */
  readonly uid: string;
  /** Digest of the name of the browser that began it. */
  readonly browser: string;
  /** What the relying party needs again. */
  readonly kept: string;
}

export interface AttemptStore {
  readonly records: GrantRecords;
  readonly sealer: Sealer;
}

export function newState(): string {
  return randomBytes(32).toString("base64url");
}

/** Keeps an attempt, sealed, for as long as its interaction lives. Strangers begin them, hence their bound. */
export async function keepAttempt({ records, sealer }: AttemptStore, state: string, attempt: Attempt): Promise<void> {
  const ttlMs = limits.oauthInteractionSeconds * 1_000;
  const digest = digestOf(state);
  const live = await records.addMember(strangers, digest, ttlMs);
  if (live > limits.oauthInteractionsMax) {
    await records.removeMember(strangers, digest);
    throw new StoreUnavailable("too many records of strangers: Attempt");
  }
  await records.set(keyOf(state), sealer.seal(associatedOf(state), JSON.stringify(attempt)), ttlMs);
}

/** The attempt behind a state, left where it is. */
export async function readAttempt({ records, sealer }: AttemptStore, state: string): Promise<Attempt | undefined> {
  const sealed = await records.get(keyOf(state));
  const text = sealed === undefined ? undefined : sealer.open(associatedOf(state), sealed);
  const value: unknown = text === undefined ? undefined : JSON.parse(text);
  return isAttempt(value) ? value : undefined;
}

/** True for the first who ends it: a state is good for one answer. */
export async function endAttempt({ records }: AttemptStore, state: string): Promise<boolean> {
  await records.removeMember(strangers, digestOf(state));
  return records.delete(keyOf(state));
}

const strangers: RecordKey = ["oauthStrangers", "default", "Attempt"];

function isAttempt(value: unknown): value is Attempt {
  return typeof value === "object" && value !== null && "uid" in value && "browser" in value && "kept" in value;
}

function keyOf(state: string): RecordKey {
  return ["oauthAttempts", "default", digestOf(state)];
}

function associatedOf(state: string): string {
  return JSON.stringify(["attempt", digestOf(state)]);
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}
