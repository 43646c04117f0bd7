import { isJsonObject, readOwn, readOwnString } from "../model/json.ts";
import type { Json } from "../model/json.ts";
import type { ItemIdentity, ItemKind } from "../model/item.ts";
import type { RecordKey } from "../model/records.ts";
import { parseJsonText } from "../protocol/json/parse.ts";
import { sha256 } from "./deny-list.ts";

/** What a headless token stands for. The token itself is kept nowhere. */
export interface HeadlessToken {
  /** The service principal. */
  readonly subject: string;
  /** The URI of the one server it is good for. */
  readonly resource: string;
  /** The only items it reaches, by the upstream's own names. */
  readonly items: readonly ItemIdentity[];
  readonly scopes: readonly string[];
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly expiresAt: number;
}

/** Says what a token is before anybody looks it up, so that scanners of leaked secrets can find it. */
export const headlessPrefix = "sp_";

/** 256 random bits in base64url. A hash without salt is enough for what nobody can guess. */
export const headlessForm: RegExp = /^sp_[A-Za-z0-9_-]{43}$/;

export function headlessDigest(token: string): string {
  return sha256(token);
}

export function headlessKey(tenant: string, digest: string): RecordKey {
  return ["headless-token", tenant, digest];
}

/** How a token is called where it must not be shown: in evidence, lists, and to revoke it. */
export function headlessId(digest: string): string {
  return digest.slice(0, 16);
}

export function writeHeadless(token: HeadlessToken): string {
  return JSON.stringify(token);
}

/** Undefined for what is no such record. */
export function readHeadless(text: string): HeadlessToken | undefined {
  const parsed = parseJsonText(text);
  const value = parsed.ok ? parsed.value : undefined;
  const [subject, resource] = ["subject", "resource"].map((name) => readOwnString(value, name));
  const [createdAt, expiresAt] = ["createdAt", "expiresAt"].map((name) => readOwn(value, name));
  const items = listOf(readOwn(value, "items"), itemOf);
  const scopes = listOf(readOwn(value, "scopes"), (one) => (typeof one === "string" ? one : undefined));
  if (subject === undefined || resource === undefined || items === undefined || scopes === undefined) return undefined;
  if (typeof createdAt !== "number" || typeof expiresAt !== "number") return undefined;
  return { subject, resource, items, scopes, createdAt, expiresAt };
}

function listOf<T>(value: Json | undefined, read: (one: Json) => T | undefined): readonly T[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const found = value.map(read);
  return found.every((one) => one !== undefined) ? found : undefined;
}

const kinds: readonly ItemKind[] = ["tool", "prompt", "resource", "template"];

function itemOf(value: Json): ItemIdentity | undefined {
  if (!isJsonObject(value)) return undefined;
  const [upstream, name] = [readOwnString(value, "upstream"), readOwnString(value, "name")];
  const kind = kinds.find((one) => one === readOwn(value, "kind"));
  return upstream === undefined || name === undefined || kind === undefined ? undefined : { upstream, kind, name };
}
