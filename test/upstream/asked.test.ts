import { describe, expect, it } from "vitest";
import type { Asked, AskedAnswer } from "../../src/upstream/port.ts";
import { alice, call, closeAfter, roomFor, scripted, summary, until } from "./setup.ts";
import { event } from "./scripted-upstream.ts";
import type { Loose, ReceivedRequest, ScriptedUpstream, Wire } from "./scripted-upstream.ts";

const legacy = { options: { era: "legacy" as const } };
const everything = { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: { listChanged: true } };
const form = { message: "Name?", requestedSchema: { type: "object", properties: {} } };

/** What the gateway posted in answer to requests of the upstream, by id as JSON text. */
function answersAt(upstream: ScriptedUpstream): readonly ReceivedRequest[] {
  return upstream.received.filter(({ rpc }) => rpc["method"] === undefined && rpc["id"] !== undefined);
}

function answerTo(upstream: ScriptedUpstream, id: unknown): Loose | undefined {
  return answersAt(upstream).find(({ rpc }) => rpc["id"] === id)?.rpc;
}

/** During tools/call the upstream sends `messages`, then waits for `ready` and answers. */
function duringCall(
  upstream: ScriptedUpstream,
  messages: readonly (Loose | string)[],
  ready: () => boolean,
): { wires: Wire[]; calls: ReceivedRequest[] } {
  const seen: { wires: Wire[]; calls: ReceivedRequest[] } = { wires: [], calls: [] };
  let over = false;
  closeAfter(() => {
    over = true;
    return Promise.resolve();
  });
  upstream.script((request, wire) => {
    if (request.rpc["method"] !== "tools/call") return false;
    seen.wires.push(wire);
    seen.calls.push(request);
    wire.eventStream();
    for (const message of messages) {
      wire.chunk(typeof message === "string" ? `data: ${message}\n\n` : event({ jsonrpc: "2.0", ...message }));
    }
    void until(() => over || ready()).then(() => {
      if (over) return;
      wire.chunk(event({ jsonrpc: "2.0", id: request.rpc["id"], result: { content: [] } }));
      wire.endChunks();
    });
    return true;
  });
  return seen;
}

