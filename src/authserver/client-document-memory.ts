import type { Json } from "../model/json.ts";
import { limits } from "../model/limits.ts";

/** What came of reading a client's metadata document. Times in milliseconds since the epoch. */
export interface DocumentRead {
  readonly outcome:
    | { readonly kind: "good"; readonly metadata: Readonly<Record<string, Json>> }
    | { readonly kind: "bad"; readonly reason: string }
    | { readonly kind: "unreachable" };
  readonly readAt: number;
  readonly freshUntil: number;
}

/** The same, with whether somebody has consented to the client. */
export interface KnownDocument extends DocumentRead {
  readonly inUse: boolean;
}

export interface DocumentMemory {
  get(clientId: string): KnownDocument | undefined;
  keep(clientId: string, known: KnownDocument): void;
}

/**
 * Readings within three bounds of `oauthClientDocumentsMax`: those of clients in use, good ones of others, and failures.
 * Anybody can name any number of documents, good ones too, and none of theirs pushes out one that is in use. Within a
 * bound the one that nobody has asked for the longest goes.
 */
export function createDocumentMemory(): DocumentMemory {
  const [inUse, offered, failed]: readonly [Room, Room, Room] = [new Map(), new Map(), new Map()];
  const rooms = [inUse, offered, failed];
  const roomOf = ({ outcome, inUse: isUsed }: KnownDocument): Room => {
    if (outcome.kind !== "good") return failed;
    return isUsed ? inUse : offered;
  };
  const keep = (clientId: string, known: KnownDocument): void => {
    for (const room of rooms) room.delete(clientId);
    const room = roomOf(known);
    room.set(clientId, known);
    const [oldest] = room.keys();
    if (room.size > limits.oauthClientDocumentsMax && oldest !== undefined) room.delete(oldest);
  };
  return {
    get: (clientId) => {
      const known = rooms.map((room) => room.get(clientId)).find((one) => one !== undefined);
      if (known !== undefined) keep(clientId, known);
      return known;
    },
    keep,
  };
}

type Room = Map<string, KnownDocument>;
