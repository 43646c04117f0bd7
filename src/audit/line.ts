import { hash as digest } from "node:crypto";
import type { Json, JsonObject } from "../model/json.ts";
import { isJsonObject } from "../model/json.ts";
import { canonicalJson } from "../protocol/json/canonical.ts";
import type { AuditEvent } from "./event.ts";

/** An event whose hash is still to be computed. */
export type UnsealedEvent = Omit<AuditEvent, "hash">;

/** The canonical text (RFC 8785) that an event's hash covers: all of it but the hash. */
export function bodyOf(event: UnsealedEvent): string {
  const text = canonicalMembers(asJson(event));
  // A lone surrogate (a token's `sub` may hold one) is written escaped, and strict readers refuse it.
  return text.includes("\\ud") ? canonicalJson(wellFormed(asJson(event))) : text;
}

/** `canonicalJson` of an event, whose names need neither be sorted nor escaped: 7 µs against 13 for a call. */
function canonicalMembers(event: JsonObject): string {
  let text = "";
  for (const [name, key] of members) {
    const value = event[name];
    if (value !== undefined) text += `${key}${canonicalJson(value)}`;
  }
  return `{${text.slice(1)}}`;
}

/** The compiler holds this table to the members of an event: one that is missing here would be left out of evidence. */
const memberTable: Readonly<Record<keyof UnsealedEvent, true>> = {
  argumentsBytes: true,
  argumentsDigest: true,
  at: true,
  client: true,
  decision: true,
  digestKey: true,
  digests: true,
  durationMs: true,
  exposedName: true,
  findings: true,
  item: true,
  listed: true,
  loss: true,
  method: true,
  outcome: true,
  prev: true,
  principal: true,
  read: true,
  ref: true,
  refusal: true,
  replica: true,
  resultBytes: true,
  resultDigest: true,
  seq: true,
  server: true,
  shortened: true,
  strangers: true,
  tenant: true,
  type: true,
  upstreamHop: true,
  upstreamMs: true,
  v: true,
};

const members = Object.keys(memberTable)
  .sort()
  .map((name) => [name, `,${JSON.stringify(name)}:`] as const);

/** SHA-256 (hex) over an event's body. */
export function hashOfBody(body: string): string {
  return digest("sha256", body, "hex");
}

/** An event's line, without the line break: its hash, then its body. */
export function lineFrom(body: string, hash: string): string {
  return `{"hash":"${hash}",${body.slice(1)}`;
}

function asJson(event: UnsealedEvent): JsonObject {
  const value: unknown = event;
  if (!isPlainObject(value)) throw new TypeError("an audit event is an object");
  return value;
}

/** Every member of an event is JSON by its type, which an interface cannot tell an index signature. */
function isPlainObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function wellFormed(value: Json): Json {
  if (typeof value === "string") return value.replaceAll(/\p{Surrogate}/gu, "\ufffd");
  if (Array.isArray(value)) return value.map(wellFormed);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, child]) => [key.replaceAll(/\p{Surrogate}/gu, "\ufffd"), wellFormed(child)]),
  );
}
