import type { Courier } from "../../model/courier.ts";
import type { JsonObject } from "../../model/json.ts";
import type { RpcId } from "../../model/rpc.ts";
import type { ListenFilter } from "../../protocol/modern/listen.ts";
import { StoreUnavailable } from "../../model/records.ts";
import { refuse, type Refusal } from "../../model/refusal.ts";
import { writeJson } from "../../protocol/json/write.ts";
import { createCallSlots } from "../call-slots.ts";
import { given, type Exchange, type ListeningStream } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { keepStream, type LiveStream, type StreamEnd } from "./live-stream.ts";
import { holdBack } from "./held-back.ts";
import { createStreamHolders, type Holder, type HolderRecords, type StreamHolders } from "./stream-holders.ts";
import type { UsedUpstreams } from "./used-upstreams.ts";
import { readNote, writeNote, type SessionName, type StreamNote } from "./stream-notes.ts";

/** The streams that clients keep open, and the way to them from wherever something happens. */
export interface ClientStreams {
  /**
   * Serves the GET stream of the exchange's session until it ends. The newest stream of a session wins, on
   * whichever replica: clients come back before the end of their old connection is noticed. Refuses
   * STREAM_LIMIT_REACHED and NOT_ACCEPTABLE; rejects with `StoreUnavailable`.
   */
  serveSession(x: Exchange, g: Gateway): Promise<Refusal | undefined>;
  /** Serves the stream of a `subscriptions/listen` request, in the same bounds, `first` being its first message. */
  serveListen(x: Exchange, g: Gateway, listen: Listen): Promise<Refusal | undefined>;
  /**
   * Puts one message on the session's GET stream, here or on the replica that holds it. False when there is
   * none, or it is over. True is no proof of delivery: a message on its way to another replica may be lost.
   */
  send(session: SessionName, message: JsonObject): Promise<boolean>;
  /** The session has ended: so does its stream, wherever it is. */
  sessionEnded(session: SessionName): Promise<void>;
  /** What upstreams are to tell the session has changed. */
  interestsChanged(session: SessionName): Promise<void>;
  /** The session has used a legacy upstream that may have something to say to it outside of calls. */
  used(session: SessionName, upstream: string): void;
  /** Ends every stream of this replica, as the gateway stops. */
  close(): void;
}

/** What puts messages on a stream by itself. */
export interface Feed {
  /** With every tick of the stream. */
  tend(): Promise<void>;
  /** What the session wants to hear of may have changed. */
  refresh(): Promise<void>;
  end(): void;
  /** Settles once upstreams tell it what the stream was opened for, or cannot. Absent: from the beginning. */
  readonly standing?: Promise<void>;
}

/** What a modern client listens for, by the id of its request and the part of its filter that is honoured. */
export interface Listen {
  readonly id: RpcId;
  readonly filter: ListenFilter;
  readonly first: string;
}

export type Feeding = (x: Exchange, g: Gateway, live: LiveStream) => Feed;

export interface ClientStreamsOptions {
  readonly records: HolderRecords;
  readonly courier: Courier;
  readonly randomId: () => string;
  readonly bounds: {
    readonly streamsPerPrincipalMax: number;
    readonly streamsMax: number;
    readonly streamHolderMs: number;
  };
  readonly used: UsedUpstreams;
  readonly feedSession: Feeding;
  readonly feedListen: (listen: Listen) => Feeding;
  /** Another replica has learnt that an upstream's lists changed. */
  readonly onLists: (upstream: string) => void;
}

/** A session's place on this replica; without a stream while the place is being claimed. */
interface Seat {
  live: LiveStream | undefined;
  feed: Feed | undefined;
}

interface Hall {
  readonly options: ClientStreamsOptions;
  readonly holders: StreamHolders;
  readonly seats: Map<string, Seat>;
  readonly open: Set<LiveStream>;
  readonly slots: ReturnType<typeof createCallSlots>;
}

export function createClientStreams(options: ClientStreamsOptions): ClientStreams {
  const hall: Hall = {
    options,
    holders: createStreamHolders(options.records, options.bounds.streamHolderMs),
    seats: new Map(),
    open: new Set(),
    slots: createCallSlots(options.bounds.streamsPerPrincipalMax),
  };
  options.courier.receive("stream", (text) => {
    const note = readNote(text);
    if (note !== undefined) hear(hall, note);
  });
  return {
    serveSession: (x, g) => serveSession(hall, x, g),
    serveListen: (x, g, listen) => serve(hall, { x, g, id: options.randomId(), feeding: listening(hall, listen) }),
    send: (session, message) => send(hall, session, writeJson(message)),
    sessionEnded: async (session) => {
      await tellHolder(hall, { kind: "over", session });
      await ignoringOutage(() => options.used.forget(session));
    },
    interestsChanged: (session) => tellHolder(hall, { kind: "interests", session }),
    used: (session, upstream) => {
      if (!options.used.isNoted(session, upstream)) void noteUse(hall, session, upstream);
    },
    close: () => {
      for (const live of hall.open) live.end("draining");
    },
  };
}

async function serveSession(hall: Hall, x: Exchange, g: Gateway): Promise<Refusal | undefined> {
  const { courier, randomId, feedSession } = hall.options;
  const session = nameOf(x);
  const holder: Holder = { address: courier.address, stream: randomId() };
  const seat = takeSeat(hall, session);
  try {
    const before = await hall.holders.claim(session, holder);
    if (before !== undefined && before.address !== courier.address)
      await tell(hall, before.address, { kind: "replaced", session, stream: before.stream });
    return await serve(hall, {
      x,
      g,
      id: holder.stream,
      feeding: feedSession,
      seat: { seat, isTaken: () => hall.seats.get(keyOf(session)) !== seat },
      keep: async () => ((await hall.holders.keep(session, holder)) ? undefined : "replaced"),
    });
  } finally {
    if (hall.seats.get(keyOf(session)) === seat) hall.seats.delete(keyOf(session));
    await ignoringOutage(() => hall.holders.leave(session, holder));
  }
}