describe("a request of a legacy upstream during a call", () => {
  it("goes to whoever answers for the client, and the answer back under its own id, on its session", async () => {
    const upstream = await scripted({ era: "legacy" });
    const { upstreams } = roomFor(upstream.url, legacy);
    const ids = ["a", 0, 7, "9007199254740993"];
    const exact = '{"jsonrpc":"2.0","id":9007199254740993,"method":"roots/list"}';
    duringCall(
      upstream,
      [...ids.map((id) => ({ id, method: "elicitation/create", params: { ...form, n: id } })), exact],
      () => answersAt(upstream).length === 5,
    );
    const asked: Asked[] = [];
    const onAsked = (one: Asked): Promise<AskedAnswer> => {
      asked.push(one);
      if (one.method === "roots/list") return Promise.resolve({ error: { code: -1, message: "no", data: { why: 1 } } });
      return Promise.resolve({ result: { action: "accept", content: { of: one.params["n"] ?? null } } });
    };
    const answered = await upstreams.request(call({ clientCapabilities: everything, onAsked }));
    expect(summary(answered)).toBe("result");
    expect(asked.map(({ method }) => method)).toEqual([...ids.map(() => "elicitation/create"), "roots/list"]);
    for (const id of ids) {
      expect(answerTo(upstream, id)).toEqual({ jsonrpc: "2.0", id, result: { action: "accept", content: { of: id } } });
    }
    const last = answersAt(upstream).find(({ body }) => body.includes("error"));
    expect(last?.body).toBe(
      '{"jsonrpc":"2.0","id":9007199254740993,"error":{"code":-1,"message":"no","data":{"why":1}}}',
    );
    expect(new Set(answersAt(upstream).map((one) => one.header("mcp-session-id")))).toEqual(new Set(["session-1"]));
    expect(asked.map(({ signal }) => signal.aborted)).toEqual(asked.map(() => false));
  });

  it("loses what belongs to the hop and keeps the rest", async () => {
    const upstream = await scripted({ era: "legacy" });
    const { upstreams } = roomFor(upstream.url, legacy);
    const params = { ...form, task: { ttl: 1 }, extra: 1 };
    const _meta = { progressToken: 3, "io.modelcontextprotocol/clientInfo": {}, "io.sallyport/ref": "x", kept: true };
    duringCall(
      upstream,
      [
        { id: 1, method: "elicitation/create", params: { ...params, _meta } },
        { id: 2, method: "elicitation/create", params: { ...params, _meta: { progressToken: 3 } } },
        { id: 3, method: "roots/list" },
      ],
      () => answersAt(upstream).length === 3,
    );
    const given: unknown[] = [];
    const onAsked = (one: Asked): Promise<AskedAnswer> => {
      given.push(one.params);
      return Promise.resolve({ result: {} });
    };
    await upstreams.request(call({ clientCapabilities: everything, onAsked }));
    expect(given).toEqual([{ ...form, extra: 1, _meta: { kept: true } }, { ...form, extra: 1 }, {}]);
  });

  const tools = { tools: [{ name: "t", inputSchema: {} }] };
  const elicit = "elicitation/create";
  const sample = "sampling/createMessage";
  it.each([
    { method: elicit, params: form, declared: { elicitation: {} }, says: "handed on" },
    { method: elicit, params: { mode: "form" }, declared: { elicitation: { form: {} } }, says: "handed on" },
    { method: elicit, params: { mode: "form" }, declared: { elicitation: { url: {} } }, says: -32602 },
    { method: elicit, params: form, declared: { elicitation: { url: {} } }, says: -32602 },
    { method: elicit, params: { mode: "url" }, declared: { elicitation: { url: {} } }, says: "handed on" },
    { method: elicit, params: { mode: "url" }, declared: { elicitation: {} }, says: -32602 },
    { method: elicit, params: { mode: "other" }, declared: { elicitation: { form: {}, url: {} } }, says: -32602 },
    { method: elicit, params: form, declared: { sampling: {}, roots: {} }, says: -32601 },
    { method: sample, params: { messages: [] }, declared: { sampling: {} }, says: "handed on" },
    { method: sample, params: tools, declared: { sampling: { tools: {} } }, says: "handed on" },
    { method: sample, params: tools, declared: { sampling: {} }, says: -32602 },
    { method: sample, params: { toolChoice: { mode: "auto" } }, declared: { sampling: {} }, says: -32602 },
    { method: sample, params: {}, declared: { elicitation: {} }, says: -32601 },
    { method: "roots/list", params: undefined, declared: { roots: {} }, says: "handed on" },
    { method: "roots/list", params: undefined, declared: { sampling: {} }, says: -32601 },
    { method: "tasks/get", params: { taskId: "1" }, declared: everything, says: -32601 },
    { method: "tools/list", params: {}, declared: everything, says: -32601 },
    { method: "__proto__", params: {}, declared: everything, says: -32601 },
  ])("$method $params under $declared: $says", async ({ method, params, declared, says }) => {
    const upstream = await scripted({ era: "legacy" });
    const { upstreams } = roomFor(upstream.url, legacy);
    duringCall(upstream, [{ id: 1, method, params }], () => answersAt(upstream).length === 1);
    let handed = 0;
    const onAsked = (): Promise<AskedAnswer> => {
      handed += 1;
      return Promise.resolve({ result: { handed: true } });
    };
    await upstreams.request(call({ clientCapabilities: declared, onAsked }));
    const answer = answerTo(upstream, 1);
    if (says === "handed on") expect(answer?.["result"]).toEqual({ handed: true });
    else expect(answer?.["error"]).toMatchObject({ code: says });
    expect(handed).toBe(says === "handed on" ? 1 : 0);
  });

  it.each([
    { about: "nobody answers for the client", changes: { clientCapabilities: everything, onAsked: undefined } },
    {
      about: "the account has no client session, whatever it says it can do",
      changes: { clientCapabilities: everything, account: { ...alice, clientSession: undefined } },
    },
    { about: "nothing was said of the client", changes: {} },
  ])("is unsupported when $about, and ping is answered all the same", async ({ changes }) => {
    const upstream = await scripted({ era: "legacy" });
    const { upstreams } = roomFor(upstream.url, legacy);
    duringCall(
      upstream,
      [
        { id: 1, method: elicit, params: form },
        { id: 2, method: "ping" },
      ],
      () => answersAt(upstream).length === 2,
    );
    let handed = 0;
    const onAsked = (): Promise<AskedAnswer> => {
      handed += 1;
      return Promise.resolve({ result: {} });
    };
    await upstreams.request(call({ onAsked, ...changes }));
    expect(answerTo(upstream, 1)?.["error"]).toEqual({ code: -32601, message: "Method not found" });
    expect(answerTo(upstream, 2)?.["result"]).toEqual({});
    expect(handed).toBe(0);
  });

  it("that is answered by a fault of ours is answered -32603, and the fault is logged", async () => {
    const upstream = await scripted({ era: "legacy" });
    const { upstreams, log } = roomFor(upstream.url, legacy);
    duringCall(upstream, [{ id: 1, method: elicit, params: form }], () => answersAt(upstream).length === 1);
    const onAsked = (): Promise<AskedAnswer> => Promise.reject(new RangeError("secret"));
    expect(summary(await upstreams.request(call({ clientCapabilities: everything, onAsked })))).toBe("result");
    expect(answerTo(upstream, 1)?.["error"]).toEqual({ code: -32603, message: "Internal error" });
    expect(log).toContainEqual({
      event: "upstream-request-unanswered",
      facts: { upstream: "up", method: elicit, fault: "RangeError" },
    });
  });
});

