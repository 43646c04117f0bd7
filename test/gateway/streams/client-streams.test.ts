import { afterEach, describe, expect, it, vi } from "vitest";
import { createClientStreams } from "../../../src/gateway/streams/client-streams.ts";
import type { ClientStreams } from "../../../src/gateway/streams/client-streams.ts";
import type { Feed } from "../../../src/gateway/streams/feed.ts";
import type { Exchange } from "../../../src/gateway/exchange.ts";
import type { Gateway } from "../../../src/gateway/gateway.ts";
import type { Courier } from "../../../src/model/courier.ts";
import { limits } from "../../../src/model/limits.ts";
import { anonymousPrincipal } from "../../../src/auth/anonymous.ts";
import { createMemoryStore } from "../../../src/store/memory.ts";
import type { Store } from "../../../src/store/store.ts";

/** Replicas that share a store and hand each other their messages, in the order in which they were sent. */
function deployment(): { store: Store; replica: (address: string) => Replica; lose: (to: string) => void } {
  const store = createMemoryStore({ now: Date.now });
  const takers = new Map<string, (text: string) => void>();
  const courierOf = (address: string): Courier => ({
    address,
    send: async (to, _, text) => {
      await Promise.resolve();
      takers.get(to)?.(text);
    },
    broadcast: () => Promise.resolve(),
    receive: (_, take) => void takers.set(address, take),
  });
  return { store, replica: (address) => replicaOf(store, courierOf(address)), lose: (to) => takers.delete(to) };
}

interface Replica {
  readonly streams: ClientStreams;
  readonly refreshed: string[];
  /** Opens a stream of the session and returns what came on it. */
  open(session: string, more?: Partial<Listener>): Listener;
}

interface Listener {
  readonly sent: string[];
  comments: number;
  /** Whether the client takes what is sent. */
  takes: boolean;
  allowed: boolean;
  expiresAt: number;
  /** Aborted by the client's leaving. */
  leave(): void;
  readonly done: Promise<unknown>;
  over: boolean;
}

const open: ClientStreams[] = [];

afterEach(() => {
  for (const streams of open.splice(0)) streams.close();
});

function replicaOf(store: Store, courier: Courier): Replica {
  const refreshed: string[] = [];
  let made = 0;
  const feed = (session: string): Feed => ({
    tend: () => Promise.resolve(),
    refresh: () => Promise.resolve(void refreshed.push(session)),
    end: () => undefined,
  });
  const streams = createClientStreams({
    records: store,
    courier,
    randomId: () => `${courier.address}-${String((made += 1))}`,
    bounds: limits,
    used: {
      isNoted: () => false,
      note: () => Promise.resolve(true),
      of: () => Promise.resolve([]),
      forget: () => Promise.resolve(),
    },
    feedSession: (x) => feed(x.session?.id ?? ""),
    feedListen: () => () => feed("listen"),
    onLists: () => undefined,
  });
  open.push(streams);
  return { streams, refreshed, open: (session, more) => listenerOf(streams, session, more) };
}

function listenerOf(streams: ClientStreams, session: string, more: Partial<Listener> = {}): Listener {
  const gone = new AbortController();
  const listener: Listener = {
    sent: [],
    comments: 0,
    takes: true,
    allowed: true,
    expiresAt: Number.MAX_SAFE_INTEGER,
    leave: () => {
      gone.abort();
    },
    over: false,
    done: Promise.resolve(),
    ...more,
  };
  const x = {
    arrival: {
      server: { name: "s", resource: "r" },
      authorization: [],
      gone: gone.signal,
      listen: () => ({
        send: (text: string) => listener.takes && listener.sent.push(text) > 0,
        comment: () => (listener.comments += 1),
      }),
    },
    principal: { ...anonymousPrincipal, expiresAt: listener.expiresAt },
    session: { tenant: "default", id: session, revision: "2025-11-25" },
    classified: { era: "legacy", column: "stream", message: {}, revision: undefined },
  } as unknown as Exchange;
  const g = {
    limits,
    now: Date.now,
    draining: () => false,
    authenticate: () => Promise.resolve({ ok: true, value: x.principal }),
    sessions: { find: () => Promise.resolve({ ok: true, value: x.session }) },
    inForce: () => ({
      policy: {
        conditions: { begin: () => ({ verdict: () => "true", read: () => [] }) },
        serverDenies: denies(listener),
      },
    }),
  } as unknown as Gateway;
  const done = streams.serveSession(x, g).finally(() => (listener.over = true));
  return Object.assign(listener, { done });
}

/** A policy that has one rule about the server when the listener is not allowed. */
function denies(listener: Listener): readonly unknown[] {
  const rule = { id: "no", who: { matches: () => true }, what: {}, when: undefined };
  return listener.allowed ? [] : [rule];
}

