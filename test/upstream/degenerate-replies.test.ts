import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { call, roomFor, scripted, summary } from "./setup.ts";
import { event } from "./scripted-upstream.ts";
import type { ReceivedRequest, Wire } from "./scripted-upstream.ts";

interface Case {
  readonly reply: string;
  readonly says: string;
  readonly answer: (wire: Wire, request: ReceivedRequest) => void;
}

const right = (request: ReceivedRequest): unknown => ({
  jsonrpc: "2.0",
  id: request.rpc["id"],
  result: { content: [] },
});

const cases: readonly Case[] = [
  {
    reply: "an empty 200",
    says: "unknown UPSTREAM_ANSWER_INVALID",
    answer: (wire) => {
      wire.respond(200, "application/json", "");
    },
  },
  {
    reply: "200 without a media type",
    says: "unknown UPSTREAM_ANSWER_INVALID",
    answer: (wire) => {
      wire.respond(200, undefined, "");
    },
  },
  {
    reply: "a page of HTML",
    says: "unknown UPSTREAM_ANSWER_INVALID",
    answer: (wire) => {
      wire.respond(200, "text/html", "<html>");
    },
  },
  {
    reply: "a 202",
    says: "unknown UPSTREAM_ANSWER_INVALID",
    answer: (wire) => {
      wire.respond(202, undefined, "");
    },
  },
  {
    reply: "a 204",
    says: "unknown UPSTREAM_ANSWER_INVALID",
    answer: (wire) => {
      wire.write("HTTP/1.1 204 No Content\r\n\r\n");
    },
  },
  {
    reply: "JSON cut short",
    says: "unknown UPSTREAM_ANSWER_INVALID",
    answer: (wire) => {
      wire.respond(200, "application/json", '{"jsonrpc":"2.0","id":');
    },
  },
  {
    reply: "JSON with a duplicate key",
    says: "unknown UPSTREAM_ANSWER_INVALID",
    answer: (wire, request) => {
      wire.respond(
        200,
        "application/json",
        `{"jsonrpc":"2.0","id":${JSON.stringify(request.rpc["id"])},"result":{},"result":{"a":1}}`,
      );
    },
  },
  {
    reply: "JSON that is no JSON-RPC",
    says: "unknown UPSTREAM_ANSWER_INVALID",
    answer: (wire) => {
      wire.json(200, { ok: true });
    },
  },
  {
    reply: "a notification as the body",
    says: "unknown UPSTREAM_ANSWER_INVALID",
    answer: (wire) => {
      wire.json(200, { jsonrpc: "2.0", method: "notifications/message" });
    },
  },
  {
    reply: "a result with another id",
    says: "unknown UPSTREAM_ANSWER_UNMATCHED",
    answer: (wire) => {
      wire.json(200, { jsonrpc: "2.0", id: 1, result: {} });
    },
  },
  {
    reply: "an error without an id",
    says: "unknown UPSTREAM_ANSWER_UNMATCHED",
    answer: (wire) => {
      wire.json(200, { jsonrpc: "2.0", id: null, error: { code: 1, message: "m" } });
    },
  },
  {
    reply: "an event stream that ends at once",
    says: "unknown UPSTREAM_CLOSED_EARLY",
    answer: (wire) => {
      wire.eventStream();
      wire.endChunks();
    },
  },
  {
    reply: "an event stream with foreign answers only",
    says: "unknown UPSTREAM_CLOSED_EARLY",
    answer: (wire) => {
      wire.eventStream();
      wire.chunk(event({ jsonrpc: "2.0", id: "other", result: {} }));
      wire.endChunks();
    },
  },
  {
    reply: "an answer event without its blank line",
    says: "unknown UPSTREAM_CLOSED_EARLY",
    answer: (wire, request) => {
      wire.eventStream();
      wire.chunk(event(right(request)).slice(0, -1));
      wire.endChunks();
    },
  },
  {
    reply: "an event that is no JSON",
    says: "unknown UPSTREAM_ANSWER_INVALID",
    answer: (wire) => {
      wire.eventStream();
      wire.chunk("data: nonsense\n\n");
    },
  },
  {
    reply: "a compressed event stream",
    says: "unknown UPSTREAM_ANSWER_INVALID",
    answer: (wire, request) => {
      wire.eventStream(["Content-Encoding: gzip"]);
      wire.chunk(gzipSync(event(right(request))));
      wire.endChunks();
    },
  },
  {
    reply: "a body cut short",
    says: "unknown UPSTREAM_CLOSED_EARLY",
    answer: (wire) => {
      wire.write("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{");
      wire.end();
    },
  },
  {
    reply: "a close without an answer",
    says: "unknown UPSTREAM_CLOSED_EARLY",
    answer: (wire) => {
      wire.end();
    },
  },
  {
    reply: "a reset",
    says: "unknown UPSTREAM_CLOSED_EARLY",
    answer: (wire) => {
      wire.reset();
    },
  },
  {
    reply: "what is no HTTP",
    says: "unknown UPSTREAM_ANSWER_INVALID",
    answer: (wire) => {
      wire.write("SSH-2.0-x\r\n\r\n");
    },
  },
  {
    reply: "an unknown content coding",
    says: "unknown UPSTREAM_ANSWER_INVALID",
    answer: (wire, request) => {
      wire.json(200, right(request), ["Content-Encoding: zstd"]);
    },
  },
  {
    reply: "gzip that is none",
    says: "unknown UPSTREAM_ANSWER_INVALID",
    answer: (wire, request) => {
      wire.json(200, right(request), ["Content-Encoding: gzip"]);
    },
  },
  {
    reply: "a result under a 500",
    says: "unknown UPSTREAM_STATUS_UNEXPECTED",
    answer: (wire, request) => {
      wire.json(500, right(request));
    },
  },
  {
    reply: "a 502 in HTML",
    says: "unknown UPSTREAM_STATUS_UNEXPECTED",
    answer: (wire) => {
      wire.respond(502, "text/html", "<h1>bad gateway");
    },
  },
  {
    reply: "a 503",
    says: "unknown UPSTREAM_STATUS_UNEXPECTED",
    answer: (wire) => {
      wire.respond(503, undefined, "");
    },
  },
  {
    reply: "a 302",
    says: "unknown UPSTREAM_STATUS_UNEXPECTED",
    answer: (wire) => {
      wire.respond(302, undefined, "", ["Location: /elsewhere"]);
    },
  },
  {
    reply: "a 307",
    says: "failed UPSTREAM_STATUS_UNEXPECTED",
    answer: (wire) => {
      wire.respond(307, undefined, "", ["Location: /elsewhere"]);
    },
  },
  {
    reply: "a 429",
    says: "failed UPSTREAM_STATUS_UNEXPECTED",
    answer: (wire) => {
      wire.respond(429, undefined, "");
    },
  },
  {
    reply: "a 400 in text",
    says: "failed UPSTREAM_STATUS_UNEXPECTED",
    answer: (wire) => {
      wire.respond(400, "text/plain", "no");
    },
  },
  {
    reply: "a 401",
    says: "failed UPSTREAM_AUTH_FAILED",
    answer: (wire, request) => {
      wire.json(401, right(request));
    },
  },
  {
    reply: "a 403 with a JSON-RPC error",
    says: "failed UPSTREAM_AUTH_FAILED",
    answer: (wire, request) => {
      wire.json(403, { jsonrpc: "2.0", id: request.rpc["id"], error: { code: -1, message: "m" } });
    },
  },
];

