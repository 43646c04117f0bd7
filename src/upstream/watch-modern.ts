import { subscriptionIdMetaKey } from "../model/identifiers.ts";
import { isJsonObject, readOwn } from "../model/json.ts";
import type { JsonObject } from "../model/json.ts";
import { refuse } from "../model/refusal.ts";
import type { RpcMessage, RpcResponse } from "../model/rpc.ts";
import { withoutHopKeys, withoutKeys } from "../protocol/hop-meta.ts";
import { writeModern } from "./modern.ts";
import type { UpstreamIdentity, Wanted } from "./port.ts";
import { isNoOffer, overFor, withdrawn } from "./watch-attempt.ts";
import type { Attempt, AttemptEnd } from "./watch-attempt.ts";
import type { StreamEnd } from "./watch-connection.ts";
import { withCredential } from "./watch-credential.ts";
import { openStream } from "./watch-stream.ts";
import type { OpenStream } from "./watch-stream.ts";

/**
 * What of `wanted` an upstream with these capabilities can bring, as the filter of `subscriptions/listen`
 * (2026-07-28, patterns, "Subscriptions"); empty when there is nothing.
 */
function listenFilter(capabilities: JsonObject, { lists, resources }: Wanted): JsonObject {
  const declares = (kind: string, what: string): boolean => readOwn(readOwn(capabilities, kind), what) === true;
  return {
    ...(lists && declares("tools", "listChanged") ? { toolsListChanged: true } : {}),
    ...(lists && declares("prompts", "listChanged") ? { promptsListChanged: true } : {}),
    ...(lists && declares("resources", "listChanged") ? { resourcesListChanged: true } : {}),
    ...(resources.length > 0 && declares("resources", "subscribe") ? { resourceSubscriptions: [...resources] } : {}),
  };
}

/**
 * One `subscriptions/listen`. The stream stands when its acknowledgement has come; what comes before it, under
 * another subscription's id, or of a kind that was not asked for is passed over. Resumption does not exist in
 * this era. Never rejects.
 */
export async function listenModern(
  attempt: Attempt,
  { capabilities }: Pick<UpstreamIdentity, "capabilities">,
): Promise<AttemptEnd> {
  const { link, offer, signal } = attempt;
  const filter = listenFilter(capabilities, attempt.wanted());
  attempt.onChange((wanted) => sameFilter(filter, listenFilter(capabilities, wanted)));
  if (Object.keys(filter).length === 0) return { kind: "unavailable" };
  const entered = await offer.enter(signal);
  if (entered !== "go") return entered === "refused" ? { kind: "unavailable" } : withdrawn;
  try {
    const end = await withCredential(link, attempt.watch.account, (credential) => listen(attempt, filter, credential));
    const refused = isRefused(end);
    // What is wrong with one client's parameters says nothing of what the upstream offers to others.
    if (refused && !(end.kind === "refused" && end.rpcCode === invalidParams)) offer.tell("refused");
    if (isStale(end)) return { kind: "stale" };
    return refused ? { kind: "unavailable" } : overFor(end, undefined);
  } finally {
    // Whoever waits for what this attempt finds must not wait for one that found nothing.
    offer.tell("nothing");
  }
}

/** Without a code, a status decides; with one, only a code that denies the method or its parameters. */
function isRefused(end: StreamEnd): boolean {
  if (end.kind !== "refused") return false;
  return end.rpcCode === undefined ? isNoOffer(end.status) : [methodNotFound, invalidParams].includes(end.rpcCode);
}

const methodNotFound = -32601;
const invalidParams = -32602;
const unsupportedVersion = -32022;

/** As for calls: a 400, 404 or 405 that answers nobody, or −32022. */
function isStale(end: StreamEnd): boolean {
  if (end.kind !== "refused") return false;
  return end.rpcCode === unsupportedVersion || (end.rpcCode === undefined && [400, 404, 405].includes(end.status));
}

function sameFilter(one: JsonObject, other: JsonObject): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function listen(attempt: Attempt, filter: JsonObject, credential: readonly string[]): OpenStream {
  const { link, signal, watch } = attempt;
  const { firstByteMs } = link.timeouts;
  const id = link.nextId();
  const { headers, body } = writeModern(link, id, {
    method: "subscriptions/listen",
    params: { notifications: filter },
    onProgress: undefined,
  });
  let acknowledged = false;
  const take = (message: RpcMessage): void => {
    if (message.kind === "response" && message.id === id) stream.finish(answered(message));
    if (message.kind !== "notification") return;
    const params = ownParams(message.params, id);
    if (params === undefined) return;
    if (acknowledged && wasAskedFor(message.method, filter)) watch.onNotification(message.method, params);
    if (acknowledged || message.method !== "notifications/subscriptions/acknowledged") return;
    acknowledged = true;
    attempt.offer.tell("offered");
    attempt.onOpen(false);
    attempt.onStanding();
  };
  const acknowledgement = (): void => {
    if (acknowledged) return;
    stream.fail(refuse("UPSTREAM_TIMED_OUT", { phase: "acknowledgement", ms: firstByteMs }).refusal);
  };
  const stream = openStream(link, {
    method: "POST",
    headers: [...headers, ...credential],
    body,
    holder: watch.account.principalKey,
    signal,
    onQueued: attempt.onQueued,
    onOpen: () => setTimeout(acknowledgement, firstByteMs).unref(),
    take,
  });
  return stream;
}

/** A result ends the subscription in order ("Graceful Closure"); an error means that there was none. */
function answered(response: RpcResponse): StreamEnd {
  if ("result" in response) return { kind: "ended" };
  return { kind: "refused", status: 200, rpcCode: response.error.code };
}

/** The parameters of a notification of the subscription `id`, freed of its id; undefined for any other's. */
function ownParams(params: JsonObject | undefined, id: string): JsonObject | undefined {
  const meta = readOwn(params, "_meta");
  if (params === undefined || !isJsonObject(meta) || readOwn(meta, subscriptionIdMetaKey) !== id) return undefined;
  const kept = withoutHopKeys(meta, [subscriptionIdMetaKey]);
  return Object.keys(kept).length === 0 ? withoutKeys(params, ["_meta"]) : { ...params, _meta: kept };
}

const filterKeys: Readonly<Record<string, string>> = {
  "notifications/tools/list_changed": "toolsListChanged",
  "notifications/prompts/list_changed": "promptsListChanged",
  "notifications/resources/list_changed": "resourcesListChanged",
  "notifications/resources/updated": "resourceSubscriptions",
};

/** A server must not send what was not asked for. Not checked: the URI of an update, which may lie below one asked for. */
function wasAskedFor(method: string, filter: JsonObject): boolean {
  const key = Object.hasOwn(filterKeys, method) ? filterKeys[method] : undefined;
  return key !== undefined && Object.hasOwn(filter, key);
}
