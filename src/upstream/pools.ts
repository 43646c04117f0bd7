import { Pool } from "undici";
import type { Dispatcher } from "undici";
import { createGuardedConnect } from "./guarded-connect.ts";
import type { ResolveName } from "./guarded-connect.ts";
import type { Addresses, TlsOptions } from "./options.ts";
import { createStreamLane } from "./watch-lane.ts";
import type { StreamLane, StreamLaneBounds } from "./watch-lane.ts";

/** Somebody who waits for a connection. `start` runs once, when there is one. */
export interface Turn {
  start(dispatcher: Dispatcher): void;
  /** Another waits for the connection that it lingers on. */
  letGo?(): void;
}

/**
 * Connections of one kind to one upstream, and the queue before them. undici has a queue of its own, without
 * a bound and without a way out; here a request reaches undici only when a connection is free for it.
 */
export interface Lane {
  /** Starts the turn now, or puts it last in the queue, or finds the queue full. */
  enter(turn: Turn): "started" | "queued" | "full";
  /** Takes a turn that has not started out of the queue. */
  withdraw(turn: Turn): void;
  /**
   * A turn that started has what it came for; its connection may be over soon, and good for another, or kept open
   * by an upstream that never ends its stream. It is told to let go when somebody waits for it.
   */
  linger(turn: Turn): void;
  /** A turn that started is over: the first of the queue starts. */
  leave(turn: Turn): void;
  /** Turns in progress and turns that wait. */
  readonly load: { readonly started: number; readonly queued: number };
}

export interface LaneBounds {
  readonly connectionsMax: number;
  readonly queueMax: number;
}

export interface Pools {
  /** Exchanges that clients wait for. */
  readonly calls: Lane;
  /**
   * What must not wait behind calls: probes, session opening and closing, cancellations, and answers to a
   * request that an upstream sends while a call occupies a connection.
   */
  readonly control: Lane;
  /** Requests that look at a task or cancel it: with every connection for calls taken, one can still be made. */
  readonly recovery: Lane;
  /** Streams of notifications, each of which occupies a connection for as long as it lives. */
  readonly streams: StreamLane;
  /** Drops every connection; exchanges in progress end with an error. */
  close(): Promise<void>;
}

export interface PoolsOptions {
  readonly origin: string;
  readonly addresses: Addresses;
  readonly connectTimeoutMs: number;
  readonly idleConnectionMs: number;
  readonly headerBytesMax: number;
  readonly calls: LaneBounds;
  readonly control: LaneBounds;
  readonly recovery: LaneBounds;
  readonly streams: StreamLaneBounds;
  readonly tls?: TlsOptions | undefined;
  readonly resolve?: ResolveName | undefined;
}

export function createPools(options: PoolsOptions): Pools {
  const connect = createGuardedConnect({
    addresses: options.addresses,
    clearText: "private",
    timeoutMs: options.connectTimeoutMs,
    ...options.tls,
    resolve: options.resolve,
  });
  const pool = (connections: number): Pool =>
    new Pool(options.origin, {
      connect,
      connections,
      pipelining: 1,
      // Every wait is bounded by the exchange's own timers; undici's would end a long call without a clear cause.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: options.idleConnectionMs,
      maxHeaderSize: options.headerBytesMax,
    });
  const calls = pool(options.calls.connectionsMax);
  const control = pool(options.control.connectionsMax);
  const recovery = pool(options.recovery.connectionsMax);
  const streams = pool(options.streams.connectionsMax + options.streams.gatewayConnectionsMax);
  return {
    calls: createLane(calls, options.calls),
    control: createLane(control, options.control),
    recovery: createLane(recovery, options.recovery),
    streams: createStreamLane(streams, options.streams),
    close: async () => {
      await Promise.all([calls, control, recovery, streams].map((dispatcher) => dispatcher.destroy()));
    },
  };
}

function createLane(dispatcher: Dispatcher, bounds: LaneBounds): Lane {
  /** A set keeps the order of insertion, and a turn leaves its middle at no cost. */
  const queue = new Set<Turn>();
  const lingering = new Set<Turn>();
  let started = 0;
  return {
    enter(turn) {
      if (started < bounds.connectionsMax) {
        started += 1;
        turn.start(dispatcher);
        return "started";
      }
      if (queue.size >= bounds.queueMax) return "full";
      queue.add(turn);
      const spare = lingering.values().next().value;
      if (spare !== undefined) {
        lingering.delete(spare);
        spare.letGo?.();
      }
      return queue.has(turn) ? "queued" : "started";
    },
    withdraw(turn) {
      queue.delete(turn);
    },
    linger(turn) {
      if (queue.size > 0) turn.letGo?.();
      else lingering.add(turn);
    },
    leave(turn) {
      lingering.delete(turn);
      const next = queue.values().next();
      if (next.done === true) {
        started -= 1;
        return;
      }
      queue.delete(next.value);
      next.value.start(dispatcher);
    },
    get load() {
      return { started, queued: queue.size };
    },
  };
}
