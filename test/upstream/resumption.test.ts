import { describe, expect, it } from "vitest";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Asked, AskedAnswer } from "../../src/upstream/port.ts";
import { alice, call, closeAfter, roomFor, scripted, summary, until } from "./setup.ts";
import { event } from "./scripted-upstream.ts";
import type { ReceivedRequest, ScriptedUpstream, Wire } from "./scripted-upstream.ts";

const legacy = { options: { era: "legacy" as const } };
const quick = { ...legacy, limits: { upstreamResumptionPauseMs: 2, upstreamResumptionPauseMsMin: 1 } };

/** What the upstream does with the n-th connection of the stream: the POST is number 0. */
type Connection = (at: { readonly wire: Wire; readonly id: unknown; readonly request: ReceivedRequest }) => void;

/** Connections after the last are treated as the last one is. */
function streamOf(upstream: ScriptedUpstream, connections: readonly Connection[]): { gets: ReceivedRequest[] } {
  const gets: ReceivedRequest[] = [];
  let id: unknown;
  upstream.script((request, wire) => {
    if (request.method === "GET") gets.push(request);
    else if (request.rpc["method"] === "tools/call") id = request.rpc["id"];
    else return false;
    const connection = connections[Math.min(gets.length, connections.length - 1)];
    connection?.({ wire, id, request });
    return true;
  });
  return { gets };
}

function says(...pieces: readonly string[]): Connection {
  return ({ wire }) => {
    wire.eventStream();
    for (const piece of pieces) wire.chunk(piece);
    wire.endChunks();
  };
}

const answers: Connection = ({ wire, id }) => {
  wire.eventStream();
  wire.chunk(event({ jsonrpc: "2.0", id, result: { resumed: true } }));
  wire.endChunks();
};

function refuses(status: number): Connection {
  return ({ wire }) => {
    wire.respond(status, undefined, "");
  };
}

const resets: Connection = ({ wire }) => {
  wire.reset();
};

const primed = says("id: e1\ndata: \n\n");

describe("a stream of a legacy upstream that is cut before the answer", () => {
  it.each([
    { about: "ends after a priming event", first: primed, lastEventId: "e1" },
    {
      about: "breaks after a message with an id",
      first: (({ wire }) => {
        wire.eventStream();
        wire.chunk(`id: 7\n${event({ jsonrpc: "2.0", method: "notifications/message", params: {} })}`);
        setTimeout(() => {
          wire.reset();
        }, 20);
      }) satisfies Connection,
      lastEventId: "7",
    },
    {
      about: "ends after several ids, the last without one of its own",
      first: says("id: a\ndata: \n\n", "id: b\ndata: \n\n", "retry: 3\n\n"),
      lastEventId: "b",
    },
    {
      about: "ends in the middle of an event",
      first: says("id: a\ndata: \n\n", "id: b\ndata: "),
      lastEventId: "a",
    },
  ])("is taken up where it was when it $about; the request is sent once", async ({ first, lastEventId }) => {
    const upstream = await scripted({ era: "legacy" });
    const { upstreams } = roomFor(upstream.url, quick);
    const { gets } = streamOf(upstream, [first, answers]);
    expect(await upstreams.request(call())).toMatchObject({ kind: "result", result: { resumed: true } });
    expect(upstream.count("tools/call")).toBe(1);
    expect(gets.map(({ headers }) => headers.map(([name, value]) => `${name.toLowerCase()}: ${value}`))).toEqual([
      [
        expect.stringMatching(/^host: /),
        "connection: keep-alive",
        "accept: text/event-stream",
        "accept-encoding: identity",
        "mcp-protocol-version: 2025-11-25",
        "mcp-session-id: session-1",
        `last-event-id: ${lastEventId}`,
      ],
    ]);
  });

  it("is taken up with the upstream's credential, which is renewed as for any request", async () => {
    const upstream = await scripted({ era: "legacy" });
    const credential = { type: "static" as const, headers: { authorization: "Bearer up" } };
    const { upstreams } = roomFor(upstream.url, { ...quick, options: { ...legacy.options, credential } });
    const { gets } = streamOf(upstream, [primed, answers]);
    expect(summary(await upstreams.request(call()))).toBe("result");
    expect(gets[0]?.header("authorization")).toBe("Bearer up");
  });

  it.each([
    { about: "no event came", first: says() },
    { about: "no event had an id", first: says("data: \n\n", event({ jsonrpc: "2.0", method: "x/y" })) },
    { about: "the id was taken back", first: says("id: a\ndata: \n\n", "id:\ndata: \n\n") },
    { about: "the id fits no header", first: says("id: a\u{1}b\ndata: \n\n") },
    { about: "the id is not ASCII", first: says("id: größe\ndata: \n\n") },
    { about: "the id is endless", first: says(`id: ${"a".repeat(1_025)}\ndata: \n\n`) },
    { about: "the connection broke before it began", first: resets },
  ])("leaves the outcome unknown when $about", async ({ first }) => {
    const upstream = await scripted({ era: "legacy" });
    const { upstreams } = roomFor(upstream.url, quick);
    const { gets } = streamOf(upstream, [first, answers]);
    expect(summary(await upstreams.request(call()))).toBe("unknown UPSTREAM_CLOSED_EARLY");
    expect(gets).toEqual([]);
  });

  it("has the longest id that is carried", async () => {
    const upstream = await scripted({ era: "legacy" });
    const { upstreams } = roomFor(upstream.url, quick);
    const { gets } = streamOf(upstream, [says(`id: ${"a".repeat(1_024)}\ndata: \n\n`), answers]);
    expect(summary(await upstreams.request(call()))).toBe("result");
    expect(gets[0]?.header("last-event-id")).toHaveLength(1_024);
  });

  it("of a modern upstream is not taken up: that era has no streams to come back to", async () => {
    const upstream = await scripted();
    const { upstreams } = roomFor(upstream.url, { ...quick, options: { era: "modern" } });
    const { gets } = streamOf(upstream, [primed, answers]);
    expect(summary(await upstreams.request(call()))).toBe("unknown UPSTREAM_CLOSED_EARLY");
    expect(gets).toEqual([]);
  });
});