describe("a degenerate reply is never a success", () => {
  it.each(cases)("$reply is $says", async ({ answer, says }) => {
    const upstream = await scripted();
    const { upstreams, samples } = roomFor(upstream.url, { options: { era: "modern" } });
    upstream.script((request, wire) => {
      answer(wire, request);
      return true;
    });
    expect(summary(await upstreams.request(call()))).toBe(says);
    expect(upstream.received).toHaveLength(1);
    expect(samples.map(({ outcome, code }) => `${outcome} ${code ?? ""}`)).toEqual([says]);
  });

  it("the same replies to a method that only asks are failed, for nothing can have happened", async () => {
    const upstream = await scripted();
    const { upstreams } = roomFor(upstream.url, { options: { era: "modern", breaker: { failures: 0 } } });
    for (const { answer, says } of cases) {
      upstream.script((request, wire) => {
        answer(wire, request);
        return true;
      });
      const answered = await upstreams.request(call({ method: "tools/list", params: {}, name: undefined }));
      expect(summary(answered)).toBe(says.replace("unknown", "failed"));
    }
  });
});

describe("an unusual reply that does answer", () => {
  const answers: readonly Omit<Case, "says">[] = [
    {
      reply: "gzip although identity was asked for",
      answer: (wire, request) => {
        wire.respond(200, "application/json", gzipSync(JSON.stringify(right(request))), ["Content-Encoding: gzip"]);
      },
    },
    {
      reply: "a media type in capitals with a parameter",
      answer: (wire, request) => {
        wire.respond(200, "Application/JSON;charset=utf-8", JSON.stringify(right(request)));
      },
    },
    {
      reply: "a body byte by byte",
      answer: (wire, request) => {
        const body = JSON.stringify(right(request));
        wire.write(`HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`);
        for (const byte of Buffer.from(body)) wire.write(Buffer.of(byte));
      },
    },
    {
      reply: "events with CRLF, a byte order mark, a priming event, comments and other messages first",
      answer: (wire, request) => {
        wire.eventStream();
        const text = `\u{feff}: hi\r\n\r\nid: 7\r\ndata:\r\n\r\n${event({ jsonrpc: "2.0", method: "notifications/progress", params: {} }, "\r\n")}${event({ jsonrpc: "2.0", id: 1, result: {} }, "\r\n")}${event(right(request), "\r\n")}`;
        for (const byte of Buffer.from(text)) wire.chunk(Buffer.of(byte));
        wire.endChunks();
      },
    },
    {
      reply: "an interim 103 first",
      answer: (wire, request) => {
        wire.write("HTTP/1.1 103 Early Hints\r\n\r\n");
        wire.json(200, right(request));
      },
    },
  ];
  it.each(answers)("$reply is a result", async ({ answer }) => {
    const upstream = await scripted();
    const { upstreams } = roomFor(upstream.url, { options: { era: "modern" } });
    upstream.script((request, wire) => {
      answer(wire, request);
      return true;
    });
    const answered = await upstreams.request(call());
    expect(answered).toMatchObject({
      kind: "result",
      result: { content: [] },
      hop: { era: "modern", revision: "2026-07-28" },
    });
  });

  it("a JSON-RPC error with the matching id is an error under any status but 401 and 403", async () => {
    const upstream = await scripted();
    const { upstreams } = roomFor(upstream.url, { options: { era: "modern" } });
    for (const status of [200, 400, 404, 500]) {
      upstream.script((request, wire) => {
        wire.json(status, {
          jsonrpc: "2.0",
          id: request.rpc["id"],
          error: { code: -32602, message: "m", data: { a: 1 } },
        });
        return true;
      });
      const answered = await upstreams.request(call());
      expect(answered).toMatchObject({ kind: "error", error: { code: -32602, message: "m", data: { a: 1 } } });
    }
  });
});

