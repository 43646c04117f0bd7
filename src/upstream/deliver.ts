import type { Cancellation } from "../model/cancellation.ts";
import type { Refused } from "../model/result.ts";
import type { RpcNotification, RpcRequest } from "../model/rpc.ts";
import type { CredentialHeaders } from "./credentials/credential.ts";
import type { StreamTrail } from "./event-answer.ts";
import { boundsOf } from "./deadlines.ts";
import type { Link } from "./link.ts";
import type { Patience } from "./patience.ts";
import type { Deadlines, OnAccountOf } from "./port.ts";
import type { Reply } from "./reply.ts";
import { send } from "./send.ts";

/** A message as its era writes it: headers of the hop, names and values in turn, and the body. */
export interface Written {
  readonly headers: readonly string[];
  readonly body: string | null;
}

export interface Delivery {
  /** Whose credential is shown. */
  readonly account: OnAccountOf;
  /** Headers of the client's own request, names and values in turn. */
  readonly forwarded?: readonly string[] | undefined;
  readonly method: "GET" | "POST" | "DELETE";
  readonly lane: "calls" | "control" | "recovery";
  /** Writes the message for an attempt; `id` is new each time. */
  readonly write: (id: string) => Written;
  /** Whether a response with that id is waited for. */
  readonly expectsAnswer: boolean;
  /** The id of a request that was sent before, whose answer is waited for instead. */
  readonly awaits?: string | undefined;
  /** When the exchange must be over, all attempts together, in milliseconds since the epoch. */
  readonly until: number;
  readonly signal?: Cancellation | undefined;
  /** With the id of the attempt that it came on. */
  readonly onNotification?: ((message: RpcNotification, id: string) => void) | undefined;
  readonly onRequest?: ((message: RpcRequest) => void) | undefined;
  readonly patience?: Patience | undefined;
  /** In place of the upstream's own; its `callMs` stands in `until` already. */
  readonly deadlines?: Deadlines | undefined;
  readonly trail?: StreamTrail | undefined;
}

export interface Delivered {
  readonly reply: Reply;
  /** The id of the last attempt, for a cancellation. */
  readonly id: string;
}

/**
 * Delivers one message with the account's credential. After a 401 a renewable credential is renewed and the
 * message sent once more: a request that was refused for its credential was not executed. Otherwise nothing is
 * retried. Never rejects.
 */
export async function deliver(link: Link, delivery: Delivery): Promise<Delivered> {
  const { account } = delivery;
  const held = link.credential.headers(account);
  const attached = held instanceof Promise ? await held : held;
  if (!attached.ok) return unavailable(attached);
  const first = await attempt(link, delivery, attached.value);
  const status = statusOf(first.reply);
  if (status === 403) return forbidden(link, delivery, first);
  if (status !== 401 || link.credential.renew === undefined) return first;
  const renewed = await link.credential.renew(account, attached.value);
  if (!renewed.ok) return unavailable(renewed);
  const second = await attempt(link, delivery, renewed.value);
  return statusOf(second.reply) === 403 ? forbidden(link, delivery, second) : second;
}

function statusOf(reply: Reply): number | undefined {
  return reply.kind === "status" || reply.kind === "response" ? reply.status : undefined;
}

/** A 403 was not executed either; whoever has the credential may know what the caller can do about it. */
async function forbidden({ credential }: Link, { account }: Delivery, delivered: Delivered): Promise<Delivered> {
  const { reply } = delivered;
  const challenge = reply.kind === "status" || reply.kind === "response" ? reply.challenge : undefined;
  const known = await credential.forbidden?.(account, challenge);
  return known === undefined || known.ok ? delivered : unavailable(known);
}

async function attempt(link: Link, delivery: Delivery, credential: CredentialHeaders): Promise<Delivered> {
  const id = delivery.awaits ?? link.nextId();
  const { forwarded = [] } = delivery;
  const { headers, body } = delivery.write(id);
  const reply = await send({
    lane: link.pools[delivery.lane],
    outgoing: { method: delivery.method, path: link.path, headers: [...headers, ...forwarded, ...credential], body },
    id: delivery.expectsAnswer ? id : undefined,
    bounds: boundsOf(link, delivery.deadlines),
    timeoutMs: Math.max(1, delivery.until - link.now()),
    signal: delivery.signal,
    onNotification: (message) => delivery.onNotification?.(message, id),
    onRequest: delivery.onRequest,
    patience: delivery.patience,
    trail: delivery.trail,
  });
  return { reply, id };
}

function unavailable({ refusal }: Refused): Delivered {
  return { reply: { kind: "none", refusal, sent: false, error: undefined }, id: "" };
}
