import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Loose, Received } from "../journey/http-client.ts";
import { auditUntilNow, openBench } from "../journey/refusal-bench.ts";
import type { RefusalBench } from "../journey/refusal-bench.ts";
import { legacyHeaders, modernHeaders, modernMeta, openSession, post } from "../journey/wire-client.ts";
import type { Caller } from "../journey/wire-client.ts";

let bench: RefusalBench;
/** A session that must accept batches. */
let old: Caller & { session: string };

beforeAll(async () => {
  bench = await openBench();
  old = await openSession(bench.alice, "2025-03-26");
});

afterAll(() => bench.close());

const call = (name: string, id: unknown = 7): Loose => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name, arguments: {} },
});
const text = (value: unknown): string => JSON.stringify(value);
const [allowed, forbidden] = [call("echo"), call("forbidden", 8)];

/** Every way to hide a call in something that is no single request. */
const smuggled: readonly (readonly [what: string, body: string])[] = [
  ["a batch of a forbidden call", text([forbidden])],
  ["a batch of an allowed and a forbidden call", text([allowed, forbidden])],
  ["an empty batch", "[]"],
  ["a batch in a batch", text([[allowed]])],
  ["a batch in a batch in a batch", text([[[forbidden]]])],
  ["a result alone", text({ result: {} })],
  ["a result that calls as well", text({ ...allowed, result: {} })],
  ["an error that calls as well", text({ ...allowed, error: { code: 1, message: "m" } })],
  ["a text", '"tools/call"'],
  ["a number", "7"],
  ["null", "null"],
  ["two objects after each other", text(allowed) + text(forbidden)],
  ["two objects on two lines", `${text(allowed)}\n${text(forbidden)}`],
  ["bytes after the object", `${text(allowed)}x`],
  ["a method in an array", text({ ...allowed, method: ["tools/call"] })],
  ["parameters in an array", text({ ...allowed, params: ["echo"] })],
  ["a method in capitals next to another", text({ ...allowed, method: "ping", Method: "tools/call" })],
];

interface Door {
  readonly door: string;
  readonly send: (body: string) => Promise<Received>;
  /** Whether batches are taken apart here. */
  readonly unbundles: boolean;
}

const doors: readonly Door[] = [
  {
    door: "a modern client",
    send: (body) => post(bench.alice, modernHeaders(bench.alice, "tools/call", "echo"), body),
    unbundles: false,
  },
  {
    door: "a session of 2025-11-25",
    send: (body) => post(bench.aliceInSession, legacyHeaders(bench.aliceInSession), body),
    unbundles: false,
  },
  { door: "a session of 2025-03-26", send: (body) => post(old, legacyHeaders(old), body), unbundles: true },
];

describe.each(doors)("what is no single message, sent by $door", ({ send, unbundles }) => {
  it.each(smuggled)("%s: is refused, or each part is judged by itself", async (what, body) => {
    const before = bench.upstream.received.length;
    const answer = await send(body);
    const calls = bench.upstream.received.slice(before).map(({ rpc }) => (rpc["params"] as Loose)["name"]);
    const isBatch = unbundles && what.startsWith("a batch");
    expect(answer.status).toBe(isBatch || what.startsWith("parameters") ? 200 : 400);
    expect(calls).toEqual(isBatch && what.includes("an allowed") ? ["echo"] : []);
    if (!isBatch) expect((answer.json["error"] as Loose)["code"]).toBeLessThanOrEqual(-32600);
  });

  it("leaves its evidence, each time", async () => {
    const before = (await auditUntilNow(bench.gateway, bench.alice)).length;
    for (const [, body] of smuggled) await send(body);
    const events = (await auditUntilNow(bench.gateway, bench.alice)).slice(before);
    const outcomes = events.filter(({ type }) => type !== "attempted");
    // Each element of a batch that is taken apart leaves its own: of these, one batch has two.
    expect(outcomes).toHaveLength(smuggled.length + (unbundles ? 1 : 0));
  });
});

/** How an id is spelled, and how it comes back: by its value, or not at all. */
const ids: readonly (readonly [id: string, echoed: string | undefined])[] = [
  ["0", "0"],
  ["-1", "-1"],
  ["1", "1"],
  ['"1"', '"1"'],
  ['""', '""'],
  ['"0"', '"0"'],
  ['"6f9619ff-8b86-d011-b42d-00c04fc964ff"', '"6f9619ff-8b86-d011-b42d-00c04fc964ff"'],
  ["9007199254740991", "9007199254740991"],
  ["9007199254740993", "9007199254740993"],
  ['"\\u0000"', '"\\u0000"'],
  ["1.0", "1"],
  ["1e3", "1000"],
  ["1.5", undefined],
  ["null", undefined],
  ["true", undefined],
  ["{}", undefined],
  ["[]", undefined],
];

describe.each(["legacy", "modern"] as const)("an id of a %s request", (era) => {
  const send = (id: string): Promise<Received> => {
    const params = `{"name":"echo","arguments":{}${era === "modern" ? `,"_meta":${text(modernMeta)}` : ""}}`;
    const member = id === "" ? "" : `"id":${id},`;
    const body = `{"jsonrpc":"2.0",${member}"method":"tools/call","params":${params}}`;
    return era === "modern"
      ? post(bench.alice, modernHeaders(bench.alice, "tools/call", "echo"), body)
      : post(bench.aliceInSession, legacyHeaders(bench.aliceInSession), body);
  };

  it.each(ids)("spelled %s comes back as %s", async (id, echoed) => {
    const before = bench.upstream.ledger.length;
    const answer = await send(id);
    const executed = bench.upstream.ledger.length - before;
    if (echoed === undefined) {
      expect([answer.status, (answer.json["error"] as Loose)["code"], executed]).toEqual([400, -32600, 0]);
      expect(answer.json).not.toHaveProperty("id");
    } else {
      expect(answer.text).toContain(`"id":${echoed},`);
      expect([answer.status, executed]).toEqual([200, 1]);
    }
  });

  it("that is missing makes no call of it", async () => {
    const before = bench.upstream.ledger.length;
    expect((await send("")).status).toBe(400);
    expect(bench.upstream.ledger.length).toBe(before);
  });
});
