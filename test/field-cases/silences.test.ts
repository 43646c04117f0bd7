import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../journey/gateway-under-test.ts";
import type { Loose } from "../journey/http-client.ts";
import { openStream } from "../journey/stream-client.ts";
import type { OpenStream } from "../journey/stream-client.ts";
import { legacyHeaders, modernHeaders, modernMeta, openSession } from "../journey/wire-client.ts";
import type { Caller } from "../journey/wire-client.ts";
import { event } from "../upstream/scripted-upstream.ts";
import type { Wire } from "../upstream/scripted-upstream.ts";
import { eras, hops, startPairings } from "./pairings.ts";
import type { Era, Hop, Pairings } from "./pairings.ts";

let pairings: Pairings;
/** Ends the calls that are under way. */
const answerNow: (() => void)[] = [];

const tools = ["quiet", "reports"].map((name) => ({ name, inputSchema: { type: "object" } }));

beforeAll(async () => {
  pairings = await startPairings((method) => (method === "tools/list" ? { tools } : undefined), {
    config: { limits: { streamCommentMs: 250 } },
    onRequest: ({ rpc }, wire, era) => {
      if (rpc["method"] !== "tools/call") return false;
      const params = rpc["params"] as Loose;
      if (params["name"] === "reports") report(wire, params);
      answerNow.push(() => {
        answer(wire, { id: rpc["id"], streamed: params["name"] === "reports" }, era);
      });
      return true;
    },
  });
});

afterAll(() => pairings.close());

function report(wire: Wire, params: Loose): void {
  const { progressToken } = params["_meta"] as Loose;
  wire.eventStream();
  wire.chunk(event({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken, progress: 1 } }));
}

function answer(wire: Wire, { id, streamed }: { id: unknown; streamed: boolean }, era: Era): void {
  const message = {
    jsonrpc: "2.0",
    id,
    result: { content: [], ...(era === "modern" ? { resultType: "complete" } : {}) },
  };
  if (!streamed) {
    wire.json(200, message);
    return;
  }
  wire.chunk(event(message));
  wire.endChunks();
}

/** A call in a stream of its own, which the upstream has by then; resolves with the head of the answer, whenever that comes. */
async function startCall({ client, server }: Hop, name: string, headers: Loose = {}): Promise<OpenStream> {
  const { gateway } = pairings;
  const caller: Caller = { gateway, server };
  const session = client === "legacy" ? await openSession(caller) : undefined;
  const progress = { progressToken: "p" };
  const _meta = client === "modern" ? { ...modernMeta, ...progress } : progress;
  const usual = session === undefined ? modernHeaders(caller, "tools/call", name) : legacyHeaders(session);
  const before = answerNow.length;
  const opened = openStream({
    port: gateway.port,
    path: `/${server}/mcp`,
    method: "POST",
    headers: { ...usual, ...headers } as Record<string, string>,
    body: { jsonrpc: "2.0", id: 7, method: "tools/call", params: { name, arguments: {}, _meta } },
  });
  await until(() => answerNow.length > before);
  return opened;
}

function finish(): void {
  for (const now of answerNow.splice(0)) now();
}

describe.each(hops)("a call by a $client client to a $server server that falls silent", (hop: Hop) => {
  it("after a report is kept alive by comments, of which a reader sees nothing", async () => {
    const open = await startCall(hop, "reports");
    await until(() => open.comments >= 3);
    expect(open.messages).toMatchObject([
      { method: "notifications/progress", params: { progressToken: "p", progress: 1 } },
    ]);
    finish();
    await until(() => open.ended);
    expect(open.messages).toMatchObject([{ method: "notifications/progress" }, { id: 7, result: { content: [] } }]);
    expect(open.text).not.toMatch(/^id:/m);
  });

  it("is neither compressed nor held back on its way, whatever the client would take", async () => {
    const open = await startCall(hop, "reports", { "accept-encoding": "gzip, br" });
    expect(open.headers["content-encoding"]).toBeUndefined();
    expect(open.headers["x-accel-buffering"]).toBe("no");
    expect(open.headers["cache-control"]).toContain("no-transform");
    finish();
    await until(() => open.ended);
  });
});

describe("a call that says nothing at all before its answer", () => {
  it.each(eras)("is kept alive by comments too, for a %s client", async (client) => {
    const stream = startCall({ client, server: "modern" }, "quiet");
    let open: OpenStream | undefined;
    void stream.then((opened) => (open = opened));
    await until(() => answerNow.length > 0);
    const deadline = Date.now() + 3_000;
    await until(() => (open?.comments ?? 0) >= 3 || Date.now() > deadline);
    finish();
    const done = await stream;
    await until(() => done.ended);
    expect(done.comments).toBeGreaterThanOrEqual(3);
  });
});
