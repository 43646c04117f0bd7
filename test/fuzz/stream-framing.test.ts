import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSseParser } from "../../src/protocol/sse.ts";
import { startGatewayUnderTest } from "../journey/gateway-under-test.ts";
import type { GatewayUnderTest } from "../journey/gateway-under-test.ts";
import type { Loose } from "../journey/http-client.ts";
import { legacyCall, modernCall, openSession } from "../journey/wire-client.ts";
import type { Caller } from "../journey/wire-client.ts";
import { startScriptedUpstream } from "../upstream/scripted-upstream.ts";
import type { ScriptedUpstream, Wire } from "../upstream/scripted-upstream.ts";

const seed = Number(process.env["SALLYPORT_FUZZ_SEED"] ?? "20260728");

/** How a server writes its stream: what ends the lines of one message and the next, and what stands between them. */
interface Framing {
  readonly eols: readonly string[];
  readonly mark: boolean;
  /** JSON on several lines becomes several `data` lines. */
  readonly indent: number;
  readonly space: string;
  readonly named: boolean;
  readonly between: readonly ("comment" | "prime" | "retry" | "unknown" | "blank")[];
  readonly idFirst: boolean;
}

const framings: fc.Arbitrary<Framing> = fc.record({
  eols: fc.oneof(
    fc.constantFrom(["\n"], ["\r\n"], ["\r"]),
    fc.array(fc.constantFrom("\n", "\r\n", "\r"), { minLength: 2, maxLength: 5 }),
  ),
  mark: fc.boolean(),
  indent: fc.constantFrom(0, 1),
  space: fc.constantFrom(" ", ""),
  named: fc.boolean(),
  between: fc.array(fc.constantFrom("comment", "prime", "retry", "unknown", "blank"), { maxLength: 4 }),
  idFirst: fc.boolean(),
});

function frame(messages: readonly unknown[], framing: Framing): Buffer {
  const parts = messages.map((message, index) => {
    const eol = framing.eols[index % framing.eols.length] ?? "\n";
    const data = JSON.stringify(message, undefined, framing.indent);
    const fields = data.split("\n").map((line) => `data:${framing.space}${line}`);
    if (framing.named) fields.unshift("event: message");
    fields.splice(framing.idFirst ? 0 : fields.length, 0, `id: ${index}`);
    return filler(framing, eol) + fields.map((field) => field + eol).join("") + eol;
  });
  return Buffer.from((framing.mark ? "\u{feff}" : "") + parts.join(""), "utf8");
}

function filler({ between }: Framing, eol: string): string {
  const texts = {
    comment: `: keep-alive ü${eol}`,
    prime: `id: prime${eol}data:${eol}${eol}`,
    retry: `retry: 10${eol}${eol}`,
    unknown: `data-x: {"jsonrpc"${eol}Data: no${eol}`,
    blank: eol,
  };
  return between.map((kind) => texts[kind]).join("");
}

function messagesOf(pieces: readonly Buffer[]): unknown[] {
  const parser = createSseParser({ eventBytesMax: 1_000_000 });
  return pieces.flatMap((piece) => {
    const pushed = parser.push(piece);
    if (!pushed.ok) throw new Error(pushed.refusal.code);
    return pushed.value.filter(({ data }) => data !== "").map(({ data }) => JSON.parse(data) as unknown);
  });
}

describe("a list of messages, in whatever framing", () => {
  it("is read back whole, for a cut at every single byte", () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue(), { maxLength: 3 }), framings, (messages, framing) => {
        const stream = frame(messages, framing);
        const expected = JSON.parse(JSON.stringify(messages)) as unknown;
        expect(messagesOf([...stream].map((byte) => Buffer.of(byte)))).toEqual(expected);
        for (let at = 0; at <= stream.length; at += 1)
          expect(messagesOf([stream.subarray(0, at), stream.subarray(at)])).toEqual(expected);
      }),
      { seed, numRuns: 60 },
    );
  });

  it("loses its last message and no other when the stream ends within it", () => {
    fc.assert(
      fc.property(framings, fc.nat(), (framing, cut) => {
        const first = frame([{ n: 1 }], framing);
        const both = frame([{ n: 1 }, { n: "zwei" }], framing);
        // The blank line's own end completes the second message: CRLF already does so at its CR.
        const last = both.subarray(both.length - 2).toString() === "\r\n" ? 2 : 1;
        const at = first.length + (cut % (both.length - last - first.length));
        expect(messagesOf([both.subarray(0, at)])).toEqual([{ n: 1 }]);
      }),
      { seed, numRuns: 300 },
    );
  });
});

