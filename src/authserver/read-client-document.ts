import type { Json } from "../model/json.ts";
import { limits } from "../model/limits.ts";
import { parseJson } from "../protocol/json/parse.ts";
import { documentAgeMs } from "./client-document-age.ts";
import type { DocumentRead } from "./client-document-memory.ts";
import { readClientDocument } from "./client-document.ts";
import { publicKeySet } from "./client-keys.ts";
import type { LogEvent } from "./options.ts";
import type { GuardedFetch } from "./port.ts";
import type { RegistrationRules } from "./registration.ts";

export interface DocumentReader {
  readonly fetch: GuardedFetch;
  readonly rules: RegistrationRules;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly log: LogEvent;
}

/**
 * Reads a client's metadata document, and the keys that it names elsewhere: both are one reading, as good as the worse of
 * them. `another` is asked before the second fetch; where it says no, the reading ends as if that server were down.
 */
export async function readDocumentAt(
  clientId: string,
  reader: DocumentReader,
  another: () => boolean,
): Promise<DocumentRead> {
  const { now, log } = reader;
  const readAt = now();
  const read = await readBoth(clientId, reader, another);
  if (read.kind === "good")
    return { outcome: { kind: "good", metadata: read.value }, readAt, freshUntil: readAt + read.ageMs };
  if (read.kind === "bad") log("authserver.client-document-refused", { reason: read.reason });
  else log("authserver.client-document-unreachable", read.status === undefined ? {} : { status: read.status });
  return { outcome: read, readAt, freshUntil: readAt + limits.oauthClientDocumentFailureMs };
}

type Read<Value> =
  | { readonly kind: "good"; readonly value: Value; readonly ageMs: number }
  | { readonly kind: "bad"; readonly reason: string }
  | { readonly kind: "unreachable"; readonly status?: number };

async function readBoth(
  clientId: string,
  { fetch, rules }: DocumentReader,
  another: () => boolean,
): Promise<Read<Readonly<Record<string, Json>>>> {
  const document = await readJson(clientId, fetch);
  if (document.kind !== "good") return document;
  if (!document.value.isSentAsJson) return bad("it is not sent as JSON");
  const reading = readClientDocument(clientId, document.value.json, rules);
  if (!reading.ok) return bad(reading.reason);
  if (reading.keysAt === undefined) return { kind: "good", value: reading.metadata, ageMs: document.ageMs };
  const keys: Read<Sent> = another() ? await readJson(reading.keysAt, fetch) : { kind: "unreachable" };
  if (keys.kind !== "good") return keys.kind === "bad" ? bad(`its jwks_uri: ${keys.reason}`) : keys;
  const jwks = publicKeySet(keys.value.json);
  if (jwks === undefined) return bad("its jwks_uri leads to no set of public keys");
  return { kind: "good", value: { ...reading.metadata, jwks }, ageMs: Math.min(document.ageMs, keys.ageMs) };
}

interface Sent {
  readonly json: Json;
  readonly isSentAsJson: boolean;
}

async function readJson(url: string, fetch: GuardedFetch): Promise<Read<Sent>> {
  const answer = await ask(url, fetch);
  if (answer === undefined) return { kind: "unreachable" };
  const { status, headers, body } = answer;
  if (status === 429 || status >= 500) return { kind: "unreachable", status };
  if (status !== 200) return bad("its server did not answer 200");
  const parsed = parseJson(body);
  if (!parsed.ok) return bad("it is not JSON");
  const type = (headers.get("content-type") ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
  const isSentAsJson = /^application\/(?:[a-z0-9.-]+\+)?json$/.test(type);
  return { kind: "good", value: { json: parsed.value, isSentAsJson }, ageMs: documentAgeMs(headers) };
}

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Uint8Array;
}

/** Undefined for every failure: forbidden address, redirect, too large, too slow, lost connection. */
async function ask(url: string, fetch: GuardedFetch): Promise<Answer | undefined> {
  try {
    const response = await fetch(url, { headers: { accept: "application/json" } });
    return { status: response.status, headers: response.headers, body: new Uint8Array(await response.arrayBuffer()) };
  } catch {
    return undefined;
  }
}

function bad(reason: string): { readonly kind: "bad"; readonly reason: string } {
  return { kind: "bad", reason };
}
