import { errors } from "oidc-provider";
import type { AdapterPayload } from "oidc-provider";
import type { Json } from "../model/json.ts";
import { limits } from "../model/limits.ts";
import { parseJson } from "../protocol/json/parse.ts";
import { documentAgeMs } from "./client-document-age.ts";
import { isDocumentClientId, readClientDocument } from "./client-document.ts";
import type { LogEvent } from "./options.ts";
import type { GuardedFetch } from "./port.ts";
import type { RegistrationRules } from "./registration.ts";

/** Clients whose `client_id` is the URL of their metadata document. */
export interface ClientDocuments {
  /**
   * Undefined for an id that is no such URL. Rejects with `InvalidClient` for a document that cannot be used,
   * and with `TemporarilyUnavailable` where it could not be had.
   */
  find(clientId: string): Promise<AdapterPayload | undefined>;
}

export interface ClientDocumentParts {
  readonly fetch: GuardedFetch;
  readonly rules: RegistrationRules;
  readonly now: () => number;
  readonly log: LogEvent;
}

interface Known {
  readonly outcome: Outcome;
  readonly readAt: number;
  readonly freshUntil: number;
}

type Outcome =
  | { readonly kind: "good"; readonly metadata: Readonly<Record<string, Json>> }
  | { readonly kind: "bad"; readonly reason: string }
  | { readonly kind: "unreachable" };

/**
 * Reads documents under the egress guard and keeps them for as long as their servers say, within bounds, so that
 * a change is seen after an hour at the latest. While a document's server fails, the last good reading serves
 * another day: a failure of theirs must not make clients throw their sign-ins away. One fetch at a time for each
 * document, and few in all, since strangers name them. Kept per process.
 */
export function createClientDocuments(parts: ClientDocumentParts): ClientDocuments {
  const known = new Map<string, Known>();
  const pending = new Map<string, Promise<Known>>();
  const budget = createBudget(parts.now);
  const readAnew = async (clientId: string): Promise<Known> => {
    const before = known.get(clientId);
    const read = await readDocument(clientId, parts);
    const next = read.outcome.kind === "unreachable" ? stillServing(before, read, parts.now()) : read;
    keep(known, clientId, next);
    return next;
  };
  const current = (clientId: string): Promise<Known> | Known => {
    const found = known.get(clientId);
    if (found !== undefined && found.freshUntil > parts.now()) return found;
    const running = pending.get(clientId);
    if (running !== undefined) return running;
    if (pending.size >= limits.oauthClientDocumentFetchesMax || !budget()) throw unavailable();
    const reading = readAnew(clientId).finally(() => pending.delete(clientId));
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
  };
}

async function readDocument(clientId: string, { fetch, rules, now, log }: ClientDocumentParts): Promise<Known> {
  const readAt = now();
  const known = (outcome: Outcome, ageMs: number): Known => ({ outcome, readAt, freshUntil: readAt + ageMs });
  const answer = await ask(clientId, fetch);
  if (answer === undefined) {
    log("authserver.client-document-unreachable", {});
    return known({ kind: "unreachable" }, limits.oauthClientDocumentFailureMs);
  }
  const reading = read(clientId, answer, rules);
  if (reading.kind === "bad") log("authserver.client-document-refused", { reason: reading.reason });
  if (reading.kind === "unreachable") log("authserver.client-document-unreachable", { status: answer.status });
  const good = reading.kind === "good";
  return known(reading, good ? documentAgeMs(answer.headers) : limits.oauthClientDocumentFailureMs);
}

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Uint8Array;
}

/** Undefined for every failure: forbidden address, redirect, too large, too slow, lost connection. */
async function ask(clientId: string, fetch: GuardedFetch): Promise<Answer | undefined> {
  try {
    const response = await fetch(clientId, { headers: { accept: "application/json" } });
    return { status: response.status, headers: response.headers, body: new Uint8Array(await response.arrayBuffer()) };
  } catch {
    return undefined;
  }
}

function read(clientId: string, { status, headers, body }: Answer, rules: RegistrationRules): Outcome {
  if (status === 429 || status >= 500) return { kind: "unreachable" };
  if (status !== 200) return { kind: "bad", reason: "its server did not answer 200" };
  const type = (headers.get("content-type") ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
  if (!/^application\/(?:[a-z0-9.-]+\+)?json$/.test(type)) return { kind: "bad", reason: "it is not sent as JSON" };
  const parsed = parseJson(body);
  if (!parsed.ok) return { kind: "bad", reason: "it is not JSON" };
  const reading = readClientDocument(clientId, parsed.value, rules);
  return reading.ok ? { kind: "good", metadata: reading.metadata } : { kind: "bad", reason: reading.reason };
}

/** The reading of before, as long as it is not too old; asked anew after the time a failure is remembered. */
function stillServing(before: Known | undefined, failed: Known, now: number): Known {
  if (before?.outcome.kind !== "good") return failed;
  if (now - before.readAt > limits.oauthClientDocumentStaleMsMax) return failed;
  return { ...before, freshUntil: failed.freshUntil };
}

/** The least recently read goes when there are too many. */
function keep(known: Map<string, Known>, clientId: string, next: Known): void {
  known.delete(clientId);
  known.set(clientId, next);
  const [oldest] = known.keys();
  if (known.size > limits.oauthClientDocumentsMax && oldest !== undefined) known.delete(oldest);
}

function createBudget(now: () => number): () => boolean {
  let windowStart = now();
  let used = 0;
  return () => {
    if (now() - windowStart >= 60_000) [windowStart, used] = [now(), 0];
    used += 1;
    return used <= limits.oauthClientDocumentFetchesPerMinuteMax;
  };
}

function unavailable(): errors.TemporarilyUnavailable {
  return new errors.TemporarilyUnavailable("the client metadata document cannot be had at the moment");
}