describe("a request of a legacy upstream that is still open", () => {
  it("is sent again under the same id: asked once, answered once", async () => {
    const upstream = await scripted({ era: "legacy" });
    const { upstreams } = roomFor(upstream.url, legacy);
    const one = { id: 1, method: elicitMethod, params: form };
    duringCall(upstream, [one, one, { ...one, id: "1" }], () => answersAt(upstream).length === 2);
    let handed = 0;
    const onAsked = async (): Promise<AskedAnswer> => {
      handed += 1;
      await until(() => handed === 2);
      return { result: {} };
    };
    await upstreams.request(call({ clientCapabilities: everything, onAsked }));
    expect(handed).toBe(2);
    expect(new Set(answersAt(upstream).map(({ rpc }) => rpc["id"]))).toEqual(new Set([1, "1"]));
    expect(answersAt(upstream)).toHaveLength(2);
  });

  it.each([
    { about: "its own id", requestId: 5, ends: true },
    { about: "an id of another type", requestId: "5", ends: false },
    { about: "no id", requestId: null, ends: false },
  ])("ends without an answer when the upstream cancels $about: $ends", async ({ requestId, ends }) => {
    const upstream = await scripted({ era: "legacy" });
    const { upstreams } = roomFor(upstream.url, legacy);
    const cancel = { method: "notifications/cancelled", params: { requestId, reason: "late" } };
    let aborted = false;
    let heardPing = false;
    duringCall(
      upstream,
      [{ id: 5, method: elicitMethod, params: form }, cancel, { id: 6, method: "ping" }],
      () => heardPing && (ends ? aborted : answerTo(upstream, 5) !== undefined),
    );
    const onAsked = async ({ signal }: Asked): Promise<AskedAnswer> => {
      await until(() => {
        aborted = signal.aborted;
        heardPing = answerTo(upstream, 6) !== undefined;
        return aborted || heardPing;
      });
      await until(() => answerTo(upstream, 6) !== undefined);
      heardPing = true;
      return { result: { late: true } };
    };
    await upstreams.request(call({ clientCapabilities: everything, onAsked }));
    expect(aborted).toBe(ends);
    await upstreams.request(call({ method: "ping", params: {} }));
    expect(answerTo(upstream, 5)?.["result"]).toEqual(ends ? undefined : { late: true });
  });

  it("when the call is answered is aborted and answered -32603; a late answer goes nowhere", async () => {
    const upstream = await scripted({ era: "legacy" });
    const { upstreams } = roomFor(upstream.url, legacy);
    let asked: Asked | undefined;
    let release: () => void = () => undefined;
    duringCall(upstream, [{ id: 1, method: elicitMethod, params: form }], () => asked !== undefined);
    const onAsked = (one: Asked): Promise<AskedAnswer> => {
      asked = one;
      return new Promise((resolve) => {
        release = () => {
          resolve({ result: { late: true } });
        };
      });
    };
    expect(summary(await upstreams.request(call({ clientCapabilities: everything, onAsked })))).toBe("result");
    expect(asked?.signal.aborted).toBe(true);
    release();
    await until(() => answersAt(upstream).length > 0);
    await upstreams.request(call({ method: "ping", params: {} }));
    expect(answersAt(upstream).map(({ rpc }) => rpc["error"])).toMatchObject([{ code: -32603 }]);
  });

  it.each([
    { end: "the caller is gone", timeoutMs: 10_000, says: "unknown CLIENT_GONE" },
    { end: "the deadline has passed", timeoutMs: 300, says: "unknown UPSTREAM_TIMED_OUT" },
  ])("when $end is aborted and answered -32603, and the call cancelled", async ({ timeoutMs, says }) => {
    const upstream = await scripted({ era: "legacy" });
    const { upstreams } = roomFor(upstream.url, legacy);
    const seen = duringCall(upstream, [{ id: 1, method: elicitMethod, params: form }], () => false);
    const leaving = new AbortController();
    let asked: Asked | undefined;
    const onAsked = (one: Asked): Promise<AskedAnswer> => {
      asked = one;
      if (says.endsWith("GONE")) leaving.abort();
      return new Promise(() => undefined);
    };
    const changes = { clientCapabilities: everything, onAsked, timeoutMs, signal: leaving.signal };
    expect(summary(await upstreams.request(call(changes)))).toBe(says);
    expect(asked?.signal.aborted).toBe(true);
    await until(() => answersAt(upstream).length === 1 && upstream.cancelled.length === 1);
    expect(answerTo(upstream, 1)?.["error"]).toMatchObject({ code: -32603 });
    expect(upstream.cancelled).toEqual([seen.calls[0]?.rpc["id"]]);
  });

  it("lets the upstream be silent for longer than it else may, on every stream of the session", async () => {
    const upstream = await scripted({ era: "legacy" });
    const { upstreams } = roomFor(upstream.url, {
      options: { era: "legacy", timeouts: { idleMs: 60, firstByteMs: 2_000 } },
    });
    let answeredBoth = false;
    upstream.script((request, wire) => {
      if (request.rpc["method"] !== "tools/call") return false;
      wire.eventStream();
      const silent = (request.rpc["params"] as Loose)["name"] === "silent";
      if (!silent) wire.chunk(event({ jsonrpc: "2.0", id: 1, method: elicitMethod, params: form }));
      void until(() => answersAt(upstream).length === 1).then(() => {
        answeredBoth = true;
        wire.chunk(event({ jsonrpc: "2.0", id: request.rpc["id"], result: {} }));
        wire.endChunks();
      });
      return true;
    });
    // The person takes five times as long as silence may last.
    const onAsked = async (): Promise<AskedAnswer> => {
      await new Promise((resolve) => setTimeout(resolve, 300));
      return { result: {} };
    };
    const asking = { clientCapabilities: everything, onAsked };
    const both = [call(asking), call({ ...asking, params: { name: "silent" } })];
    const answers = await Promise.all(both.map((one) => upstreams.request(one)));
    expect(answers.map(summary)).toEqual(["result", "result"]);
    expect(answeredBoth).toBe(true);
  });

  it("bears no more silence once it is answered", async () => {
    const upstream = await scripted({ era: "legacy" });
    const { upstreams } = roomFor(upstream.url, { options: { era: "legacy", timeouts: { idleMs: 40 } } });
    duringCall(upstream, [{ id: 1, method: elicitMethod, params: form }], () => false);
    const onAsked = (): Promise<AskedAnswer> => Promise.resolve({ result: {} });
    const answered = await upstreams.request(call({ clientCapabilities: everything, onAsked }));
    expect(answered).toMatchObject({ refusal: { code: "UPSTREAM_TIMED_OUT", facts: { phase: "idle", ms: 40 } } });
  });
});

