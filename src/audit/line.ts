import { hash as digest } from "node:crypto";
import type { Json, JsonObject } from "../model/json.ts";
import { isJsonObject } from "../model/json.ts";
import { canonicalJson } from "../protocol/json/canonical.ts";
import type { AuditEvent } from "./event.ts";

/** An event whose hash is still to be computed. */
export type UnsealedEvent = Omit<AuditEvent, "hash">;

/** The canonical text (RFC 8785) that an event's hash covers: all of it but the hash. */
export function bodyOf(event: UnsealedEvent): string {
  const text = canonicalJson(asJson(event));
  // A lone surrogate (a token's `sub` may hold one) is written escaped, and strict readers refuse it.
  return text.includes("\\ud") ? canonicalJson(wellFormed(asJson(event))) : text;
}

/** SHA-256 (hex) over an event's body. */
export function hashOfBody(body: string): string {
  return digest("sha256", body, "hex");
}

/** An event's line, without the line break: its hash, then its body. */
export function lineFrom(body: string, hash: string): string {
  return `{"hash":"${hash}",${body.slice(1)}`;
}

/** Lines that the recorder made for the hash, so that no sink serialises an event again (4 µs each). */
const lines = new WeakMap<AuditEvent, string>();

export function rememberLine(event: AuditEvent, line: string): void {
  lines.set(event, line);
}

/** The line of an event: the very text that was hashed. */
export function lineOf(event: AuditEvent): string {
  const { hash, ...unsealed } = event;
  return lines.get(event) ?? lineFrom(bodyOf(unsealed), hash);
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
