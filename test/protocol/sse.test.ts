import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createSseParser, sseComment, sseEvent } from "../../src/protocol/sse.ts";
import type { SseEvent } from "../../src/protocol/sse.ts";

const roomy = { eventBytesMax: 1_000_000 };

/** All events of a stream that arrives in these pieces; a refusal ends it with its code. */
function read(pieces: readonly Uint8Array[], bounds = roomy): (SseEvent | string)[] {
  const parser = createSseParser(bounds);
  const events: (SseEvent | string)[] = [];
  for (const piece of pieces) {
    const pushed = parser.push(piece);
    if (!pushed.ok) return [...events, pushed.refusal.code];
    events.push(...pushed.value);
  }
  return events;
}

function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function dataOf(text: string): string[] {
  return read([bytes(text)]).map((event) => (typeof event === "string" ? event : event.data));
}

function message(data: string, more: Partial<SseEvent> = {}): SseEvent {
  return { event: "message", data, id: undefined, retry: undefined, ...more };
}

describe("an event stream", () => {
  it.each<[why: string, text: string, data: string[]]>([
    ["line feeds", "data: a\n\ndata: b\n\n", ["a", "b"]],
    ["carriage returns", "data: a\r\rdata: b\r\r", ["a", "b"]],
    ["both together", "data: a\r\n\r\ndata: b\r\n\r\n", ["a", "b"]],
    ["all of them mixed", "data: a\r\n\ndata: b\n\rdata: c\r\r\n", ["a", "b", "c"]],
    ["several data lines", "data: a\ndata: b\n\n", ["a\nb"]],
    ["empty data lines", "data\ndata:\n\n", ["\n"]],
    ["one space taken off, not two", "data:a\n\ndata:  b\n\n", ["a", " b"]],
    ["comments", ": hi\n:\ndata: a\n: no end\n\n:\n\n", ["a"]],
    ["unknown fields", "data: a\nfoo: b\nData: c\ndata c: d\n\n", ["a"]],
    ["colons in data", "data: a: b\n\n", ["a: b"]],
    ["a byte order mark", "\u{feff}data: a\n\n", ["a"]],
    ["a byte order mark that comes second", "\u{feff}\u{feff}data: a\n\ndata: b\n\n", ["b"]],
    ["an event that never ends", "data: a\n\ndata: b\n", ["a"]],
    ["a line that never ends", "data: a\n\ndata: b", ["a"]],
    ["blank lines alone", "\n\n\r\n\r", []],
    ["U+2028 and NEL, which end no line", "data: a\u{2028}b\u{85}c\n\n", ["a\u{2028}b\u{85}c"]],
  ])("with %s", (_why, text, data) => {
    expect(dataOf(text)).toEqual(data);
  });

  it("hands over type, id and retry, the id until another replaces it", () => {
    const text = [
      "id: 1\nevent: ping\nretry: 1500\ndata: a\n\n",
      "data: b\n\n",
      "id\ndata: c\n\n",
      "id: x\u{0}y\nretry: 1s\nevent:\ndata: d\n\n",
    ].join("");
    expect(read([bytes(text)])).toEqual([
      message("a", { id: "1", event: "ping", retry: 1500 }),
      message("b", { id: "1" }),
      message("c", { id: "" }),
      message("d", { id: "" }),
    ]);
  });

  it.each([
    ["id: 7\ndata:\n\n", message("", { id: "7" })],
    ["id: 7\ndata\n\n", message("", { id: "7" })],
    ["id: 7\n\n", message("", { id: "7" })],
    ["retry: 10\n\n", message("", { retry: 10 })],
  ])("hands over %j, which primes resumption, with empty data", (text, event) => {
    expect(read([bytes(text)])).toEqual([event]);
  });

  it("reads what a server with CRLF sends, byte by byte", () => {
    const text = 'event: message\r\nid: 0_1\r\ndata: {"ü":"😀"}\r\n\r\n: ping - 2026\r\n\r\n';
    const pieces = [...bytes(text)].map((byte) => Uint8Array.of(byte));
    expect(read(pieces)).toEqual([message('{"ü":"😀"}', { id: "0_1" })]);
  });

  it("does not keep the memory of a chunk it was given", () => {
    const parser = createSseParser(roomy);
    const chunk = bytes("data: abc");
    parser.push(chunk);
    chunk.fill(0x7a);
    expect(parser.push(bytes("d\n\n"))).toEqual({ ok: true, value: [message("abcd")] });
  });

  it("is the same however it is cut", () => {
    const line = fc.oneof(
      fc.string({ unit: "grapheme", maxLength: 12 }).map((text) => text.replace(/[\r\n\0]/g, "_")),
      fc.constant("{}"),
    );
    const eol = fc.constantFrom("\n", "\r", "\r\n");
    const field = fc.tuple(fc.constantFrom("data: ", "data:", ": ", "id: ", "event: ", "x: "), line, eol);
    const stream = fc.array(fc.tuple(fc.array(field, { maxLength: 4 }), eol), { maxLength: 5 });
    fc.assert(
      fc.property(stream, fc.array(fc.nat(400), { maxLength: 8 }), (blocks, cuts) => {
        const text = blocks.map(([fields, end]) => fields.map((parts) => parts.join("")).join("") + end).join("");
        const whole = bytes(text);
        const at = [0, ...cuts.map((cut) => Math.min(cut, whole.length)).sort((a, b) => a - b), whole.length];
        const pieces = at.slice(1).map((end, index) => whole.slice(at[index], end));
        expect(read(pieces)).toEqual(read([whole]));
        expect(read([...whole].map((byte) => Uint8Array.of(byte)))).toEqual(read([whole]));
      }),
      { numRuns: 500 },
    );
  });

  it("brings back every list of messages, with whatever line ends and comments", () => {
    const eol = fc.constantFrom("\n", "\r", "\r\n");
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.jsonValue(), eol, fc.boolean())), (messages) => {
        const texts = messages.map(([value]) => JSON.stringify(value));
        const text = messages
          .map(
            ([, end, comment], index) => `${comment ? `: hi${end}${end}` : ""}data: ${texts[index] ?? ""}${end}${end}`,
          )
          .join("");
        expect(dataOf(text)).toEqual(texts);
      }),
    );
  });
});

