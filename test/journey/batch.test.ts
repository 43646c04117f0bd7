import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Loose, Received } from "./http-client.ts";
import { auditUntilNow, expectOneOutcome, openBench, refusedOnce } from "./refusal-bench.ts";
import type { RefusalBench } from "./refusal-bench.ts";
import { legacyHeaders, modernMeta, openSession, post, refusalIn } from "./wire-client.ts";
import type { Caller } from "./wire-client.ts";

let bench: RefusalBench;
/** In a session negotiated at 2025-03-26, the only revision with batches. */
let caller: Caller & { readonly session: string };

beforeAll(async () => {
  bench = await openBench();
  caller = await openSession(bench.alice, "2025-03-26");
});

afterAll(async () => {
  await bench.close();
});

const sendBatch = (elements: unknown, from: Caller = caller): Promise<Received> =>
  post(from, legacyHeaders(from), elements);

const call = (id: unknown, name = "echo", args: Loose = {}): Loose => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name, arguments: args },
});
const notification = { jsonrpc: "2.0", method: "notifications/initialized" };

function elementsOf(answer: Received): Loose[] {
  return JSON.parse(answer.text) as Loose[];
}

describe("a batch in a 2025-03-26 session", () => {
  it("is unbundled: every element is judged and answered by itself, under its own id", async () => {
    const executed = bench.upstream.ledger.length;
    const answer = await sendBatch([
      call(0),
      notification,
      call("a", "nope"),
      call(2, "echo", { n: "x" }),
      { jsonrpc: "2.0", id: 3, method: "ping" },
      { jsonrpc: "2.0", id: 4, method: "tools/teleport" },
      [call(5)],
      6,
    ]);
    expect(answer.status).toBe(200);
    const answers = elementsOf(answer);
    const said = answers.map((json) => [json["id"], refusalIn({ json }).code]);
    expect(said).toEqual([
      [0, ""],
      ["a", "ITEM_UNKNOWN"],
      [2, "ARGUMENTS_INVALID"],
      [3, ""],
      [4, "RPC_METHOD_UNKNOWN"],
      [undefined, "RPC_BATCH_REFUSED"],
      [undefined, "RPC_MESSAGE_INVALID"],
    ]);
    expect(bench.upstream.ledger.length).toBe(executed + 1);
  });

  it("leaves one outcome for each element, each with a reference of its own", async () => {
    const before = (await auditUntilNow(bench.gateway, bench.alice)).length;
    const answers = elementsOf(await sendBatch([call(1, "nope"), call(2, "nope"), call(3, "neither")]));
    const refs = answers.map((json) => refusalIn({ json }).ref);
    expect(new Set(refs).size).toBe(3);
    for (const ref of refs) await expectOneOutcome(bench.gateway, ref, "ITEM_UNKNOWN");
    expect((await auditUntilNow(bench.gateway, bench.alice)).length).toBe(before + 3);
  });

  it("gives an executed element an attempt and an outcome under one reference", async () => {
    const before = (await auditUntilNow(bench.gateway, bench.alice)).length;
    await sendBatch([call(1)]);
    const [attempted, returned] = (await auditUntilNow(bench.gateway, bench.alice)).slice(before);
    expect([attempted?.type, returned?.type]).toEqual(["attempted", "returned"]);
    expect(attempted?.ref).toBe(returned?.ref);
  });

  it("of notifications alone is answered 202 without a body", async () => {
    const answer = await sendBatch([notification, notification]);
    expect([answer.status, answer.text]).toEqual([202, ""]);
  });

  it("answers an element under a modern claim with an error of its own", async () => {
    const modern = { ...call(1), params: { name: "echo", arguments: {}, _meta: modernMeta } };
    const [first, second] = elementsOf(await sendBatch([modern, call(2)]));
    expect(refusalIn({ json: first ?? {} }).code).toBe("HEADER_MISMATCH");
    expect(second?.["result"]).toBeDefined();
  });

  it("never opens a session: initialize has no place in it (2025-03-26, lifecycle)", async () => {
    const params = { protocolVersion: "2025-03-26", capabilities: {}, clientInfo: { name: "t", version: "1" } };
    const answer = await sendBatch([{ jsonrpc: "2.0", id: 1, method: "initialize", params }, call(2)]);
    const [first, second] = elementsOf(answer);
    expect([first?.["id"], refusalIn({ json: first ?? {} }).code]).toEqual([1, "RPC_BATCH_REFUSED"]);
    expect(second?.["result"]).toBeDefined();
    expect(answer.headers["mcp-session-id"]).toBeUndefined();
  });

  const ping = (id: number): Loose => ({ jsonrpc: "2.0", id, method: "ping" });
  const pings = (count: number): Loose[] => Array.from({ length: count }, (_, at) => ping(at));

  it("takes 50 elements and refuses 51 whole", async () => {
    expect(elementsOf(await sendBatch(pings(50)))).toHaveLength(50);
    await refusedOnce(bench, () => sendBatch(pings(51)), { status: 400, rpc: -32600, code: "RPC_BATCH_REFUSED" });
  });

  it("is refused when it is empty", async () => {
    await refusedOnce(bench, () => sendBatch([]), { status: 400, rpc: -32600, code: "RPC_BATCH_REFUSED" });
  });
});

describe("a batch anywhere else is refused whole", () => {
  it.each(["2025-06-18", "2025-11-25"])("in a session of %s", async (revision) => {
    const other = await openSession(bench.alice, revision);
    await refusedOnce(bench, () => sendBatch([call(1)], other), {
      status: 400,
      rpc: -32600,
      code: "RPC_BATCH_REFUSED",
    });
  });

  it("without a session", async () => {
    const refused = { status: 400, rpc: -32600, code: "RPC_BATCH_REFUSED" } as const;
    await refusedOnce(bench, () => sendBatch([call(1)], bench.alice), refused);
  });

  it("in another principal's session, as one that does not exist", async () => {
    const answer = await sendBatch([call(1)], { ...bench.bob, session: caller.session });
    expect([answer.status, refusalIn(answer).code]).toEqual([404, "SESSION_UNKNOWN"]);
    await expectOneOutcome(bench.gateway, refusalIn(answer).ref, "SESSION_NOT_YOURS");
  });
});
