import { describe, expect, it } from "vitest";
import { createChain } from "../../src/audit/chain.ts";

const digests = { configuration: "c", lock: "l", policy: "p" };

function lineOf(text: string, eventBytesMax: number): string {
  const chain = createChain({ replica: "r", resume: undefined, eventBytesMax });
  const draft = { type: "returned", ref: "REF0000001", tenant: "acme", read: { "/a": text } } as const;
  return chain.seal({ draft, at: 0, digests });
}

/** What an event's body holds beside the text: its line has the hash before it. */
const rest = Buffer.byteLength(lineOf("", 10_000)) - `"hash":"${"0".repeat(64)}",`.length;

describe("an event's bound", () => {
  it.each(["x", "é", "€", "😀"])("counts bytes of UTF-8, here of %j", (character) => {
    const text = character.repeat(2_000);
    const bytes = rest + Buffer.byteLength(text);
    expect(lineOf(text, bytes)).toContain(text);
    expect(lineOf(text, bytes - 1)).not.toContain(text);
    expect(lineOf(text, bytes - 1)).toContain('"shortened":["read","findings"]');
  });

  it("does not give events of one millisecond the time of another", () => {
    const chain = createChain({ replica: "r", resume: undefined, eventBytesMax: 10_000 });
    const draft = { type: "returned", ref: "REF0000001", tenant: "acme" } as const;
    const times = [0, 1, 1, 0].map((at) => /"at":"([^"]+)"/.exec(chain.seal({ draft, at, digests }))?.[1]);
    expect(times).toEqual([0, 1, 1, 0].map((at) => new Date(at).toISOString()));
  });
});
