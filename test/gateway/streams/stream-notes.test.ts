import { describe, expect, it } from "vitest";
import { readNote, writeNote } from "../../../src/gateway/streams/stream-notes.ts";
import type { StreamNote } from "../../../src/gateway/streams/stream-notes.ts";

const session = { tenant: "acme", id: "s" };
const notes: readonly StreamNote[] = [
  { kind: "message", session, text: '{"jsonrpc":"2.0","method":"ping"}\n' },
  { kind: "over", session },
  { kind: "replaced", session, stream: "x" },
  { kind: "interests", session },
  { kind: "hears", session, upstream: "crm", address: "replica", question: "q" },
  { kind: "heard", session, question: "q", state: "not-offered" },
  { kind: "lists", upstream: "crm" },
];

describe("what replicas tell each other of streams", () => {
  it.each(notes)("arrives as it was said: $kind", (note) => {
    expect(readNote(writeNote(note))).toEqual(note);
  });

  it.each([
    "",
    "null",
    "[]",
    "{}",
    '{"kind":"over","tenant":"acme"}',
    '{"kind":"message","tenant":"a","session":"s"}',
    '{"kind":"lists"}',
    '{"kind":"hears","tenant":"a","session":"s","upstream":"u","question":"q"}',
    '{"kind":"hears","tenant":"a","session":"s","upstream":"u","address":"r"}',
    '{"kind":"heard","tenant":"a","session":"s","question":"q","state":"asleep"}',
    '{"kind":"heard","tenant":"a","session":"s","state":"lost"}',
    '{"kind":"new","tenant":"a","session":"s"}',
  ])("is nothing when it is none of it: %s", (text) => {
    expect(readNote(text)).toBeUndefined();
  });
});
