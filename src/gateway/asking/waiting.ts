import type { Cancellation } from "../../model/cancellation.ts";
import type { Courier } from "../../model/courier.ts";
import { readOwn, readOwnString, type JsonObject } from "../../model/json.ts";
import type { Limits } from "../../model/limits.ts";
import { StoreUnavailable, type RecordKey, type RecordWrites } from "../../model/records.ts";
import type { RpcId, RpcResponse } from "../../model/rpc.ts";
import { errorMessage, readMessage, resultMessage } from "../../protocol/jsonrpc.ts";
import { parseJsonText } from "../../protocol/json/parse.ts";
import { writeJson } from "../../protocol/json/write.ts";

/** Whose answer is awaited: nobody else's response can settle it. */
export interface AskedSession {
  readonly tenant: string;
  readonly id: string;
}

export interface ToSend {
  readonly session: AskedSession;
  /** The request under the id it is given. */
  readonly messageOf: (id: string) => JsonObject;
  /** Puts it before the client; false when there is nowhere to put it. */
  readonly send: (message: JsonObject) => boolean | Promise<boolean>;
  /** When nobody waits any more, in milliseconds since the epoch. */
  readonly until: number;
  readonly signal: Cancellation;
}

/** What came of a request to a client. `id` is what the client knows it by, once it was sent. */
export type Came =
  | { readonly kind: "response"; readonly response: RpcResponse }
  | { readonly kind: "timed-out" | "withdrawn"; readonly id: string | undefined }
  /** Too many wait already; no stream takes it; the store that would lead its answer here is away. */
  | { readonly kind: "full" | "unsent" };

/** Requests of the gateway that wait for a client's response. */
export interface Waiting {
  /** Sends a request and waits for its response, on whichever replica that arrives. Never rejects. */
  ask(request: ToSend): Promise<Came>;
  /**
   * A response that a client posted in its session. One that nobody waits for reaches nobody, without a word. Rejects
   * with `StoreUnavailable`.
   */
  take(session: AskedSession, response: RpcResponse): Promise<void>;
}

export interface WaitingOptions {
  readonly records: Pick<RecordWrites, "set" | "take" | "delete">;
  readonly courier: Courier;
  /** Cryptographically random bytes. */
  readonly random: (bytes: number) => Uint8Array;
  readonly now: () => number;
  readonly limits: Pick<Limits, "askedWaitingMax" | "askedWaitingPerSessionMax">;
}

/** 128 bits as base64url. What was never an id of ours does not reach the store. */
const idBytes = 16;
const idForm = /^[A-Za-z0-9_-]{22}$/;

/**
 * Where a response is awaited stands in the store, under tenant, session and id: whoever takes the record sends the
 * response to the replica that it names, so of two responses to one request the first alone counts. The id is random
 * and the record lives as long as the wait. A replica that dies takes its waits with it; the calls behind them end
 * with it.
 */
export function createWaiting(options: WaitingOptions): Waiting {
  const room = new WaitingRoom(options);
  options.courier.receive("answer", (text) => {
    room.deliver(text);
  });
  return room;
}

interface Waiter {
  readonly settle: (came: Came) => void;
}

class WaitingRoom implements Waiting {
  readonly #options: WaitingOptions;
  readonly #waiters = new Map<string, Waiter>();
  /** How many each session has, by session. */
  readonly #bySession = new Map<string, number>();
  #count = 0;

  constructor(options: WaitingOptions) {
    this.#options = options;
  }

  async ask(request: ToSend): Promise<Came> {
    const { limits, random } = this.#options;
    const session = JSON.stringify([request.session.tenant, request.session.id]);
    const waiting = this.#bySession.get(session) ?? 0;
    if (waiting >= limits.askedWaitingPerSessionMax || this.#count >= limits.askedWaitingMax) return { kind: "full" };
    this.#bySession.set(session, waiting + 1);
    this.#count += 1;
    try {
      return await this.#wait(request, Buffer.from(random(idBytes)).toString("base64url"));
    } finally {
      this.#count -= 1;
      const left = (this.#bySession.get(session) ?? 1) - 1;
      if (left > 0) this.#bySession.set(session, left);
      else this.#bySession.delete(session);
    }
  }

  async #wait(request: ToSend, id: string): Promise<Came> {
    const { records, courier, now } = this.#options;
    const { session, until } = request;
    const key = recordKey(session, id);
    const ms = until - now();
    if (ms <= 0) return { kind: "unsent" };
    if (!(await reaches(records.set(key, courier.address, ms)))) return { kind: "unsent" };
    const came = await this.#response(request, id, ms);
    if (came.kind !== "response") await reaches(records.delete(key));
    return came;
  }

  #response({ session, messageOf, send, signal }: ToSend, id: string, ms: number): Promise<Came> {
    const place = waiterKey(session, id);
    return new Promise((resolve) => {
      const settle = (came: Came): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", withdraw);
        this.#waiters.delete(place);
        resolve(came);
      };
      const withdraw = (): void => {
        settle({ kind: "withdrawn", id });
      };
      const timer = setTimeout(() => {
        settle({ kind: "timed-out", id });
      }, ms);
      if (signal.aborted) {
        settle({ kind: "withdrawn", id: undefined });
        return;
      }
      signal.addEventListener("abort", withdraw);
      this.#waiters.set(place, { settle });
      void sent(send, messageOf(id)).then((isSent) => {
        if (!isSent) settle({ kind: "unsent" });
      });
    });
  }

  async take(session: AskedSession, response: RpcResponse): Promise<void> {
    const { id } = response;
    if (typeof id !== "string" || !idForm.test(id)) return;
    const { records, courier } = this.#options;
    const holder = await records.take(recordKey(session, id));
    if (holder === undefined) return;
    const { tenant, id: sessionId } = session;
    await courier.send(
      holder,
      "answer",
      writeJson({ tenant, session: sessionId, response: responseMessage(id, response) }),
    );
  }

  deliver(text: string): void {
    const parsed = parseJsonText(text);
    if (!parsed.ok) return;
    const tenant = readOwnString(parsed.value, "tenant");
    const id = readOwnString(parsed.value, "session");
    const message = readMessage(readOwn(parsed.value, "response") ?? null);
    if (tenant === undefined || id === undefined || !message.ok || message.value.kind !== "response") return;
    const response = message.value;
    if (typeof response.id !== "string") return;
    this.#waiters.get(waiterKey({ tenant, id }, response.id))?.settle({ kind: "response", response });
  }
}

function recordKey({ tenant, id }: AskedSession, asked: string): RecordKey {
  return ["asked", tenant, id, asked];
}

function waiterKey({ tenant, id }: AskedSession, asked: string): string {
  return JSON.stringify([tenant, id, asked]);
}

function responseMessage(id: RpcId, response: RpcResponse): JsonObject {
  return "result" in response ? resultMessage(id, response.result) : errorMessage(id, response.error);
}

async function sent(send: ToSend["send"], message: JsonObject): Promise<boolean> {
  try {
    return await send(message);
  } catch {
    return false;
  }
}

/** False when the store could not be reached. */
async function reaches(work: Promise<unknown>): Promise<boolean> {
  try {
    await work;
    return true;
  } catch (cause) {
    if (cause instanceof StoreUnavailable) return false;
    throw cause;
  }
}