/**
 * The acknowledgement is the first message (2026-07-28, subscriptions), and a promise: what changes after it is
 * told. So it waits until upstreams are heard, for a moment; a client is not kept waiting for one that is down.
 */
function listening(hall: Hall, listen: Listen): Feeding {
  return (x, g, live) => {
    const held = holdBack(live, { first: listen.first, messagesMax: g.limits.sessionSubscriptionsMax });
    const feed = hall.options.feedListen(listen)(x, g, held.stream);
    const late = setTimeout(held.release, g.limits.listenAcknowledgeMsMax);
    void (feed.standing ?? Promise.resolve()).then(held.release);
    void live.ended.then(() => {
      clearTimeout(late);
    });
    return feed;
  };
}

/** In an outage of the store nobody notes it; the session's next call does. */
function noteUse(hall: Hall, session: SessionName, upstream: string): Promise<void> {
  return ignoringOutage(async () => {
    if (await hall.options.used.note(session, upstream)) await tellHolder(hall, { kind: "interests", session });
  });
}

/** Before anything is awaited, so that of two streams that open at once the later one has the seat. */
function takeSeat(hall: Hall, session: SessionName): Seat {
  const seat: Seat = { live: undefined, feed: undefined };
  hall.seats.get(keyOf(session))?.live?.end("replaced");
  hall.seats.set(keyOf(session), seat);
  return seat;
}

interface Service {
  readonly x: Exchange;
  readonly g: Gateway;
  readonly id: string;
  readonly feeding: Feeding;
  readonly seat?: { readonly seat: Seat; readonly isTaken: () => boolean };
  /** Keeps the stream's place; says why it must end. */
  readonly keep?: () => Promise<StreamEnd | undefined>;
}

async function serve(hall: Hall, service: Service): Promise<Refusal | undefined> {
  const release = admit(hall, service.x);
  const { streamsPerPrincipalMax, streamsMax } = hall.options.bounds;
  if (release === undefined) return refuse("STREAM_LIMIT_REACHED", { streamsPerPrincipalMax, streamsMax }).refusal;
  const wire = service.x.arrival.listen();
  try {
    if (wire === undefined) return refuse("NOT_ACCEPTABLE").refusal;
    await live(hall, service, wire);
    return undefined;
  } finally {
    release();
  }
}

/** A place in the bounds of this replica; what gives it back. */
function admit(hall: Hall, x: Exchange): (() => void) | undefined {
  if (hall.open.size >= hall.options.bounds.streamsMax) return undefined;
  return hall.slots.take(given(x.principal, "a principal").key);
}

/** The stream's life, from its opening to its end. */
async function live(hall: Hall, { x, g, id, feeding, seat, keep }: Service, wire: ListeningStream): Promise<void> {
  const tend = async (): Promise<StreamEnd | undefined> => {
    const over = await keep?.();
    if (over === undefined) await feed.tend();
    return over;
  };
  const stream = keepStream(x, g, { id, wire, tend });
  hall.open.add(stream);
  const feed = feeding(x, g, stream);
  if (seat !== undefined) Object.assign(seat.seat, { live: stream, feed } satisfies Seat);
  if (seat?.isTaken() === true) stream.end("replaced");
  if (g.draining()) stream.end("draining");
  await stream.ended;
  hall.open.delete(stream);
  feed.end();
}

/** What another replica has to say. */
function hear(hall: Hall, note: StreamNote): void {
  if (note.kind === "lists") {
    hall.options.onLists(note.upstream);
    return;
  }
  const seat = hall.seats.get(keyOf(note.session));
  if (seat?.live === undefined) return;
  if (note.kind === "message") seat.live.deliver(note.text);
  else if (note.kind === "over") seat.live.end("session-over");
  else if (note.kind === "interests") void seat.feed?.refresh();
  else if (note.stream === seat.live.id) seat.live.end("replaced");
}

async function send(hall: Hall, session: SessionName, text: string): Promise<boolean> {
  const here = hall.seats.get(keyOf(session))?.live;
  if (here !== undefined) return here.deliver(text);
  const holder = await hall.holders.find(session);
  if (holder === undefined || holder.address === hall.options.courier.address) return false;
  await hall.options.courier.send(holder.address, "stream", writeNote({ kind: "message", session, text }));
  return true;
}

/** Never rejects: what a holder misses in an outage it finds with its next tick. */
async function tellHolder(hall: Hall, note: Extract<StreamNote, { session: SessionName }>): Promise<void> {
  if (hall.seats.has(keyOf(note.session))) {
    hear(hall, note);
    return;
  }
  await ignoringOutage(async () => {
    const holder = await hall.holders.find(note.session);
    if (holder !== undefined && holder.address !== hall.options.courier.address) await tell(hall, holder.address, note);
  });
}

function tell(hall: Hall, address: string, note: StreamNote): Promise<void> {
  return ignoringOutage(() => hall.options.courier.send(address, "stream", writeNote(note)));
}

async function ignoringOutage(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (cause) {
    if (!(cause instanceof StoreUnavailable)) throw cause;
  }
}

function nameOf(x: Exchange): SessionName {
  const { tenant, id } = given(x.session, "a session");
  return { tenant, id };
}

function keyOf({ tenant, id }: SessionName): string {
  return JSON.stringify([tenant, id]);
}
