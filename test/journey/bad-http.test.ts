import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RefusalCode } from "../../src/model/refusal.ts";
import { readResponse, sendRaw } from "./http-client.ts";
import type { Received } from "./http-client.ts";
import { bodyBytesMax, eventsOf, expectOneOutcome, expectRefused, openBench } from "./refusal-bench.ts";
import type { RefusalBench } from "./refusal-bench.ts";
import { errorCodeIn, refusalIn } from "./wire-client.ts";

let bench: RefusalBench;
const toldStrangers = new Map<string, string>();

beforeAll(async () => {
  bench = await openBench();
});

afterAll(async () => {
  await bench.close();
});

/** A request's head up to the empty line; `Host` is right unless the lines say otherwise. */
function head(lines: readonly string[], start = "POST /alpha/mcp HTTP/1.1"): string {
  const host = lines.some((line) => /^host:/i.test(line)) ? [] : [`Host: ${bench.gateway.host}`];
  return [start, ...host, ...lines.filter((line) => line !== "host:none"), "", ""].join("\r\n");
}

/** The lines with which alice posts a message. */
function alicePosts(...lines: string[]): readonly string[] {
  const { token = "" } = bench.alice;
  return [`Authorization: Bearer ${token}`, "Content-Type: application/json", "Accept: */*", ...lines];
}

interface Case {
  readonly what: string;
  readonly bytes: () => string | Buffer;
  readonly status: number;
  readonly code: RefusalCode;
  readonly halfClose?: boolean;
}

const malformed = { status: 400, code: "HTTP_MALFORMED" } as const;
const close = "Connection: close";

const strangers: readonly Case[] = [
  { what: "garbage", bytes: () => Buffer.from([0, 1, 2, 0xff, 13, 10, 13, 10]), ...malformed },
  { what: "the preface of HTTP/2", bytes: () => "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", ...malformed },
  { what: "a TLS hello", bytes: () => Buffer.from("16030100050100000100", "hex"), ...malformed },
  { what: "a method of nobody", bytes: () => head([close], "FOO /alpha/mcp HTTP/1.1"), ...malformed },
  { what: "CONNECT", bytes: () => head([], "CONNECT evil.test:80 HTTP/1.1"), ...malformed },
  { what: "HTTP/1.1 without Host", bytes: () => head(["host:none", close]), ...malformed },
  { what: "HTTP/1.0 without Host", bytes: () => head(["host:none"], "POST /alpha/mcp HTTP/1.0"), ...malformed },
  {
    what: "two Host headers",
    bytes: () => head([`Host: ${bench.gateway.host}`, "Host: evil.test", close]),
    ...malformed,
  },
  { what: "two lengths", bytes: () => head(["Content-Length: 1", "Content-Length: 2"]), ...malformed },
  { what: "a length and chunks", bytes: () => head(["Content-Length: 4", "Transfer-Encoding: chunked"]), ...malformed },
  { what: "a negative length", bytes: () => head(["Content-Length: -1"]), ...malformed },
  { what: "a folded header", bytes: () => head(["X: a", " b"]), ...malformed },
  {
    what: "a header that is too large",
    bytes: () => head([`X: ${"x".repeat(20_000)}`]),
    status: 431,
    code: "HTTP_MALFORMED",
  },
  {
    what: "two Authorization headers",
    bytes: () => head([...alicePosts(close), "Authorization: Bearer x"]),
    status: 401,
    code: "AUTH_TOKEN_MALFORMED",
  },
  {
    what: "an expectation nobody knows",
    bytes: () => head(["Expect: miracles", close]),
    status: 401,
    code: "AUTH_TOKEN_MISSING",
  },
  {
    what: "an upgrade",
    bytes: () => head(["Connection: Upgrade", "Upgrade: websocket"]),
    status: 401,
    code: "AUTH_TOKEN_MISSING",
    halfClose: true,
  },
  {
    what: "a large body of a stranger",
    bytes: () => head(["Content-Length: 4000000"]) + "x".repeat(4_000_000),
    status: 401,
    code: "AUTH_TOKEN_MISSING",
  },
  {
    what: "chunks of a stranger without end",
    bytes: () => head(["Transfer-Encoding: chunked"]) + "5\r\nhello\r\n".repeat(1_000),
    status: 401,
    code: "AUTH_TOKEN_MISSING",
  },
];