describe("a resumed stream", () => {
  it("brings what belongs to the exchange: reports, log messages, requests, each once", async () => {
    const upstream = await scripted({ era: "legacy" });
    const { upstreams } = roomFor(upstream.url, quick);
    const report = (id: unknown, progress: number): string =>
      event({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: id, progress } });
    const logged = event({ jsonrpc: "2.0", method: "notifications/message", params: { level: "info", data: 1 } });
    const answered = (): boolean => upstream.received.some(({ rpc }) => rpc["id"] === 1 && rpc["result"] !== undefined);
    streamOf(upstream, [
      ({ wire, id }) => {
        wire.eventStream();
        wire.chunk(`id: 1\n${report(id, 1)}`);
        wire.chunk(`id: 2\n${event({ jsonrpc: "2.0", id: 1, method: "roots/list" })}`);
        wire.endChunks();
      },
      ({ wire, id }) => {
        wire.eventStream();
        wire.chunk(`id: 3\n${report(id, 2)}${logged}`);
        wire.chunk(`id: 4\n${event({ jsonrpc: "2.0", id: 1, method: "roots/list" })}`);
        void until(answered).then(() => {
          wire.chunk(event({ jsonrpc: "2.0", id, result: {} }) + report(id, 3));
          wire.endChunks();
        });
      },
    ]);
    const heard: unknown[] = [];
    let asked = 0;
    const onAsked = async ({ signal }: Asked): Promise<AskedAnswer> => {
      asked += 1;
      await until(() => heard.length === 3);
      return { result: { aborted: signal.aborted } };
    };
    const hear = (one: unknown): void => void heard.push(one);
    const wanted = { onProgress: hear, onLog: hear, logLevel: "info" as const };
    const changes = { ...wanted, onAsked, clientCapabilities: { roots: {} } };
    expect(summary(await upstreams.request(call(changes)))).toBe("result");
    expect(heard).toEqual([{ progress: 1 }, { progress: 2 }, { level: "info", data: 1 }]);
    expect(asked).toBe(1);
    const posted = upstream.received.filter(({ rpc }) => rpc["result"] !== undefined);
    expect(posted.map(({ rpc }) => rpc)).toEqual([{ jsonrpc: "2.0", id: 1, result: { aborted: false } }]);
  });

  it("may be cut again and again while it brings something: an upstream may want to be polled", async () => {
    const upstream = await scripted({ era: "legacy" });
    const { upstreams } = roomFor(upstream.url, quick);
    const polls = Array.from({ length: 12 }, (_, index) => says(`id: p${index}\ndata: \n\n`));
    const { gets } = streamOf(upstream, [...polls, answers]);
    expect(summary(await upstreams.request(call()))).toBe("result");
    expect(gets.map((get) => get.header("last-event-id"))).toEqual(polls.map((_, index) => `p${index}`));
    expect(upstream.count("tools/call")).toBe(1);
  });

  it("that brings nothing new is given up after five attempts in a row", async () => {
    const upstream = await scripted({ era: "legacy" });
    const { upstreams } = roomFor(upstream.url, quick);
    const nothing = [primed, says(), refuses(503), resets, primed, says(), says("id: e2\ndata: \n\n")];
    const { gets } = streamOf(upstream, [...nothing.slice(0, 5), nothing[6] ?? says(), says()]);
    const given = await upstreams.request(call());
    expect(summary(given)).toBe("unknown UPSTREAM_CLOSED_EARLY");
    expect(given).toMatchObject({ refusal: { facts: { resumptions: 5 } } });
    // Four that bring nothing, one that brings an event, and five more that bring nothing.
    expect(gets.map((get) => get.header("last-event-id"))).toEqual(
      Array.from({ length: 10 }, (_, n) => (n < 5 ? "e1" : "e2")),
    );
    expect(upstream.count("tools/call")).toBe(1);
  });

  it.each([400, 401, 403, 404, 405, 410, 501].map((status) => ({ status, tries: status === 501 ? 5 : 1 })))(
    "that is refused with $status leaves the outcome unknown, after $tries attempts, and no session is opened",
    async ({ status, tries }) => {
      const upstream = await scripted({ era: "legacy" });
      const { upstreams } = roomFor(upstream.url, quick);
      const { gets } = streamOf(upstream, [primed, refuses(status)]);
      const given = await upstreams.request(call());
      expect(summary(given)).toBe("unknown UPSTREAM_CLOSED_EARLY");
      expect(given).toMatchObject({ refusal: { facts: { resumptionStatus: status } } });
      expect(gets).toHaveLength(tries);
      expect(upstream.count("tools/call")).toBe(1);
      expect(upstream.count("initialize")).toBe(1);
    },
  );

  it.each([
    {
      body: { jsonrpc: "2.0", id: null, error: { code: -32000, message: "no" } },
      about: "a 400 that means a lost session",
    },
    { body: undefined, about: "a 404 with an error for the very request" },
  ])("$about does not send the request again", async ({ body }) => {
    const upstream = await scripted({ era: "legacy" });
    const { upstreams } = roomFor(upstream.url, quick);
    streamOf(upstream, [
      primed,
      ({ wire, id }) => {
        if (body !== undefined) wire.json(400, body);
        else wire.json(404, { jsonrpc: "2.0", id, error: { code: -32001, message: "Session not found" } });
      },
    ]);
    expect(summary(await upstreams.request(call()))).toBe("unknown UPSTREAM_CLOSED_EARLY");
    expect(upstream.count("tools/call")).toBe(1);
    expect(upstream.count("initialize")).toBe(1);
  });

  it("from an upstream that cannot be reached any more leaves the outcome unknown: the request was sent", async () => {
    const upstream = await scripted({ era: "legacy" });
    const { upstreams } = roomFor(upstream.url, quick);
    streamOf(upstream, [
      ({ wire }) => {
        wire.eventStream();
        wire.chunk("id: e1\ndata: \n\n");
        setTimeout(() => void upstream.close(), 10);
      },
    ]);
    const given = await upstreams.request(call());
    expect(summary(given)).toBe("unknown UPSTREAM_CLOSED_EARLY");
    expect(given).toMatchObject({ refusal: { facts: { resumptions: 5, systemCode: "ECONNREFUSED" } } });
  });

  it("takes no response of another request for the answer", async () => {
    const upstream = await scripted({ era: "legacy" });
    const { upstreams } = roomFor(upstream.url, quick);
    const foreign = event({ jsonrpc: "2.0", id: "someone-else", result: { canary: true } });
    streamOf(upstream, [primed, says(foreign), answers]);
    expect(await upstreams.request(call())).toMatchObject({ kind: "result", result: { resumed: true } });
  });

  it("is not begun before the pause that the upstream asks for, nor before its own when none is asked", async () => {
    const upstream = await scripted({ era: "legacy" });
    const limits = { upstreamResumptionPauseMs: 60, upstreamResumptionPauseMsMin: 20 };
    const { upstreams } = roomFor(upstream.url, { ...legacy, limits });
    const pauses: number[] = [];
    let cutAt = 0;
    const cuts = (text: string): Connection => {
      return (at) => {
        if (cutAt > 0) pauses.push(performance.now() - cutAt);
        says(text)(at);
        cutAt = performance.now();
      };
    };
    streamOf(upstream, [
      cuts("id: a\ndata: \n\n"),
      cuts("id: b\nretry: 150\ndata: \n\n"),
      cuts("id: c\nretry: 0\ndata: \n\n"),
      (at) => {
        pauses.push(performance.now() - cutAt);
        answers(at);
      },
    ]);
    expect(summary(await upstreams.request(call()))).toBe("result");
    // A timer may fire one millisecond early.
    expect(pauses.map((ms, index) => ms >= [59, 149, 19][index]!)).toEqual([true, true, true]);
  });

  it("that the deadline would not see is not waited for", async () => {
    const upstream = await scripted({ era: "legacy" });
    const { upstreams } = roomFor(upstream.url, quick);
    const { gets } = streamOf(upstream, [says("id: a\nretry: 999999999999999\ndata: \n\n"), answers]);
    const given = await upstreams.request(call({ timeoutMs: 60_000 }));
    expect(summary(given)).toBe("unknown UPSTREAM_CLOSED_EARLY");
    expect(gets).toEqual([]);
  });

  it("whose caller leaves in the pause, or on the stream, is cancelled at the upstream", async () => {
    for (const where of ["pause", "stream"]) {
      const upstream = await scripted({ era: "legacy" });
      const { upstreams } = roomFor(upstream.url, quick);
      const leaving = new AbortController();
      const leave = (): void => {
        setTimeout(() => {
          leaving.abort();
        }, 20);
      };
      const { gets } = streamOf(upstream, [
        (at) => {
          says(`id: a\nretry: ${where === "pause" ? 5_000 : 0}\ndata: \n\n`)(at);
          if (where === "pause") leave();
        },
        ({ wire }) => {
          wire.eventStream();
          leave();
        },
      ]);
      expect(summary(await upstreams.request(call({ signal: leaving.signal })))).toBe("unknown CLIENT_GONE");
      const sent = upstream.received.find(({ rpc }) => rpc["method"] === "tools/call");
      await until(() => upstream.cancelled.length === 1);
      expect(upstream.cancelled).toEqual([sent?.rpc["id"]]);
      expect(gets).toHaveLength(where === "pause" ? 0 : 1);
    }
  });

  it("counts its messages with those before it was cut", async () => {
    const upstream = await scripted({ era: "legacy" });
    const { upstreams } = roomFor(upstream.url, {
      ...quick,
      limits: { ...quick.limits, upstreamEventsPerExchangeMax: 10 },
    });
    const three = event({ jsonrpc: "2.0", method: "x/y" }).repeat(3);
    const { gets } = streamOf(upstream, [says(`id: a\n${three}`), says(three), says(three), says(three)]);
    expect(summary(await upstreams.request(call()))).toBe("unknown UPSTREAM_ANSWER_TOO_LARGE");
    expect(gets).toHaveLength(3);
  });
});