const session = { tenant: "default", id: "one" };
const message = { jsonrpc: "2.0", method: "ping" };

async function standing(listener: Listener, streams: ClientStreams): Promise<void> {
  const before = listener.sent.length;
  while (listener.sent.length === before && !listener.over) await streams.send(session, message);
}

describe("a message for a session's GET stream", () => {
  it("reaches it here, and on the replica that holds it, and nobody where there is none", async () => {
    const { replica } = deployment();
    const [a, b] = [replica("a"), replica("b")];
    expect([await a.streams.send(session, message), await b.streams.send(session, message)]).toEqual([false, false]);
    const stream = a.open("one");
    await standing(stream, a.streams);
    const other = a.open("other");
    expect(await b.streams.send(session, message)).toBe(true);
    await vi.waitFor(() => {
      expect(stream.sent.length).toBe(2);
    });
    expect([stream.sent[0], other.sent]).toEqual([JSON.stringify(message), []]);
    stream.leave();
    await stream.done;
    expect([await a.streams.send(session, message), await b.streams.send(session, message)]).toEqual([false, false]);
  });

  it("follows the stream to the replica that has it by now", async () => {
    const { replica } = deployment();
    const [a, b] = [replica("a"), replica("b")];
    const first = a.open("one");
    await standing(first, a.streams);
    const second = b.open("one");
    await first.done;
    await a.streams.send(session, message);
    await vi.waitFor(() => {
      expect(second.sent.length).toBe(1);
    });
    expect(second.over).toBe(false);
  });

  it("of two streams that open at once, one replica: the later one has the session, and every message", async () => {
    const { replica } = deployment();
    const a = replica("a");
    const [first, second] = [a.open("one"), a.open("one")];
    await first.done;
    await standing(second, a.streams);
    expect([first.sent, second.over]).toEqual([[], false]);
  });

  const ends: readonly (readonly [string, Partial<Listener>])[] = [
    ["reads too slowly", { takes: false }],
    ["is no longer allowed by policy", { allowed: false }],
    ["has a token that has expired", { expiresAt: Math.floor(Date.now() / 1000) - limits.clockLeewaySeconds - 1 }],
  ];
  it.each(ends)("ends the stream of a client that %s, and is not delivered", async (_, change) => {
    const { replica } = deployment();
    const a = replica("a");
    const stream = a.open("one", { expiresAt: change.expiresAt ?? Number.MAX_SAFE_INTEGER });
    Object.assign(stream, change);
    await vi.waitFor(async () => {
      await a.streams.send(session, message);
      expect(stream.over).toBe(true);
    });
    expect(stream.sent).toEqual([]);
  });

  it("reaches a client whose token expires within the leeway", async () => {
    const { replica } = deployment();
    const a = replica("a");
    const stream = a.open("one", { expiresAt: Math.floor(Date.now() / 1000) - limits.clockLeewaySeconds + 20 });
    await standing(stream, a.streams);
    expect(stream.over).toBe(false);
  });
});

describe("what other replicas say", () => {
  it("the end of a session and a change of its interests reach its stream, wherever it is", async () => {
    const { replica } = deployment();
    const [a, b] = [replica("a"), replica("b")];
    const stream = a.open("one");
    await standing(stream, a.streams);
    for (const { streams } of [a, b]) await streams.interestsChanged(session);
    await vi.waitFor(() => {
      expect(a.refreshed).toEqual(["one", "one"]);
    });
    await b.streams.sessionEnded(session);
    await stream.done;
  });

  it("a note to a stream that another has replaced here already ends nothing", async () => {
    const { store, replica } = deployment();
    const [a, b] = [replica("a"), replica("b")];
    const first = a.open("one");
    await standing(first, a.streams);
    const key = ["stream", "default", "one"] as const;
    const stale = (await store.get(key)) ?? "";
    const second = a.open("one");
    await first.done;
    await standing(second, a.streams);
    await store.set(key, stale, 60_000);
    const third = b.open("one");
    await standing(third, b.streams);
    expect(second.over).toBe(false);
  });

  it("a replica that died is left alone once its hold has run out", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    try {
      const { replica, lose } = deployment();
      const [a, b] = [replica("a"), replica("b")];
      const stream = a.open("one");
      await standing(stream, a.streams);
      lose("a");
      expect(await b.streams.send(session, message)).toBe(true);
      vi.setSystemTime(Date.now() + limits.streamHolderMs + 1);
      expect(await b.streams.send(session, message)).toBe(false);
    } finally {
      vi.useRealTimers();
    }
  });
});
