import { refuse, type Refusal } from "../../model/refusal.ts";
import { declaredFeatures } from "../../protocol/client-features.ts";
import { isResumable } from "../../protocol/input-required.ts";
import { notificationMessage } from "../../protocol/jsonrpc.ts";
import { askClient, tellClient, type ClientAnswer } from "../asking/ask-client.ts";
import { capabilitiesOf } from "../asking/declared-capabilities.ts";
import type { Settled } from "../asking/input-rounds.ts";
import { recordAsked } from "../asking/record-asked.ts";
import { given, methodOf, type Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { offerConnection } from "./offer-connection.ts";
import { connectionNeeded, questionFor, type ConnectionNeeded } from "./way-out.ts";

/**
 * Sends a call, and where its person has to connect the upstream first, asks them to and sends it once more. The
 * question is the gateway's own: policy has allowed the call, no upstream learns or gains anything by it, the page is
 * the gateway's, and its link carries no authority. So rules about what upstreams may ask of clients do not concern it.
 *
 * - A modern client that declared `elicitation.url` gets `input_required` with the page (2026-07-28, MRTR); when it
 *   comes back, the call waits until the connection is there.
 * - A legacy client that declared it is asked while the call is under way (2025-11-25, elicitation, "URL Mode"), and
 *   told once it is done. −32042 is not used: clients that take it for any other error show no link.
 * - Every other client, one that cannot be reached, and whoever declines or takes longer than `connectionWaitMs`, gets
 *   the refusal, which names the page.
 */
export async function throughConnection<Sent extends { readonly answer: Settled }>(
  x: Exchange,
  g: Gateway,
  send: () => Promise<Sent>,
): Promise<Sent | (Omit<Sent, "answer"> & { readonly answer: Settled })> {
  const first = await send();
  const needed = first.answer.kind === "failed" ? connectionNeeded(x, g, first.answer.refusal) : undefined;
  if (needed === undefined) return first;
  const came = await connect(x, g, needed);
  return came === "connected" ? send() : { ...first, answer: came };
}

type Came = "connected" | Extract<Settled, { kind: "refused" | "offered" }>;

async function connect(x: Exchange, g: Gateway, needed: ConnectionNeeded): Promise<Came> {
  const { link } = needed;
  const until = g.now() + g.limits.connectionWaitMs;
  if (link === undefined || !canBeAsked(x)) return refused(needed.refusal);
  if (given(x.classified, "a classified message").era === "modern") return askModern(x, g, { needed, link, until });
  return askLegacy(x, g, { needed, link, until });
}

function canBeAsked(x: Exchange): boolean {
  if (!declaredFeatures(capabilitiesOf(x)).has("elicitation_url")) return false;
  return x.session !== undefined || isResumable(methodOf(x));
}

interface Asking {
  readonly needed: ConnectionNeeded;
  readonly link: string;
  /** Milliseconds since the epoch. */
  readonly until: number;
}

/** Whoever has been at the page is waited for, and not sent there again: a client that never ends would go round. */
async function askModern(x: Exchange, g: Gateway, { needed, link, until }: Asking): Promise<Came> {
  if (x.connecting) return waited(x, g, { needed, until });
  const { upstream } = needed;
  const offered = offerConnection(x, g, { upstream, url: link, message: questionFor(g, needed) });
  if (offered === true) return { kind: "offered", hop: undefined };
  return refused(offered === false ? needed.refusal : offered);
}

/** Calls that need the same connection at once open one dialog. */
async function askLegacy(x: Exchange, g: Gateway, { needed, link, until }: Asking): Promise<Came> {
  const elicitationId = g.asking.newId();
  const { tenant, id } = given(x.session, "a session");
  const dialog = JSON.stringify([tenant, id, needed.upstream]);
  const put = (): Promise<ClientAnswer> => putBefore(x, g, { needed, link, until, elicitationId });
  const { answer, asked } = await g.connections.together(dialog, put);
  if (answer.outcome !== "accepted") return refused(withReason(needed, answer));
  const came = await waited(x, g, { needed, until });
  // Whose dialog it was hears that it is done; where nobody can be told, the result tells.
  if (came === "connected" && asked)
    await Promise.resolve(tellClient(x, g, notificationMessage(completed, { elicitationId }))).catch(() => false);
  return came;
}

const completed = "notifications/elicitation/complete";

async function putBefore(
  x: Exchange,
  g: Gateway,
  of: Asking & { readonly elicitationId: string },
): Promise<ClientAnswer> {
  const { needed, link: url, until, elicitationId } = of;
  const method = "elicitation/create";
  const feature = "elicitation_url";
  const params = { mode: "url", message: questionFor(g, needed), url, elicitationId };
  const patience = { until, signal: x.cancellation };
  const answer = await askClient(x, g, { request: { method, feature, params }, patience });
  const { outcome } = answer;
  const kept = recordAsked(x, g, { asked: { upstream: needed.upstream, method }, feature, outcome, own: true });
  return kept ? answer : { ...answer, kind: "error", error: { code: -32603, message: "" }, outcome: "undeliverable" };
}

async function waited(x: Exchange, g: Gateway, { needed, until }: Pick<Asking, "needed" | "until">): Promise<Came> {
  const isThere = await g.connections.wait(needed, { until, signal: x.cancellation });
  return isThere ? "connected" : refused(needed.refusal);
}

function withReason({ refusal, upstream }: ConnectionNeeded, { outcome }: ClientAnswer): Refusal {
  if (outcome !== "declined" && outcome !== "cancelled") return refusal;
  return refuse("UPSTREAM_CONNECTION_REQUIRED", { upstream, reason: outcome }).refusal;
}

function refused(refusal: Refusal): Extract<Settled, { kind: "refused" }> {
  return { kind: "refused", refusal, hop: undefined };
}
