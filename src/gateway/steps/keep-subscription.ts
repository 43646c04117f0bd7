import { refuse, type Refusal } from "../../model/refusal.ts";
import type { Era } from "../../model/revision.ts";
import type { UpstreamAnswer } from "../../upstream/port.ts";
import { upstreamErrorFor } from "../../protocol/bridge.ts";
import { declaredCapabilities } from "../asking/declared-capabilities.ts";
import { deadlinesOf } from "../deadlines.ts";
import { given, methodOf, type Exchange } from "../exchange.ts";
import { forwardedHeaders } from "../forwarded-headers.ts";
import type { Gateway } from "../gateway.ts";
import { ownNameOf } from "../own-name.ts";
import { subscribableAt } from "../streams/readable.ts";

/**
 * Carries out `resources/subscribe` and `resources/unsubscribe` of a legacy client, decided like a read of the
 * resource, and sets `result` or `error`. A legacy upstream is told in the upstream session of the client's own; for a
 * modern one, which has no such method, the stream that is kept open asks. Either way the session's subscriptions are
 * kept, and whichever replica holds its GET stream hears of them.
 *
 * Refuses RPC_METHOD_UNKNOWN when the upstream of the resource tells of no updates, and SUBSCRIPTION_LIMIT_REACHED when
 * the session has too many, or there is no connection for the stream that its GET stream would hear the upstream by.
 */
export async function keepSubscription(x: Exchange, g: Gateway): Promise<Refusal | undefined> {
  const method = methodOf(x);
  if (method !== subscribe && method !== unsubscribe) return undefined;
  const entry = given(x.target?.entry, "a target");
  const { upstream } = entry.item;
  const found = await subscribableAt(x, g, upstream);
  if (found?.tellsOfUpdates !== true) return refuse("RPC_METHOD_UNKNOWN", { era: "legacy", upstream }).refusal;
  const refusal = method === subscribe ? ((await note(x, g)) ?? (await heard(x, g, upstream))) : undefined;
  return refusal ?? carryOut(x, g, found.era);
}

async function carryOut(x: Exchange, g: Gateway, era: Era): Promise<Refusal | undefined> {
  const refusal = era === "legacy" ? await tell(x, g) : undefined;
  const failed = refusal !== undefined || x.error !== undefined;
  if (failed || methodOf(x) === unsubscribe) await forget(x, g);
  if (!failed) x.result = {};
  await g.clientStreams.interestsChanged(given(x.session, "a session"));
  return refusal;
}

const subscribe = "resources/subscribe";
const unsubscribe = "resources/unsubscribe";

/** Before the upstream hears of it: what it accepts must not be lost to a limit or an outage of ours. */
async function note(x: Exchange, g: Gateway): Promise<Refusal | undefined> {
  const kept = await g.sessions.subscriptions.add(given(x.session, "a session"), given(x.target, "a target").asked);
  const { sessionSubscriptionsMax } = g.limits;
  return kept ? undefined : refuse("SUBSCRIPTION_LIMIT_REACHED", { sessionSubscriptionsMax }).refusal;
}

/** A subscription that nobody would hear of is none. Without a GET stream nobody listens yet, as the client knows. */
async function heard(x: Exchange, g: Gateway, upstream: string): Promise<Refusal | undefined> {
  const session = given(x.session, "a session");
  await g.clientStreams.interestsChanged(session);
  if ((await g.clientStreams.hears(session, upstream)) !== "full") return undefined;
  await forget(x, g);
  await g.clientStreams.interestsChanged(session);
  const { upstreamStreamsPerPrincipalMax, upstreamStreamsMax } = g.limits;
  return refuse("SUBSCRIPTION_LIMIT_REACHED", { upstream, upstreamStreamsPerPrincipalMax, upstreamStreamsMax }).refusal;
}

async function forget(x: Exchange, g: Gateway): Promise<void> {
  await g.sessions.subscriptions.remove(given(x.session, "a session"), given(x.target, "a target").asked);
}

async function tell(x: Exchange, g: Gateway): Promise<Refusal | undefined> {
  const { asked, entry } = given(x.target, "a target");
  const { upstream, kind } = given(entry, "an entry").item;
  const uri = ownNameOf(asked, given(entry, "an entry"));
  const sentAt = g.now();
  const answer = await g.upstreams.request({
    upstream,
    method: methodOf(x),
    params: { uri },
    account: given(x.account, "an account"),
    forwarded: forwardedHeaders(x, g, upstream),
    name: uri,
    inputSchema: undefined,
    kind,
    signal: x.cancellation,
    // The session is the one that the client's calls run in, so it is opened with the same words.
    clientCapabilities: declaredCapabilities(x, g, upstream),
    ...deadlinesOf(g, given(entry, "an entry").item, x.obligations),
  });
  x.upstreamMs = g.now() - sentAt;
  x.hop = answer.hop;
  return receive(x, answer);
}

function receive(x: Exchange, answer: UpstreamAnswer): Refusal | undefined {
  if (answer.kind === "result") return undefined;
  x.outcome = answer.kind === "error" ? "failed" : answer.outcome;
  if (answer.kind === "failed") return answer.refusal;
  x.error = upstreamErrorFor("legacy", methodOf(x), answer.error);
  return undefined;
}
