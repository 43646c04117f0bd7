import type { Dispatcher } from "undici";
import type { Turn } from "./pools.ts";
import { gatewayKey } from "./port.ts";

/** Somebody who waits for a connection that a stream of notifications will hold for as long as it lives. */
export interface StreamTurn extends Turn {
  /** `OnAccountOf.principalKey`: whose share the connection counts against. */
  readonly holder: string;
}

/**
 * Connections for streams of one upstream, and the queue before them. A principal has at most its share of them, so
 * that a few cannot take all; the gateway's own streams have connections that nobody else gets, so that its lists go
 * on to be told of however many clients listen.
 */
export interface StreamLane {
  /** Starts the turn now, or puts it last in the queue, or finds no room to wait. */
  enter(turn: StreamTurn): "started" | "queued" | "full";
  /** Takes a turn that has not started out of the queue. */
  withdraw(turn: StreamTurn): void;
  /** A turn that started is over: the first of the queue that may have a connection now starts. */
  leave(turn: StreamTurn): void;
  /** Turns in progress, the gateway's own included, and turns that wait. */
  readonly load: { readonly started: number; readonly queued: number };
}

export interface StreamLaneBounds {
  /** Connections of all principals together, beside those of the gateway. */
  readonly connectionsMax: number;
  readonly connectionsPerPrincipalMax: number;
  readonly gatewayConnectionsMax: number;
  /** Turns of everybody that wait. Of one principal as many wait as may hold a connection. */
  readonly queueMax: number;
}

export function createStreamLane(dispatcher: Dispatcher, bounds: StreamLaneBounds): StreamLane {
  /** In the order of their coming. */
  const queue = new Set<StreamTurn>();
  const held = new Map<string, number>();
  let started = 0;
  const heldBy = (holder: string): number => held.get(holder) ?? 0;
  const shareOf = (holder: string): number =>
    holder === gatewayKey ? bounds.gatewayConnectionsMax : bounds.connectionsPerPrincipalMax;
  const isFree = ({ holder }: StreamTurn): boolean =>
    heldBy(holder) < shareOf(holder) && (holder === gatewayKey || started - heldBy(gatewayKey) < bounds.connectionsMax);
  const mayWait = ({ holder }: StreamTurn): boolean =>
    queue.size < bounds.queueMax && [...queue].filter((turn) => turn.holder === holder).length < shareOf(holder);
  const start = (turn: StreamTurn): void => {
    started += 1;
    held.set(turn.holder, heldBy(turn.holder) + 1);
    turn.start(dispatcher);
  };
  return {
    enter(turn) {
      if (isFree(turn)) {
        start(turn);
        return "started";
      }
      if (!mayWait(turn)) return "full";
      queue.add(turn);
      return "queued";
    },
    withdraw(turn) {
      queue.delete(turn);
    },
    leave({ holder }) {
      started -= 1;
      if (heldBy(holder) > 1) held.set(holder, heldBy(holder) - 1);
      else held.delete(holder);
      const next = [...queue].find(isFree);
      if (next === undefined) return;
      queue.delete(next);
      start(next);
    },
    get load() {
      return { started, queued: queue.size };
    },
  };
}
