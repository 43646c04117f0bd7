import type { Cancellation } from "../model/cancellation.ts";
import type { RpcId } from "../model/rpc.ts";
import { writeJson } from "../protocol/json/write.ts";

/** A legacy session, as far as its calls are concerned. */
export interface CallsOf {
  readonly tenant: string;
  readonly id: string;
}

/** A call of a legacy session while it runs on this replica. */
export interface CallUnderWay {
  readonly cancellation: Cancellation;
  /** True once the client has cancelled it: nothing more is said to the client about it. */
  readonly cancelled: boolean;
  /** Ends the work without a word of the client's: it left, where leaving cancels. */
  abandon(): void;
  /** It has ended: nobody can cancel it any more. */
  leave(): void;
}

/** The calls of legacy sessions that run on this replica, so that `notifications/cancelled` finds them. */
export interface UnderWay {
  begin(session: CallsOf, id: RpcId): CallUnderWay;
  /**
   * Cancels the session's call of that id. Nothing happens to two calls that share the id (some clients give
   * every request the same one): the wrong one could be meant.
   */
  cancel(session: CallsOf, id: RpcId): "cancelled" | "ambiguous" | "not here";
  /** The same for a text that `cancelText` wrote on another replica. */
  cancelNamed(text: string): void;
  /** Sessions of the calls that ran already when this was asked last: those whose use nobody has noted since. */
  lasting(): readonly CallsOf[];
}

/** Names a call to other replicas. Ids keep their JSON type: `1` and `"1"` are two. */
export function cancelText({ tenant, id: session }: CallsOf, id: RpcId): string {
  return writeJson([tenant, session, id]);
}

/** Its bound is that of calls: whoever has a call here holds one of its principal's slots. */
export function createUnderWay(): UnderWay {
  const calls = new Map<string, Set<LegacyCall>>();
  const find = (name: string): "cancelled" | "ambiguous" | "not here" => {
    const [only, another] = calls.get(name) ?? [];
    if (only === undefined) return "not here";
    if (another !== undefined) return "ambiguous";
    only.cancel();
    return "cancelled";
  };
  return {
    begin: (session, id) => {
      const name = cancelText(session, id);
      const call = new LegacyCall(session, () => {
        const sharing = calls.get(name);
        sharing?.delete(call);
        if (sharing?.size === 0) calls.delete(name);
      });
      const sharing = calls.get(name);
      if (sharing === undefined) calls.set(name, new Set([call]));
      else sharing.add(call);
      return call;
    },
    cancel: (session, id) => find(cancelText(session, id)),
    cancelNamed: (text) => {
      find(text);
    },
    lasting: () => {
      const sessions = new Map<string, CallsOf>();
      for (const sharing of calls.values())
        for (const call of sharing) {
          if (call.lasts) sessions.set(writeJson([call.session.tenant, call.session.id]), call.session);
          call.lasts = true;
        }
      return [...sessions.values()];
    },
  };
}

class LegacyCall implements CallUnderWay, Cancellation {
  aborted = false;
  cancelled = false;
  lasts = false;
  readonly session: CallsOf;
  readonly #left: () => void;
  #listeners: (() => void)[] = [];

  constructor(session: CallsOf, left: () => void) {
    this.session = session;
    this.#left = left;
  }

  get cancellation(): Cancellation {
    return this;
  }

  addEventListener(_type: "abort", listener: () => void): void {
    this.#listeners.push(listener);
  }

  removeEventListener(_type: "abort", listener: () => void): void {
    this.#listeners = this.#listeners.filter((held) => held !== listener);
  }

  cancel(): void {
    this.cancelled = true;
    this.abandon();
  }

  abandon(): void {
    if (this.aborted) return;
    this.aborted = true;
    const listeners = this.#listeners;
    this.#listeners = [];
    for (const listener of listeners) listener();
  }

  leave(): void {
    this.#left();
  }
}