describe("bounds and faults", () => {
  it.each([
    [20, "data: 3456789012345\n\n", ["3456789012345"]],
    [19, "data: 3456789012345\n\n", ["UPSTREAM_ANSWER_TOO_LARGE"]],
    [19, "data: 345678901234567890", ["UPSTREAM_ANSWER_TOO_LARGE"]],
    [8, "data:\ndata:\n\n", ["UPSTREAM_ANSWER_TOO_LARGE"]],
    [12, "data:\ndata:\n\n", ["\n"]],
    [12, "data: ää\n\ndata: ää\n\n", ["ää", "ää"]],
  ])("%i bytes and %j: %j", (eventBytesMax, text, expected) => {
    const found = read([bytes(text)], { eventBytesMax });
    expect(found.map((event) => (typeof event === "string" ? event : event.data))).toEqual(expected);
  });

  it("counts what arrives in pieces, and frees it with each event", () => {
    const pieces = Array.from({ length: 100 }, () => bytes("data: abc\n\n"));
    expect(read(pieces, { eventBytesMax: 11 })).toHaveLength(100);
    const endless = Array.from({ length: 100 }, () => bytes("x"));
    expect(read(endless, { eventBytesMax: 99 })).toEqual(["UPSTREAM_ANSWER_TOO_LARGE"]);
  });

  it("comments never add up", () => {
    const pieces = Array.from({ length: 1_000 }, () => bytes(": keep-alive\r\n"));
    expect(read([...pieces, bytes("data: a\n\n")], { eventBytesMax: 14 })).toEqual([message("a")]);
  });

  it("invalid UTF-8 is refused, not replaced", () => {
    expect(read([Uint8Array.of(...bytes("data: "), 0xff, 0x0a, 0x0a)])).toEqual(["JSON_NOT_UTF8"]);
  });

  it("events before a fault come first, and after it nothing does", () => {
    const parser = createSseParser({ eventBytesMax: 12 });
    expect(parser.push(bytes("data: a\n\ndata: 90123456\ndata: b\n\n"))).toEqual({ ok: true, value: [message("a")] });
    for (const text of ["", "data: c\n\n"]) {
      const pushed = parser.push(bytes(text));
      expect(pushed.ok ? "" : pushed.refusal.code).toBe("UPSTREAM_ANSWER_TOO_LARGE");
    }
  });
});

describe("writers", () => {
  it("write one event, whatever line ends its text has", () => {
    expect(sseEvent('{"a":1}')).toBe('event: message\ndata: {"a":1}\n\n');
    expect(dataOf(sseEvent("a\r\n\r\nid: 9\rb\n"))).toEqual(["a\n\nid: 9\nb\n"]);
  });

  it("write comments that no reader sees", () => {
    expect(sseComment("keep-alive")).toBe(": keep-alive\n\n");
    expect(dataOf(sseComment("x\n\ndata: y\r\rdata: z") + sseEvent("a"))).toEqual(["a"]);
  });
});
