import { limits } from "../model/limits.ts";
import { integer, objectOf } from "./schema-common.ts";
import type { SchemaNode } from "./schema-node.ts";

/** The limits that configuration may change. The others hold for every installation. */
export type ConfigurableLimit =
  | "bodyBytesMax"
  | "bodyTimeoutMs"
  | "headerBytesMax"
  | "verifiedTokenSecondsMax"
  | "clockLeewaySeconds"
  | "sessionIdleMs"
  | "sessionAgeMsMax"
  | "sessionsPerPrincipalMax"
  | "recoveryInFlightPerPrincipalMax"
  | "streamCommentMs"
  | "streamsPerPrincipalMax"
  | "streamsMax"
  | "upstreamSessionIdleMs"
  | "upstreamAnswerBytesMax"
  | "upstreamStreamsMax"
  | "upstreamStreamsPerPrincipalMax"
  | "upstreamStreamIdleMs"
  | "linkProvenanceMs"
  | "listPagesMax"
  | "listItemsPerPageMax"
  | "itemsPerUpstreamMax"
  | "catalogAgeMsMax"
  | "catalogStaleMsMax"
  | "catalogDriftCalmMs"
  | "auditQueueMax"
  | "auditStreamEventsMax"
  | "storeCommandTimeoutMs"
  | "memoryStoreEntriesMax"
  | "drainMs"
  | "bundlePollMs";

const ranges: Record<ConfigurableLimit, { minimum: number; maximum: number; description: string }> = {
  bodyBytesMax: {
    minimum: 1_024,
    maximum: 67_108_864,
    description: "Bytes of a request body. 4 MiB is what common MCP servers take.",
  },
  bodyTimeoutMs: {
    minimum: 100,
    maximum: 300_000,
    description: "Milliseconds for a body to arrive, so that slow senders hold nothing.",
  },
  headerBytesMax: {
    minimum: 4_096,
    maximum: 65_536,
    description: "Bytes of a request's headers. Tokens with many groups need room.",
  },
  verifiedTokenSecondsMax: {
    minimum: 0,
    maximum: 60,
    description:
      "Seconds for which a verified token is remembered. More than 60 would delay what a key rotation revokes.",
  },
  clockLeewaySeconds: { minimum: 0, maximum: 120, description: "Seconds by which an issuer's clock may differ." },
  sessionIdleMs: {
    minimum: 10_000,
    maximum: 86_400_000,
    description: "Milliseconds after which an unused legacy session ends.",
  },
  sessionAgeMsMax: {
    minimum: 60_000,
    maximum: 2_592_000_000,
    description: "Milliseconds after which any legacy session ends.",
  },
  sessionsPerPrincipalMax: {
    minimum: 1,
    maximum: 10_000,
    description: "Legacy sessions of one principal, so that none fills the store.",
  },
  recoveryInFlightPerPrincipalMax: {
    minimum: 1,
    maximum: 10_000,
    description:
      "Requests of one principal under way on one replica that look at tasks or cancel them. Calls have a bound of their own.",
  },
  streamCommentMs: {
    minimum: 250,
    maximum: 25_000,
    description:
      "Milliseconds between two comments on an open stream, and between two looks at whether its client may still have it.",
  },
  streamsPerPrincipalMax: {
    minimum: 1,
    maximum: 100_000,
    description: "Streams that one principal may have open on one replica. People behind one service account share it.",
  },
  streamsMax: { minimum: 1, maximum: 1_000_000, description: "Streams that may be open on one replica." },
  upstreamSessionIdleMs: {
    minimum: 1_000,
    maximum: 86_400_000,
    description: "Milliseconds after which a session at an upstream that nobody uses is ended.",
  },
  upstreamAnswerBytesMax: {
    minimum: 1_024,
    maximum: 104_857_600,
    description: "Bytes of an upstream's answer, after decoding.",
  },
  upstreamStreamsMax: {
    minimum: 1,
    maximum: 65_536,
    description:
      "Streams of notifications from one upstream for clients; further ones wait. Calls and the gateway's own streams have connections of their own.",
  },
  upstreamStreamsPerPrincipalMax: {
    minimum: 1,
    maximum: 65_536,
    description:
      "Of these, streams of one principal on one replica, so that a few do not take all. People behind one service account share it.",
  },
  upstreamStreamIdleMs: {
    minimum: 1_000,
    maximum: 86_400_000,
    description: "Milliseconds of silence after which a stream of notifications is opened anew. Comments end it.",
  },
  linkProvenanceMs: {
    minimum: 1_000,
    maximum: 86_400_000,
    description:
      "Milliseconds for which a resource that only a result named can be read. An agent's turn takes minutes.",
  },
  listPagesMax: {
    minimum: 1,
    maximum: 1_000,
    description: "Pages read of an upstream's list; a cursor that never ends stops here.",
  },
  listItemsPerPageMax: {
    minimum: 1,
    maximum: 100_000,
    description: "Items of one page of a list towards clients. Some clients never ask for a second page.",
  },
  itemsPerUpstreamMax: { minimum: 1, maximum: 100_000, description: "Items of one kind taken from an upstream." },
  catalogAgeMsMax: {
    minimum: 0,
    maximum: 3_600_000,
    description: "Milliseconds for which an upstream's list is used without asking again.",
  },
  catalogStaleMsMax: {
    minimum: 0,
    maximum: 86_400_000,
    description: "Milliseconds for which the last list serves while its upstream does not answer.",
  },
  catalogDriftCalmMs: {
    minimum: 0,
    maximum: 86_400_000,
    description:
      "Milliseconds for which an item stays withheld after a list showed it under a definition that the lock does not approve. Longer than lists are used, so that replicas of an upstream that differ make nothing come and go.",
  },
  auditQueueMax: {
    minimum: 10,
    maximum: 1_000_000,
    description: "Events that wait for a sink; a full queue refuses where audit is required.",
  },
  auditStreamEventsMax: {
    minimum: 1_000,
    maximum: 1_000_000_000,
    description: "Events that a Redis stream is trimmed to, roughly.",
  },
  storeCommandTimeoutMs: {
    minimum: 10,
    maximum: 30_000,
    description: "Milliseconds for a store command; then requests are refused.",
  },
  memoryStoreEntriesMax: {
    minimum: 100,
    maximum: 10_000_000,
    description:
      "Records in the memory store, and as many counters of limits beside them; a full one takes no new ones.",
  },
  bundlePollMs: {
    minimum: 100,
    maximum: 3_600_000,
    description:
      "Milliseconds between two looks at the files of policies and lock. A change is put in force once two looks agree on it, so that files are not read half written.",
  },
  drainMs: {
    minimum: 0,
    maximum: 600_000,
    description: "Milliseconds that running requests get when the process is asked to stop.",
  },
};

