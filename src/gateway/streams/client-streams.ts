import type { Courier } from "../../model/courier.ts";
import type { JsonObject } from "../../model/json.ts";
import type { Subject } from "../../model/principal.ts";
import { StoreUnavailable } from "../../model/records.ts";
import type { Refusal } from "../../model/refusal.ts";
import { writeJson } from "../../protocol/json/write.ts";
import type { WatchState } from "../../upstream/port.ts";
import { given, type Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { acknowledged, type Listen } from "./acknowledged.ts";
import type { Feed, Feeding } from "./feed.ts";
import { createHearing, type Hearing } from "./hearing.ts";
import type { LiveStream } from "./live-stream.ts";
import { createStreamHolders, type Holder, type HolderRecords, type StreamHolders } from "./stream-holders.ts";
import { readNote, writeNote, type SessionName, type StreamNote } from "./stream-notes.ts";
import { createStreamRoom, type StreamKind, type StreamRoom, type StreamRoomBounds } from "./stream-room.ts";
import type { UsedUpstreams } from "./used-upstreams.ts";

/** The streams that clients keep open, and the way to them from wherever something happens. */
export interface ClientStreams {
  /**
   * Serves the GET stream of the exchange's session until it ends. The newest stream of a session wins, on
   * whichever replica: clients come back before the end of their old connection is noticed. Refuses
   * STREAM_LIMIT_REACHED and NOT_ACCEPTABLE; rejects with `StoreUnavailable`.
   */
  serveSession(x: Exchange, g: Gateway): Promise<Refusal | undefined>;
  /**
   * Serves the stream of a `subscriptions/listen` request, in the same bounds. What it listens for is found out once
   * there is room for it. Refuses STREAM_LIMIT_REACHED also when upstreams have no connection for any of it.
   */
  serveListen(x: Exchange, g: Gateway, listenOf: () => Promise<Listen>): Promise<Refusal | undefined>;
  /**
   * Puts one message on the session's GET stream, here or on the replica that holds it. False when there is
   * none, or it is over. True is no proof of delivery: a message on its way to another replica may be lost.
   */
  send(session: SessionName, message: JsonObject): Promise<boolean>;
  /** The session has ended: so does its stream, wherever it is. */
  sessionEnded(session: SessionName): Promise<void>;
  /** Ends every stream of this replica that belongs to somebody who is not let in any more. */
  subjectDenied(who: Subject): void;
  /** What upstreams are to tell the session has changed. */
  interestsChanged(session: SessionName): Promise<void>;
  /** The session has used a legacy upstream that may have something to say to it outside of calls. */
  used(session: SessionName, upstream: string): void;
  /**
   * As `used`, before the use: waits until the session's GET stream, wherever it is, brings what the upstream has to
   * say, or cannot. For a new upstream once, at most `listenAcknowledgeMsMax`. Never rejects for an outage.
   */
  hear(session: SessionName, upstream: string): Promise<void>;
  /**
   * How far the upstream's stream for the session has come; waits as long for one that opens or has no connection
   * yet. Undefined when the session has no GET stream, or nobody could tell in time.
   */
  hears(session: SessionName, upstream: string): Promise<WatchState | undefined>;
  /** Streams that are open on this replica, by what opened them. */
  count(): Readonly<Record<StreamKind, number>>;
  /** Ends every stream of this replica, as the gateway stops. */
  close(): void;
}

export interface ClientStreamsOptions {
  readonly records: HolderRecords;
  readonly courier: Courier;
  readonly randomId: () => string;
  readonly bounds: StreamRoomBounds & { readonly streamHolderMs: number; readonly listenAcknowledgeMsMax: number };
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
  /** Settles when it has both, or is left. */
  readonly begun: Promise<void>;
  begin: () => void;
  /** Upstreams whose stream a call has waited for. */
  readonly awaited: Set<string>;
}

interface Hall {
  readonly options: ClientStreamsOptions;
  readonly holders: StreamHolders;
  readonly room: StreamRoom;
  readonly hearing: Hearing;
  readonly seats: Map<string, Seat>;
}

export function createClientStreams(options: ClientStreamsOptions): ClientStreams {
  const { records, courier, randomId, bounds } = options;
  const holders = createStreamHolders(records, bounds.streamHolderMs);
  const seats = new Map<string, Seat>();
  const hearing = createHearing({
    ...{ courier, holders, randomId, waitMs: bounds.listenAcknowledgeMsMax },
    listenerOf: (session) => seats.get(keyOf(session)),
  });
  const hall: Hall = { options, holders, room: createStreamRoom(bounds), hearing, seats };
  courier.receive("stream", (text) => {
    const note = readNote(text);
    if (note !== undefined) take(hall, note);
  });
  return {
    serveSession: (x, g) => serveSession(hall, x, g),
    serveListen: (x, g, listenOf) =>
      hall.room.serve({
        ...{ x, g, id: randomId(), kind: "listen" },
        feeding: async () => acknowledged(await listenOf(), options.feedListen),
      }),
    send: (session, message) => send(hall, session, writeJson(message)),
    sessionEnded: async (session) => {
      await tellHolder(hall, { kind: "over", session });
      await ignoringOutage(() => options.used.forget(session));
    },
    subjectDenied: (who) => {
      hall.room.endOf(who, "not-admitted");
    },
    interestsChanged: (session) => tellHolder(hall, { kind: "interests", session }),
    used: (session, upstream) => {
      if (!options.used.isNoted(session, upstream)) void noteUse(hall, session, upstream);
    },
    hear: (session, upstream) => hear(hall, session, upstream),
    hears: (session, upstream) => hearing.stateOf({ session, upstream, before: ["opening", "full"] }),
    count: () => hall.room.count(),
    close: () => {
      hall.room.endAll("draining");
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
    return await hall.room.serve({
      ...{ x, g, id: holder.stream, kind: "session" },
      feeding: () => Promise.resolve(feedSession),
      onOpen: (live, feed) => {
        Object.assign(seat, { live, feed } satisfies Partial<Seat>);
        seat.begin();
        if (hall.seats.get(keyOf(session)) !== seat) live.end("replaced");
      },
      keep: async () => ((await hall.holders.keep(session, holder)) ? undefined : "replaced"),
    });
  } finally {
    seat.begin();
    if (hall.seats.get(keyOf(session)) === seat) hall.seats.delete(keyOf(session));
    await ignoringOutage(() => hall.holders.leave(session, holder));
  }
}

/** In an outage of the store nobody notes it; the session's next call does. */
function noteUse(hall: Hall, session: SessionName, upstream: string): Promise<void> {
  return ignoringOutage(async () => {
    if (await hall.options.used.note(session, upstream)) await tellHolder(hall, { kind: "interests", session });
  });
}

/** Before anything is awaited, so that of two streams that open at once the later one has the seat. */
function takeSeat(hall: Hall, session: SessionName): Seat {
  let begin = (): void => undefined;
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const seat: Seat = { live: undefined, feed: undefined, begun, begin, awaited: new Set() };
  hall.seats.get(keyOf(session))?.live?.end("replaced");
  hall.seats.set(keyOf(session), seat);
  return seat;
}

/** What another replica has to say. */
function take(hall: Hall, note: StreamNote): void {
  if (note.kind === "lists") hall.options.onLists(note.upstream);
  else if (note.kind === "heard" || note.kind === "hears") hall.hearing.take(note);
  else takeForSeat(hall, note);
}

function takeForSeat(hall: Hall, note: Exclude<StreamNote, { kind: "lists" | "hears" | "heard" }>): void {
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

async function hear(hall: Hall, session: SessionName, upstream: string): Promise<void> {
  const isNew = !hall.options.used.isNoted(session, upstream);
  const seat = hall.seats.get(keyOf(session));
  if (!isNew && seat?.awaited.has(upstream) !== false) return;
  // Once for each: an upstream that is silent to its GET must not hold up every call.
  seat?.awaited.add(upstream);
  // Whoever holds the stream looks at what is noted as it is asked how far the upstream's is.
  if (isNew)
    await ignoringOutage(async () => {
      await hall.options.used.note(session, upstream);
    });
  await hall.hearing.stateOf({ session, upstream, before: ["opening"] });
}

/** Never rejects: what a holder misses in an outage it finds with its next tick. */
async function tellHolder(hall: Hall, note: Extract<StreamNote, { session: SessionName }>): Promise<void> {
  if (hall.seats.has(keyOf(note.session))) {
    take(hall, note);
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
