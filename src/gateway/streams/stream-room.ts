import { isSubject, type Subject } from "../../model/principal.ts";
import { refuse, type Refusal } from "../../model/refusal.ts";
import { createCallSlots } from "../call-slots.ts";
import { given, type Exchange, type ListeningStream } from "../exchange.ts";
import type { CallSlots, Gateway } from "../gateway.ts";
import type { Feed, Feeding } from "./feed.ts";
import { keepStream, type LiveStream, type StreamEnd } from "./live-stream.ts";

/** A legacy session's GET stream, or a modern `subscriptions/listen`. */
export type StreamKind = "session" | "listen";

/** The streams that are open on this replica, within their bounds. */
export interface StreamRoom {
  /**
   * Serves one stream until it ends. Refuses STREAM_LIMIT_REACHED, before anything else is done for it or when there
   * is no connection to an upstream for any of it, and NOT_ACCEPTABLE.
   */
  serve(service: Service): Promise<Refusal | undefined>;
  count(): Readonly<Record<StreamKind, number>>;
  endAll(why: StreamEnd): void;
  /** Ends the streams of one person or service, whatever client they came with. */
  endOf(who: Subject, why: StreamEnd): void;
}

export interface Service {
  readonly x: Exchange;
  readonly g: Gateway;
  readonly id: string;
  readonly kind: StreamKind;
  /** Asked for when there is room for the stream. */
  readonly feeding: () => Promise<Feeding>;
  /** The stream is open. */
  readonly onOpen?: (live: LiveStream, feed: Feed) => void;
  /** Keeps the stream's place; says why it must end. */
  readonly keep?: () => Promise<StreamEnd | undefined>;
}

export interface StreamRoomBounds {
  readonly streamsPerPrincipalMax: number;
  readonly streamsMax: number;
  readonly upstreamStreamsPerPrincipalMax: number;
  readonly upstreamStreamsMax: number;
}

interface Room {
  readonly bounds: StreamRoomBounds;
  readonly open: Map<LiveStream, Pick<Service, "kind" | "x">>;
  /** Places of `streamsMax` that are taken, by streams that are open and by those about to be. */
  taken: number;
  readonly slots: CallSlots;
}

export function createStreamRoom(bounds: StreamRoomBounds): StreamRoom {
  const room: Room = { bounds, open: new Map(), taken: 0, slots: createCallSlots(bounds.streamsPerPrincipalMax) };
  return {
    serve: (service) => serve(room, service),
    count: () => {
      const kinds = [...room.open.values()];
      const listen = kinds.filter(({ kind }) => kind === "listen").length;
      return { session: kinds.length - listen, listen };
    },
    endAll: (why) => {
      for (const live of room.open.keys()) live.end(why);
    },
    endOf: (who, why) => {
      for (const [live, { x }] of room.open) if (isSubject(given(x.principal, "a principal"), who)) live.end(why);
    },
  };
}

async function serve(room: Room, service: Service): Promise<Refusal | undefined> {
  const { streamsPerPrincipalMax, streamsMax, upstreamStreamsPerPrincipalMax, upstreamStreamsMax } = room.bounds;
  const release = admit(room, service.x);
  if (release === undefined) return refuse("STREAM_LIMIT_REACHED", { streamsPerPrincipalMax, streamsMax }).refusal;
  try {
    const feeding = await service.feeding();
    const wire = service.x.arrival.listen();
    if (wire === undefined) return refuse("NOT_ACCEPTABLE").refusal;
    if ((await live(room, service, { wire, feeding })) !== "no-room") return undefined;
    return refuse("STREAM_LIMIT_REACHED", { upstreamStreamsPerPrincipalMax, upstreamStreamsMax }).refusal;
  } finally {
    release();
  }
}

/** A place in the bounds of this replica; what gives it back. */
function admit(room: Room, x: Exchange): (() => void) | undefined {
  if (room.taken >= room.bounds.streamsMax) return undefined;
  const give = room.slots.take(given(x.principal, "a principal").key);
  if (give === undefined) return undefined;
  room.taken += 1;
  return () => {
    room.taken -= 1;
    give();
  };
}

/** The stream's life, from its opening to its end. */
async function live(
  room: Room,
  { x, g, id, kind, onOpen, keep }: Service,
  { wire, feeding }: { readonly wire: ListeningStream; readonly feeding: Feeding },
): Promise<StreamEnd> {
  let feed: Feed | undefined;
  const tend = async (): Promise<StreamEnd | undefined> => {
    const over = await keep?.();
    if (over === undefined) await feed?.tend();
    return over;
  };
  const stream = keepStream(x, g, { id, wire, tend });
  room.open.set(stream, { kind, x });
  try {
    feed = feeding(x, g, stream);
    onOpen?.(stream, feed);
    if (g.draining()) stream.end("draining");
    return await stream.ended;
  } finally {
    // What throws must not leave a stream that looks after itself for ever.
    stream.end("fault");
    room.open.delete(stream);
    feed?.end();
  }
}