const eras = ["legacy", "modern"] as const;
const upstreams = new Map<string, ScriptedUpstream>();
let gateway: GatewayUnderTest;
const callers = new Map<string, (params: Loose) => ReturnType<typeof modernCall>>();
/** How the servers write their next answer, and where they cut it. */
let next: { framing: Framing; cuts: readonly number[] };

beforeAll(async () => {
  for (const era of eras) {
    const upstream = await startScriptedUpstream({ era });
    upstream.script(async ({ rpc }, wire) => {
      if (rpc["method"] !== "tools/call") return false;
      await stream(wire, frame(storyOf(rpc["id"], era), next.framing), next.cuts);
      return true;
    });
    upstreams.set(era, upstream);
  }
  gateway = await startGatewayUnderTest({
    upstreams: Object.fromEntries(eras.map((era) => [era, upstreams.get(era)!.url])),
    servers: Object.fromEntries(eras.map((era) => [era, { [era]: "" }])),
  });
  for (const server of eras) {
    const caller: Caller = { gateway, server };
    const session = await openSession(caller);
    callers.set(`legacy ${server}`, (params) => legacyCall(session, "tools/call", params));
    callers.set(`modern ${server}`, (params) => modernCall(caller, "tools/call", params));
  }
});

afterAll(async () => {
  await gateway.remove();
  for (const upstream of upstreams.values()) await upstream.close();
});

const content = [{ type: "text", text: "größer: 😀\r\nzwei" }];

/** An answer with all that may come before and after it: a notification, a foreign answer, and one more notification. */
function storyOf(id: unknown, era: string): unknown[] {
  const note = { jsonrpc: "2.0", method: "notifications/message", params: { level: "info", data: "ü" } };
  const result = { content, structuredContent: { n: 1 }, ...(era === "modern" ? { resultType: "complete" } : {}) };
  return [note, { jsonrpc: "2.0", id: "foreign", result: { content: [] } }, { jsonrpc: "2.0", id, result }, note];
}

async function stream(wire: Wire, bytes: Buffer, cuts: readonly number[]): Promise<void> {
  const at = [0, ...cuts.map((cut) => cut % bytes.length).sort((a, b) => a - b), bytes.length];
  wire.eventStream();
  for (const [index, end] of at.slice(1).entries()) {
    const piece = bytes.subarray(at[index], end);
    if (piece.length > 0) wire.chunk(piece);
    await new Promise((resolve) => setImmediate(resolve));
  }
  wire.endChunks();
}

describe("the answer of an upstream", () => {
  it("reaches every client as the same answer, however it is framed and cut", { timeout: 120_000 }, async () => {
    const cuts = fc.array(fc.nat(2_000), { maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(fc.constantFrom("legacy", "modern"), fc.constantFrom("legacy", "modern"), framings, cuts, holds),
      { seed, numRuns: 120 },
    );
  });
});

async function holds(client: string, server: string, framing: Framing, cuts: readonly number[]): Promise<void> {
  next = { framing, cuts };
  const { status, headers, text, json } = await callers.get(`${client} ${server}`)!({ name: "echo", arguments: {} });
  expect(status).toBe(200);
  const streamed = headers["content-type"] === "text/event-stream";
  const messages = streamed ? messagesOf([Buffer.from(text)]) : [json];
  // A log message that came before the answer may reach the client before it; what came after does not.
  expect(messages.length).toBeLessThanOrEqual(2);
  for (const message of messages.slice(0, -1)) expect(message).toMatchObject({ method: "notifications/message" });
  const answer = messages.at(-1) as Loose;
  expect(answer).toMatchObject({ jsonrpc: "2.0", id: 1, result: { content, structuredContent: { n: 1 } } });
  expect(answer["result"]).not.toHaveProperty("isError");
}
