import { DecoratorHandler, Dispatcher, Pool } from "undici";
import type { Cancellation } from "../model/cancellation.ts";
import type { Limits } from "../model/limits.ts";
import { refuse, type Refusal } from "../model/refusal.ts";
import type { Result } from "../model/result.ts";
import { chooseCredential } from "./credentials/choose-credential.ts";
import type { Credential, CredentialHeaders } from "./credentials/credential.ts";
import { FileDelivery, FileFault } from "./file-delivery.ts";
import { createGuardedConnect, type ResolveName } from "./guarded-connect.ts";
import type { UpstreamOptions } from "./options.ts";
import type { OnAccountOf } from "./port.ts";

/** One file to be fetched. */
export interface FileErrand {
  readonly upstream: string;
  readonly account: OnAccountOf;
  readonly method: "GET" | "HEAD";
  /** Path and query: sent as they are, or not at all. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytesMax: number;
  /** Undefined: the upstream's own deadline alone. */
  readonly deadlineMs?: number | undefined;
  /** Aborting ends the exchange by closing its connection. */
  readonly signal: Cancellation;
  /** Judges the head of the answer; nothing behind a refused one is read. */
  readonly judge: (
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ) => Refusal | undefined;
  /** Bytes of the file that have come, each time some did. */
  readonly onBytes: (bytes: number) => void;
}

/** The request header in which an errand's ticket travels through the library. It goes no further. */
export const fileTicketHeader = "sallyport-errand";

/** Fetches files from upstreams' origins, behind the egress guard and with the upstream's credential. */
export interface FileSource {
  /** What `@fastify/http-proxy` is given to send with. A request without a ticket is not sent. */
  readonly dispatcher: Dispatcher;
  /** Announces an errand and returns its ticket, good for one request. */
  announce(errand: FileErrand): string;
  /** Forgets an errand that was never started. */
  withdraw(ticket: string): void;
  close(): Promise<void>;
}

export interface FileSourceOptions {
  readonly upstreams: Readonly<Record<string, UpstreamOptions>>;
  readonly limits: Limits;
  readonly now: () => number;
  /** Default: the system's resolver. */
  readonly resolve?: ResolveName | undefined;
}

/**
 * The connections are files' own, so that downloads take none from calls; beyond `filesInFlightPerUpstreamMax` a
 * file is refused with UPSTREAM_QUEUE_FULL at once. Redirects are not followed, certificates are verified.
 * Throws for a URL or a credential header that cannot be used. Nothing is dialled before the first errand.
 */
export function createFileSource(options: FileSourceOptions): FileSource {
  const doors = new Map(Object.entries(options.upstreams).map(([name, upstream]) => [name, doorOf(upstream, options)]));
  const dispatcher = new FileDispatcher(doors, options.limits.filesInFlightPerUpstreamMax);
  return {
    dispatcher,
    announce: (errand) => dispatcher.announce(errand),
    withdraw: (ticket) => {
      dispatcher.withdraw(ticket);
    },
    close: async () => {
      await Promise.all([...doors.values()].map(({ pool }) => pool.destroy()));
    },
  };
}

/** What one upstream's files are fetched with. */
interface Door {
  readonly origin: string;
  readonly pool: Pool;
  readonly credential: Credential;
  readonly callMs: number;
  inFlight: number;
}

function doorOf(upstream: UpstreamOptions, { limits, now, resolve }: FileSourceOptions): Door {
  const { origin } = new URL(upstream.url);
  const { addresses = "public", timeouts = {}, tls } = upstream;
  const timeoutMs = timeouts.connectMs ?? limits.upstreamConnectTimeoutMs;
  const pool = new Pool(origin, {
    connect: createGuardedConnect({ addresses, clearText: "private", timeoutMs, ...tls, resolve }),
    connections: limits.filesInFlightPerUpstreamMax,
    pipelining: 1,
    headersTimeout: timeouts.firstByteMs ?? limits.upstreamFirstByteTimeoutMs,
    bodyTimeout: timeouts.idleMs ?? limits.upstreamIdleTimeoutMs,
    keepAliveTimeout: limits.upstreamIdleConnectionMs,
    maxHeaderSize: limits.headerBytesMax,
  });
  const credential = chooseCredential(upstream.credential ?? { type: "none" }, { now, limits, addresses, ca: tls?.ca });
  return { origin, pool, credential, callMs: timeouts.callMs ?? limits.upstreamCallTimeoutMs, inFlight: 0 };
}

