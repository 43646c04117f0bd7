import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { event, startScriptedUpstream } from "../upstream/scripted-upstream.ts";
import type { ScriptedUpstream } from "../upstream/scripted-upstream.ts";
import { startGatewayUnderTest, startIssuer } from "./gateway-under-test.ts";
import type { GatewayUnderTest, IssuerUnderTest } from "./gateway-under-test.ts";
import type { Loose, Received } from "./http-client.ts";
import { legacyHeaders, modernHeaders, modernMeta, openSession, post } from "./wire-client.ts";
import type { Caller } from "./wire-client.ts";

interface Bench {
  readonly upstream: ScriptedUpstream;
  readonly gateway: GatewayUnderTest;
  readonly modern: Caller;
  readonly legacy: Caller & { readonly session: string };
}

const hidden = "\u{200b}";
const relatedTask = "io.modelcontextprotocol/related-task";
let issuer: IssuerUnderTest;
const benches = new Map<string, Bench>();

async function openBench(era: "legacy" | "modern"): Promise<Bench> {
  const upstream = await startScriptedUpstream({ era });
  upstream.script(reportThrice);
  const gateway = await startGatewayUnderTest({ issuer, upstreams: { up: upstream.url }, servers: { s: { up: "" } } });
  const modern = { gateway, server: "s", token: await issuer.mint(gateway.resource("s"), { sub: "alice" }) };
  return { upstream, gateway, modern, legacy: await openSession(modern) };
}

/** Reports under a foreign token, under its own, backwards, under its own again; answers; and reports once more. */
const reportThrice: Parameters<ScriptedUpstream["script"]>[0] = ({ rpc }, wire) => {
  if (rpc["method"] !== "tools/call") return false;
  const { _meta, arguments: args } = rpc["params"] as { _meta?: Loose; arguments?: Loose };
  const report = (progressToken: unknown, progress: number): void => {
    const params = {
      progressToken,
      progress,
      total: 9,
      message: `${String(args?.["who"])}${hidden} at ${String(progress)}`,
      _meta: { "io.sallyport/refusal": { code: "POLICY_DENIED" }, [relatedTask]: { taskId: "raw" } },
    };
    wire.chunk(event({ jsonrpc: "2.0", method: "notifications/progress", params }));
  };
  wire.eventStream();
  report("of somebody else", 1);
  for (const progress of [1, 1, 0.5, 2]) report(_meta?.["progressToken"], progress);
  if (args?.["who"] === "lost") {
    wire.reset();
    return true;
  }
  wire.chunk(event({ jsonrpc: "2.0", id: rpc["id"], result: { content: [], done: true } }));
  report(_meta?.["progressToken"], 3);
  wire.endChunks();
  return true;
};

beforeAll(async () => {
  issuer = await startIssuer();
  for (const era of ["legacy", "modern"] as const) benches.set(era, await openBench(era));
});

afterAll(async () => {
  for (const { gateway, upstream } of benches.values()) {
    await gateway.remove();
    await upstream.close();
  }
  await issuer.close();
});

function call(caller: Caller, meta: Loose, more: { who?: string; headers?: Loose } = {}): Promise<Received> {
  const isModern = caller.session === undefined;
  const headers = isModern ? modernHeaders(caller, "tools/call", "echo") : legacyHeaders(caller);
  const params = {
    name: "echo",
    arguments: { who: more.who ?? "alice" },
    _meta: { ...(isModern ? modernMeta : {}), ...meta },
  };
  return post(caller, { ...headers, ...more.headers } as typeof headers, {
    jsonrpc: "2.0",
    id: 5,
    method: "tools/call",
    params,
  });
}

function messagesIn({ text }: Received): Loose[] {
  return text.split("\n\n").flatMap((block) => {
    const data = block.split("\n").find((line) => line.startsWith("data:"));
    return data === undefined ? [] : [JSON.parse(data.slice("data:".length)) as Loose];
  });
}

const pairings = ["legacy", "modern"].flatMap((client) =>
  ["legacy", "modern"].map((server) => [client, server] as const),
);

describe.each(pairings)("progress of a call by a %s client to a %s upstream", (client, server) => {
  const bench = (): Bench => benches.get(server)!;
  const caller = (): Caller => bench()[client as "legacy" | "modern"];

  it.each([[0], [7], ["seven"], [""]])(
    "comes under the client's own token %j, only ever increasing, before the answer",
    async (token) => {
      const answer = await call(caller(), { progressToken: token });
      expect(answer.headers["content-type"]).toBe("text/event-stream");
      const [first, second, last, ...rest] = messagesIn(answer);
      const params = { progressToken: token, total: 9 };
      expect(first).toEqual({
        jsonrpc: "2.0",
        method: "notifications/progress",
        params: { ...params, progress: 1, message: "alice at 1" },
      });
      expect(second).toMatchObject({ params: { ...params, progress: 2, message: "alice at 2" } });
      expect(last).toMatchObject({ id: 5, result: { done: true } });
      expect(rest).toEqual([]);
    },
  );

  it("is asked of the upstream under a token that no client chose, and of two clients never under one", async () => {
    const { upstream } = bench();
    const before = upstream.received.length;
    const [one, two] = await Promise.all(["one", "two"].map((who) => call(caller(), { progressToken: 1 }, { who })));
    expect(messagesIn(one!)[0]).toMatchObject({ params: { progressToken: 1, message: "one at 1" } });
    expect(messagesIn(two!)[0]).toMatchObject({ params: { progressToken: 1, message: "two at 1" } });
    const tokens = upstream.received
      .slice(before)
      .map(({ rpc }) => (rpc["params"] as { _meta: Loose })._meta["progressToken"]);
    expect(new Set(tokens).size).toBe(2);
    expect(tokens).not.toContain(1);
  });

  it("that ends without an answer ends in an error, in the same stream, which says that nobody knows", async () => {
    const answer = await call(caller(), { progressToken: 1 }, { who: "lost" });
    const messages = messagesIn(answer);
    expect(messages.at(-1)).toMatchObject({
      id: 5,
      result: {
        isError: true,
        _meta: { "io.sallyport/refusal": { code: "UPSTREAM_CLOSED_EARLY", outcome: "unknown" } },
      },
    });
    expect(messages.slice(0, -1).every(({ method }) => method === "notifications/progress")).toBe(true);
  });

  it.each([
    ["asks for none", {}, {}],
    ["takes no event stream", { progressToken: 1 }, { accept: "application/json" }],
  ])("is not asked for when the client %s, which gets plain JSON", async (_law, meta, headers) => {
    const answer = await call(caller(), meta, { headers });
    expect(answer.headers["content-type"]).toBe("application/json");
    expect(answer.json).toMatchObject({ id: 5, result: { done: true } });
    const { _meta } = bench().upstream.received.at(-1)!.rpc["params"] as { _meta?: Loose };
    expect(_meta?.["progressToken"]).toBeUndefined();
  });
});