describe("a server that closes the connection to be polled", () => {
  /** As the official suite's `sse-retry` has it: a real HTTP server, whose GET stream stays open after the answer. */
  it("is polled after its retry, and the call is answered by the GET", async () => {
    let pending: unknown;
    let closedAt = 0;
    let cameBackAt = 0;
    const head = { "content-type": "text/event-stream", "mcp-session-id": "s" };
    const server = createServer((request, response) => {
      if (request.method === "GET") {
        cameBackAt = performance.now();
        response.writeHead(200, head).write("id: e2\nretry: 300\ndata: \n\n");
        response.write(`id: e3\n${event({ jsonrpc: "2.0", id: pending, result: { polled: true } })}`);
        return;
      }
      let body = "";
      request.on("data", (chunk: Buffer) => (body += chunk.toString()));
      request.on("end", () => {
        const { id, method } = JSON.parse(body) as { id?: unknown; method?: string };
        if (method === "initialize") {
          const result = { protocolVersion: "2025-11-25", capabilities: {}, serverInfo: { name: "p", version: "1" } };
          response.writeHead(200, { ...head, "content-type": "application/json" });
          response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
        } else if (id === undefined) response.writeHead(202).end();
        else {
          pending = id;
          response.writeHead(200, head).write("id: e1\nretry: 300\ndata: \n\n");
          setTimeout(() => {
            closedAt = performance.now();
            response.end();
          }, 30);
        }
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    closeAfter(() => {
      server.closeAllConnections();
      return new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
      });
    });
    const { port } = server.address() as AddressInfo;
    const { upstreams } = roomFor(`http://127.0.0.1:${port}/mcp`, legacy);
    const answered = await upstreams.request(call({ account: alice }));
    expect(answered).toMatchObject({ kind: "result", result: { polled: true } });
    expect(cameBackAt - closedAt).toBeGreaterThanOrEqual(299);
  });
});
