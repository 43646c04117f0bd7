import type { Limits } from "../../src/model/limits.ts";
import type { UpstreamWatch, Watching } from "../../src/upstream/port.ts";
import { alice } from "./setup.ts";
import type { Room } from "./setup.ts";
import { event } from "./scripted-upstream.ts";
import type { Loose, ReceivedRequest, Wire } from "./scripted-upstream.ts";

/** Pauses of a test's patience. */
export const hasty: Partial<Limits> = { upstreamReconnectMsMin: 10, upstreamReconnectMsMax: 40 };

export interface Seen {
  readonly notices: { readonly method: string; readonly params: unknown }[];
  reopened: number;
  readonly watching: Watching;
}

export function watch(room: Room, changes: Partial<UpstreamWatch> = {}): Seen {
  const notices: Seen["notices"] = [];
  const seen = { notices, reopened: 0 };
  const watching = room.upstreams.watch({
    upstream: "up",
    account: alice,
    wanted: { lists: true, resources: [] },
    onNotification: (method, params) => {
      notices.push({ method, params });
    },
    onReopened: () => {
      seen.reopened += 1;
    },
    ...changes,
  });
  return Object.assign(seen, { watching });
}

export const changing: Loose = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
};

/** The events of `room`'s log that are called `name`. */
export function logged(room: Room, name: string): readonly Readonly<Record<string, unknown>>[] {
  return room.log.filter(({ event: what }) => what === name).map(({ facts }) => facts);
}

export interface Listening {
  readonly request: ReceivedRequest;
  readonly wire: Wire;
  /** What was asked for. */
  readonly filter: unknown;
  send(method: string, params?: Loose, id?: unknown): void;
  finish(): void;
}

export const subscriptionId = "io.modelcontextprotocol/subscriptionId";

/** The server's side of a `subscriptions/listen`; nothing is acknowledged yet. */
export function listening(request: ReceivedRequest, wire: Wire): Listening {
  const id = request.rpc["id"];
  const filter = (request.rpc["params"] as Loose)["notifications"];
  wire.eventStream();
  return {
    request,
    wire,
    filter,
    send(method, params = {}, subscription = id) {
      wire.chunk(event({ jsonrpc: "2.0", method, params: { ...params, _meta: { [subscriptionId]: subscription } } }));
    },
    finish() {
      const result = { resultType: "complete", _meta: { [subscriptionId]: id } };
      wire.chunk(event({ jsonrpc: "2.0", id, result }));
      wire.endChunks();
    },
  };
}

export const acknowledged = "notifications/subscriptions/acknowledged";