export const limitsSchema: SchemaNode = objectOf(
  {
    bodyBytesMax: limit("bodyBytesMax"),
    bodyTimeoutMs: limit("bodyTimeoutMs"),
    headerBytesMax: limit("headerBytesMax"),
    verifiedTokenSecondsMax: limit("verifiedTokenSecondsMax"),
    clockLeewaySeconds: limit("clockLeewaySeconds"),
    sessionIdleMs: limit("sessionIdleMs"),
    sessionAgeMsMax: limit("sessionAgeMsMax"),
    sessionsPerPrincipalMax: limit("sessionsPerPrincipalMax"),
    recoveryInFlightPerPrincipalMax: limit("recoveryInFlightPerPrincipalMax"),
    streamCommentMs: limit("streamCommentMs"),
    streamsPerPrincipalMax: limit("streamsPerPrincipalMax"),
    streamsMax: limit("streamsMax"),
    upstreamSessionIdleMs: limit("upstreamSessionIdleMs"),
    upstreamAnswerBytesMax: limit("upstreamAnswerBytesMax"),
    upstreamStreamsMax: limit("upstreamStreamsMax"),
    upstreamStreamsPerPrincipalMax: limit("upstreamStreamsPerPrincipalMax"),
    upstreamStreamIdleMs: limit("upstreamStreamIdleMs"),
    linkProvenanceMs: limit("linkProvenanceMs"),
    listPagesMax: limit("listPagesMax"),
    listItemsPerPageMax: limit("listItemsPerPageMax"),
    itemsPerUpstreamMax: limit("itemsPerUpstreamMax"),
    catalogAgeMsMax: limit("catalogAgeMsMax"),
    catalogStaleMsMax: limit("catalogStaleMsMax"),
    catalogDriftCalmMs: limit("catalogDriftCalmMs"),
    auditQueueMax: limit("auditQueueMax"),
    auditStreamEventsMax: limit("auditStreamEventsMax"),
    storeCommandTimeoutMs: limit("storeCommandTimeoutMs"),
    memoryStoreEntriesMax: limit("memoryStoreEntriesMax"),
    drainMs: limit("drainMs"),
    bundlePollMs: limit("bundlePollMs"),
  },
  { description: "Bounds that installations may need to change." },
);

function limit(name: ConfigurableLimit): SchemaNode {
  return integer({ ...ranges[name], default: limits[name] });
}
