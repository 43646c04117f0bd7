import type { Courier } from "../../model/courier.ts";
import { StoreUnavailable } from "../../model/records.ts";
import type { WatchState } from "../../upstream/port.ts";
import type { Feed } from "./feed.ts";
import type { StreamHolders } from "./stream-holders.ts";
import { writeNote, type SessionName, type StreamNote } from "./stream-notes.ts";

/** How far upstreams' streams for sessions have come, wherever the sessions' GET streams are. */
export interface Hearing {
  /**
   * The state of the upstream's stream for the session, once that is none of `before` or `waitMs` are over. Undefined
   * when the session has no GET stream, when the replica that has it does not answer in time, and in an outage of the
   * store. Another replica answers as soon as its stream is no longer `opening`.
   */
  stateOf(of: Wondered): Promise<WatchState | undefined>;
  /** What another replica asks about a stream of this one, or has found out. */
  take(note: Extract<StreamNote, { kind: "hears" | "heard" }>): void;
}

export interface Wondered {
  readonly session: SessionName;
  readonly upstream: string;
  readonly before: readonly WatchState[];
}

/** A session's stream on this replica. */
export interface Listener {
  readonly feed: Feed | undefined;
  /** Settles when there is a feed, or there will be none. */
  readonly begun: Promise<void>;
}

export interface HearingOptions {
  readonly courier: Pick<Courier, "address" | "send">;
  readonly holders: Pick<StreamHolders, "find">;
  readonly randomId: () => string;
  readonly waitMs: number;
  readonly listenerOf: (session: SessionName) => Listener | undefined;
}

interface Desk {
  readonly options: HearingOptions;
  /** Questions to other replicas. Each is part of a call under way, of which there is a bounded number. */
  readonly asked: Map<string, (state: WatchState) => void>;
}

export function createHearing(options: HearingOptions): Hearing {
  const desk: Desk = { options, asked: new Map() };
  return {
    stateOf: (of) => {
      const here = options.listenerOf(of.session);
      return here === undefined ? within(options.waitMs, () => stateThere(desk, of)) : stateHere(desk, here, of);
    },
    take: (note) => {
      if (note.kind === "heard") desk.asked.get(note.question)?.(note.state);
      else void answer(desk, note);
    },
  };
}

async function stateHere(
  desk: Desk,
  listener: Listener,
  { upstream, before }: Wondered,
): Promise<WatchState | undefined> {
  const { waitMs } = desk.options;
  const beyond = await within(waitMs, async () => {
    await listener.begun;
    return listener.feed?.hears?.(upstream, before);
  });
  // What did not change in time still is what it is.
  return beyond ?? within(waitMs, async () => listener.feed?.hears?.(upstream, []));
}

async function stateThere({ options, asked }: Desk, { session, upstream }: Wondered): Promise<WatchState | undefined> {
  const { courier, holders } = options;
  const holder = await holders.find(session);
  if (holder === undefined || holder.address === courier.address) return undefined;
  const question = options.randomId();
  try {
    const state = new Promise<WatchState | undefined>((resolve) => {
      asked.set(question, resolve);
      // The other replica may have died, or its answer.
      setTimeout(resolve, options.waitMs, undefined).unref();
    });
    const note: StreamNote = { kind: "hears", session, upstream, address: courier.address, question };
    await courier.send(holder.address, "stream", writeNote(note));
    return await state;
  } finally {
    asked.delete(question);
  }
}

/** Whoever asked waits as long as this one, so what is still opening by then needs no answer. */
async function answer(desk: Desk, note: Extract<StreamNote, { kind: "hears" }>): Promise<void> {
  const { courier, listenerOf, waitMs } = desk.options;
  const { session, upstream, question, address } = note;
  const here = listenerOf(session);
  if (here === undefined) return;
  const state = await stateHere(desk, here, { session, upstream, before: ["opening"] });
  if (state === undefined || state === "opening") return;
  const text = writeNote({ kind: "heard", session, question, state });
  await within(waitMs, () => courier.send(address, "stream", text));
}

/** What is not found out in time, or in an outage of the store, is not known. */
async function within<T>(waitMs: number, work: () => Promise<T>): Promise<T | undefined> {
  let late: NodeJS.Timeout | undefined;
  const tooLate = new Promise<undefined>((resolve) => {
    late = setTimeout(resolve, waitMs, undefined);
  });
  try {
    return await Promise.race([work().catch(unknownInOutage), tooLate]);
  } finally {
    clearTimeout(late);
  }
}

function unknownInOutage(cause: unknown): undefined {
  if (!(cause instanceof StoreUnavailable)) throw cause;
  return undefined;
}