/**
 * Takes the place of undici under the library, which knows nothing of credentials, bounds and who asks: of its
 * request only the ticket is read, and that path and method are still those that were judged.
 */
class FileDispatcher extends Dispatcher {
  readonly #doors: ReadonlyMap<string, Door>;
  readonly #inFlightMax: number;
  readonly #errands = new Map<string, FileErrand>();
  #count = 0;

  constructor(doors: ReadonlyMap<string, Door>, inFlightMax: number) {
    super();
    this.#doors = doors;
    this.#inFlightMax = inFlightMax;
  }

  announce(errand: FileErrand): string {
    this.#count += 1;
    const ticket = String(this.#count);
    this.#errands.set(ticket, errand);
    return ticket;
  }

  withdraw(ticket: string): void {
    this.#errands.delete(ticket);
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const client: Dispatcher.DispatchHandler = new DecoratorHandler(handler);
    const ticket = ticketIn(options.headers);
    const errand = this.#errands.get(ticket);
    this.#errands.delete(ticket);
    const door = errand === undefined ? undefined : this.#doors.get(errand.upstream);
    if (errand === undefined || door === undefined || isAltered(options, errand, door)) {
      FileDelivery.refuse(client, refuse("INTERNAL_FAULT", { reason: "not the request that was judged" }).refusal);
    } else if (door.inFlight >= this.#inFlightMax) {
      FileDelivery.refuse(client, refuse("UPSTREAM_QUEUE_FULL", { inFlight: door.inFlight }).refusal);
    } else {
      door.inFlight += 1;
      const delivery = new FileDelivery(errand, client);
      delivery.giveUpAfter(Math.min(door.callMs, errand.deadlineMs ?? Infinity));
      // Freed when undici has let go of it, which may be later than the client hears that it is given up.
      void send(delivery, door, errand).finally(() => {
        door.inFlight -= 1;
      });
    }
    return true;
  }
}

function isAltered(options: Dispatcher.DispatchOptions, errand: FileErrand, door: Door): boolean {
  const { path, method, origin, body } = options;
  const hasBody = body !== undefined && body !== null && body !== "";
  return path !== errand.target || method !== errand.method || origin?.toString() !== door.origin || hasBody;
}

function ticketIn(headers: Dispatcher.DispatchOptions["headers"]): string {
  if (typeof headers !== "object" || headers === null || !(fileTicketHeader in headers)) return "";
  const ticket: unknown = headers[fileTicketHeader];
  return typeof ticket === "string" ? ticket : "";
}

/** Never rejects: what goes wrong is the delivery's to tell. A 401 is tried once more where there is another credential. */
async function send(delivery: FileDelivery, door: Door, errand: FileErrand): Promise<void> {
  try {
    const first = await door.credential.headers(errand.account);
    const status = await attempt(delivery, door, {
      errand,
      credential: first,
      isLast: door.credential.renew === undefined,
    });
    if (status !== "renew" || door.credential.renew === undefined || !first.ok) return;
    const second = await door.credential.renew(errand.account, first.value);
    await attempt(delivery, door, { errand, credential: second, isLast: true });
  } catch (cause) {
    delivery.fail(new FileFault(refuse("INTERNAL_FAULT", {}, { cause }).refusal));
  }
}

interface Attempt {
  readonly errand: FileErrand;
  readonly credential: Result<CredentialHeaders>;
  readonly isLast: boolean;
}

async function attempt(delivery: FileDelivery, door: Door, of: Attempt): Promise<"over" | "renew"> {
  const { errand, credential, isLast } = of;
  if (!credential.ok) {
    delivery.fail(new FileFault(credential.refusal));
    return "over";
  }
  const own = Object.entries(errand.headers).flat();
  // Starts from nothing: what the client sent is in none of these lists (design, decision 8).
  const headers = [...own, "accept-encoding", "identity", ...credential.value];
  const request = { origin: door.origin, path: errand.target, method: errand.method, headers };
  return delivery.attempt((handler) => door.pool.dispatch(request, handler), isLast);
}
