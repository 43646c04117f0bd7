import type { Cancellation } from "../model/cancellation.ts";
import type { Refused } from "../model/result.ts";
import type { RpcNotification, RpcRequest } from "../model/rpc.ts";
import type { CredentialHeaders } from "./credentials/credential.ts";
import type { StreamTrail } from "./event-answer.ts";
import { boundsOf } from "./deadlines.ts";
import type { Link } from "./link.ts";
import type { Patience } from "./patience.ts";
import type { Deadlines } from "./port.ts";
import type { Reply } from "./reply.ts";
import { send } from "./send.ts";

/** A message as its era writes it: headers of the hop, names and values in turn, and the body. */
export interface Written {
  readonly headers: readonly string[];
  readonly body: string | null;
}

export interface Delivery {
  readonly method: "GET" | "POST" | "DELETE";
  readonly lane: "calls" | "control";
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
 * Delivers one message with the upstream's credential. After a 401 a renewable credential is renewed and the
 * message sent once more: a request that was refused for its credential was not executed. Otherwise nothing is
 * retried. Never rejects.
 */
export async function deliver(link: Link, delivery: Delivery): Promise<Delivered> {
  const held = link.credential.headers();
  const attached = held instanceof Promise ? await held : held;
  if (!attached.ok) return unavailable(attached);
  const id = delivery.awaits ?? link.nextId();
  const reply = await attempt(link, delivery, { id, credential: attached.value });
  const status = reply.kind === "status" || reply.kind === "response" ? reply.status : undefined;
  if (status !== 401 || link.credential.renew === undefined) return { reply, id };
  const renewed = await link.credential.renew(attached.value);
  if (!renewed.ok) return unavailable(renewed);
  const nextId = delivery.awaits ?? link.nextId();
  return { reply: await attempt(link, delivery, { id: nextId, credential: renewed.value }), id: nextId };
}

function attempt(
  link: Link,
  delivery: Delivery,
  { id, credential }: { readonly id: string; readonly credential: CredentialHeaders },
): Promise<Reply> {
  const { headers, body } = delivery.write(id);
  return send({
    lane: link.pools[delivery.lane],
    outgoing: { method: delivery.method, path: link.path, headers: [...headers, ...credential], body },
    id: delivery.expectsAnswer ? id : undefined,
    bounds: boundsOf(link, delivery.deadlines),
    timeoutMs: Math.max(1, delivery.until - link.now()),
    signal: delivery.signal,
    onNotification: (message) => delivery.onNotification?.(message, id),
    onRequest: delivery.onRequest,
    patience: delivery.patience,
    trail: delivery.trail,
  });
}

function unavailable({ refusal }: Refused): Delivered {
  return { reply: { kind: "none", refusal, sent: false, error: undefined }, id: "" };
}