describe("the size of an answer", () => {
  const sized = (bytes: number, request: ReceivedRequest): string => {
    const empty = JSON.stringify({ jsonrpc: "2.0", id: request.rpc["id"], result: { pad: "" } });
    return empty.replace('"pad":""', `"pad":"${"x".repeat(bytes - empty.length)}"`);
  };
  it.each([
    { how: "json", bytes: 1_000, says: "result" },
    { how: "json", bytes: 1_001, says: "unknown UPSTREAM_ANSWER_TOO_LARGE" },
    { how: "gzip", bytes: 1_000, says: "result" },
    { how: "gzip", bytes: 1_001, says: "unknown UPSTREAM_ANSWER_TOO_LARGE" },
    { how: "gzip", bytes: 5_000_000, says: "unknown UPSTREAM_ANSWER_TOO_LARGE" },
    { how: "event", bytes: 900, says: "result" },
    { how: "event", bytes: 1_001, says: "unknown UPSTREAM_ANSWER_TOO_LARGE" },
  ])("$how of $bytes bytes against a bound of 1,000: $says", async ({ how, bytes, says }) => {
    const upstream = await scripted();
    const { upstreams } = roomFor(upstream.url, {
      options: { era: "modern" },
      limits: { upstreamAnswerBytesMax: 1_000, upstreamEventBytesMax: 1_000 },
    });
    upstream.script((request, wire) => {
      const body = sized(bytes, request);
      if (how === "json") wire.respond(200, "application/json", body);
      else if (how === "gzip") wire.respond(200, "application/json", gzipSync(body), ["Content-Encoding: gzip"]);
      else {
        wire.eventStream();
        wire.chunk(`data: ${body}\n\n`);
      }
      return true;
    });
    expect(summary(await upstreams.request(call()))).toBe(says);
  });

  it.each([
    { events: 4, says: "result" },
    { events: 5, says: "unknown UPSTREAM_ANSWER_TOO_LARGE" },
  ])("an answer after $events other events against a bound of 5: $says", async ({ events, says }) => {
    const upstream = await scripted();
    const { upstreams } = roomFor(upstream.url, {
      options: { era: "modern" },
      limits: { upstreamEventsPerExchangeMax: 5 },
    });
    upstream.script((request, wire) => {
      wire.eventStream();
      for (let i = 0; i < events; i += 1) wire.chunk(event({ jsonrpc: "2.0", method: "notifications/message" }));
      wire.chunk(event(right(request)));
      return true;
    });
    expect(summary(await upstreams.request(call()))).toBe(says);
  });
});