describe("what is no request of a known principal is answered as a refusal in JSON", () => {
  it.each(strangers)("$what is $status $code", async ({ bytes, status, code, halfClose = false }) => {
    const answer = await sendRaw(bench.gateway.port, bytes(), { halfClose });
    toldStrangers.set(expectRefused(answer, { status, rpc: -32600, code }), code);
  });
});

const tooLarge = { status: 413, code: "BODY_TOO_LARGE" } as const;
const incomplete = { status: 400, code: "BODY_INCOMPLETE" } as const;
const chunk = `1000\r\n${" ".repeat(4096)}\r\n`;

const bodies: readonly Case[] = [
  {
    what: "a body that declares too much, and sends it",
    bytes: () => head(alicePosts("Content-Length: 4000000")) + "x".repeat(4_000_000),
    ...tooLarge,
  },
  {
    what: "chunks that add up to too much",
    bytes: () => head(alicePosts("Transfer-Encoding: chunked")) + chunk.repeat(Math.ceil(bodyBytesMax / 4096) + 200),
    ...tooLarge,
  },
  { what: "a body that stops arriving", bytes: () => head(alicePosts("Content-Length: 100")) + "{", ...incomplete },
  {
    what: "a body whose sender hangs up",
    bytes: () => head(alicePosts("Content-Length: 100")) + "{",
    halfClose: true,
    ...incomplete,
  },
];

describe("a body of a known principal that does not arrive within its bounds is refused, with its one outcome", () => {
  it.each(bodies)("$what is $code", async ({ bytes, status, code, halfClose = false }) => {
    const answer = await sendRaw(bench.gateway.port, bytes(), { halfClose });
    await expectOneOutcome(bench.gateway, expectRefused(answer, { status, rpc: -32600, code }), code);
    expect(answer.headers.connection).toBe("close");
  });

  it("a chunk that breaks off mid-body is BODY_INCOMPLETE", async () => {
    const answer = await inPieces([head(alicePosts("Transfer-Encoding: chunked")) + "5\r\n{   \r\n", "nonsense\r\n"]);
    await expectOneOutcome(
      bench.gateway,
      expectRefused(answer, { status: 400, rpc: -32600, code: "BODY_INCOMPLETE" }),
      "BODY_INCOMPLETE",
    );
  });
});

/** Sends the second piece once the gateway has begun to read the body of the first. */
async function inPieces([first, second]: readonly [string, string]): Promise<Received> {
  const transcript: Buffer[] = [];
  const socket = connect(bench.gateway.port, "127.0.0.1", () => socket.write(first));
  socket.on("data", (bytes) => transcript.push(bytes));
  setTimeout(() => socket.write(second), 100);
  await new Promise((resolve) => socket.once("close", resolve));
  return readResponse(Buffer.concat(transcript).toString("latin1"));
}

describe("the gateway afterwards", () => {
  it("serves the next request, and an id of its own for every refused body", async () => {
    const message = '{"jsonrpc":"2.0","id":0,"method":"ping"}';
    const session = `Mcp-Session-Id: ${bench.aliceInSession.session}`;
    const lines = alicePosts(session, `Content-Length: ${message.length}`, close);
    const answer = await sendRaw(bench.gateway.port, head(lines) + message);
    expect([answer.status, errorCodeIn(answer), answer.json["id"]]).toEqual([200, undefined, 0]);
  });

  it("has counted every stranger's refusal under the reference that was told", async () => {
    const lost = await sendRaw(bench.gateway.port, head([close], "GET /%zz HTTP/1.1"));
    toldStrangers.set(refusalIn(lost).ref, "URL_MALFORMED");
    await bench.gateway.stop();
    for (const [ref, code] of toldStrangers) {
      const [event] = await eventsOf(bench.gateway, ref);
      expect([event?.type, event?.refusal?.code]).toEqual(["strangers", code]);
    }
    expect(bench.upstream.ledger).toEqual([]);
  });
});