const elicitMethod = "elicitation/create";

describe("what a legacy upstream sends after the answer", () => {
  it("reaches nobody: requests, reports and log messages end with it, also within one piece of bytes", async () => {
    const upstream = await scripted({ era: "legacy", capabilities: { tools: {} } });
    const { upstreams } = roomFor(upstream.url, legacy);
    upstream.script((request, wire) => {
      if (request.rpc["method"] !== "tools/call") return false;
      const { id } = request.rpc;
      const before = [{ method: "notifications/progress", params: { progressToken: id, progress: 1 } }];
      const after = [
        { method: "notifications/progress", params: { progressToken: id, progress: 2 } },
        { method: "notifications/message", params: { level: "error", data: "late" } },
        { id: 1, method: elicitMethod, params: form },
      ];
      const all = [...before, { id, result: {} }, ...after].map((one) => event({ jsonrpc: "2.0", ...one }));
      wire.eventStream();
      wire.chunk(all.join(""));
      wire.chunk(all.slice(2).join(""));
      wire.endChunks();
      return true;
    });
    const heard: unknown[] = [];
    const hear = (one: unknown): void => void heard.push(one);
    const onAsked = (one: Asked): Promise<AskedAnswer> => {
      heard.push(one);
      return Promise.resolve({ result: {} });
    };
    const changes = { clientCapabilities: everything, logLevel: "debug" as const, onLog: hear, onProgress: hear };
    await upstreams.request(call({ ...changes, onAsked }));
    await upstreams.request(call({ method: "ping", params: {}, ...changes, onAsked }));
    expect(heard).toEqual([{ progress: 1 }]);
    expect(answersAt(upstream)).toEqual([]);
  });

  it("reaches nobody after the caller has left, even in the same piece of bytes", async () => {
    const upstream = await scripted({ era: "legacy" });
    const { upstreams } = roomFor(upstream.url, legacy);
    const seen = duringCall(upstream, [], () => false);
    const leaving = new AbortController();
    const heard: unknown[] = [];
    const onProgress = (report: unknown): void => {
      heard.push(report);
      leaving.abort();
    };
    const running = upstreams.request(call({ signal: leaving.signal, onProgress }));
    await until(() => seen.calls.length === 1);
    const progressToken = seen.calls[0]?.rpc["id"];
    const reports = [1, 2, 3].map((progress) =>
      event({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken, progress } }),
    );
    seen.wires[0]?.chunk(reports.join(""));
    expect(summary(await running)).toBe("unknown CLIENT_GONE");
    expect(heard).toEqual([{ progress: 1 }]);
  });
});
