import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AuditEvent } from "../../src/audit/event.ts";
import { everyFeature, openCall, respond } from "./asked-client.ts";
import { calling, picture, startAskingBench, toldIn } from "./asking-bench.ts";
import type { AskingBench } from "./asking-bench.ts";
import { form, sample } from "./asking-upstream.ts";
import { until } from "./gateway-under-test.ts";
import type { Loose } from "./http-client.ts";
import { openStream } from "./stream-client.ts";
import { legacyHeaders, post } from "./wire-client.ts";

const hidden = "\u{200b}";
let bench: AskingBench;

beforeAll(async () => {
  bench = await startAskingBench();
});

afterAll(async () => {
  await bench.close();
});

describe("what the client is shown", () => {
  it("is cleaned: message, labels, prompts and the words of a model; what is compared stays", async () => {
    const client = await bench.session();
    const dirty = `a${hidden}b\u{202e}c`;
    const call = await openCall(
      client,
      calling(
        {
          method: "elicitation/create",
          params: {
            message: dirty,
            requestedSchema: {
              type: "object",
              properties: { name: { type: "string", title: dirty, description: dirty } },
            },
          },
        },
        {
          method: "sampling/createMessage",
          params: {
            ...sample.params,
            systemPrompt: dirty,
            messages: [{ role: "user", content: { type: "text", text: dirty } }],
          },
        },
      ),
    );
    const [first] = await call.asked(1);
    expect(first?.["params"]).toEqual({
      message: "abc",
      requestedSchema: { type: "object", properties: { name: { type: "string", title: "abc", description: "abc" } } },
    });
    await respond(client, first?.["id"], { result: { action: "decline" } });
    const [, second] = await call.asked(2);
    expect(second?.["params"]).toMatchObject({
      systemPrompt: "abc",
      messages: [{ role: "user", content: { type: "text", text: "abc" } }],
    });
    await respond(client, second?.["id"], { error: { code: -1, message: "no" } });
    await call.answer();
  });

  it("has nothing in it that is not the client's business: no context of other servers, no task, no token", async () => {
    const client = await bench.session();
    const params = {
      ...sample.params,
      includeContext: "allServers",
      task: { ttl: 1 },
      _meta: { progressToken: 1, own: 2 },
    };
    const call = await openCall(client, calling({ ...sample, params }));
    const [asked] = await call.asked();
    expect(asked?.["params"]).toEqual({ ...sample.params, _meta: { own: 2 } });
    await respond(client, asked?.["id"], { result: picture });
    await call.answer();
  });
});

describe("what ends a request that nobody answers", () => {
  it("is the end of the call's time: the upstream hears it, or nobody, and the client that it is over", async () => {
    const client = await bench.session();
    const call = await openCall(client, calling(form));
    const [asked] = await call.asked();
    await call.answer();
    const cancelled = call.stream.messages.filter(({ method }) => method === "notifications/cancelled");
    expect(cancelled.map(({ params }) => (params as Loose)["requestId"])).toEqual([asked?.["id"]]);
    const late = await respond(client, asked?.["id"], { result: { action: "decline" } });
    expect([late.status, late.text]).toEqual([202, ""]);
  }, 20_000);

  it("is the upstream, which takes it back: the client hears that, and its answer goes nowhere", async () => {
    const client = await bench.session();
    const call = await openCall(client, calling(form));
    const [asked] = await call.asked();
    bench.asking.takeBack();
    await until(() => call.stream.messages.some(({ method }) => method === "notifications/cancelled"));
    const before = bench.asking.upstream.received.length;
    await respond(client, asked?.["id"], { result: { action: "decline" } });
    expect(bench.asking.upstream.received.slice(before).filter(({ rpc }) => rpc["result"] !== undefined)).toEqual([]);
    call.stream.close();
  });
});

describe("what is declared to the upstream", () => {
  it.each<[string, string, Loose, Loose]>([
    ["everything that client and policy allow", "alice", everyFeature, everyFeature],
    ["a form alone, as its own revision writes it", "alice", { elicitation: {} }, { elicitation: {} }],
    ["nothing that policy surely denies", "bob", everyFeature, {}],
    ["what policy may allow", "carol", { sampling: {}, roots: {} }, { sampling: {}, roots: {} }],
    [
      "nothing that is not carried",
      "alice",
      { tasks: {}, experimental: { x: {} }, sampling: { context: {} } },
      { sampling: {} },
    ],
    ["nothing of a client that can nothing", "alice", {}, {}],
  ])("%s", async (_law, sub, capabilities, declared) => {
    const call = await openCall(await bench.session(capabilities, sub), calling());
    await call.answer();
    expect(bench.asking.declared()).toEqual(declared);
  });
});

describe("the evidence of what was asked", () => {
  it("says who was asked what kind of thing by whom, how it was decided and how it ended, and no word of it", async () => {
    const client = await bench.session(everyFeature, "carol");
    const secret = "nobody writes this down";
    const asks = [
      { ...form.params, message: secret, allowed: true },
      { ...form.params, message: secret },
    ];
    const call = await openCall(client, calling(...asks.map((params) => ({ ...form, params }))));
    const [asked] = await call.asked();
    await respond(client, asked?.["id"], { result: { action: "accept", content: { name: secret } } });
    await call.answer();
    // Nobody else here is carol.
    const events = (): AuditEvent[] => bench.gateway.audit().filter(({ principal }) => principal?.subject === "carol");
    await until(() => events().filter(({ type }) => type === "asked").length === 2);
    const [accepted, denied] = events().filter(({ type }) => type === "asked");
    expect(accepted).toMatchObject({
      method: "elicitation/create",
      asked: { feature: "elicitation", outcome: "accepted", upstream: "up" },
      principal: { subject: "carol" },
      item: { name: "echo" },
      decision: { effect: "allow", rule: "asks-in-part" },
    });
    expect(denied).toMatchObject({
      asked: { feature: "elicitation", outcome: "denied" },
      decision: { effect: "deny", reason: "condition-false" },
    });
    expect(
      events()
        .filter(({ type }) => type === "attempted")
        .map(({ ref }) => ref),
    ).toContain(accepted?.ref);
    expect(bench.gateway.auditText()).not.toContain(secret);
  });
});

describe("a call whose client takes no stream of its own", () => {
  it("asks on the session's GET stream, where there is one", async () => {
    const client = await bench.session();
    const listening = await openStream({
      port: bench.gateway.port,
      path: "/s/mcp",
      headers: { ...legacyHeaders(client), accept: "text/event-stream" },
    });
    const headers = { ...legacyHeaders(client), accept: "application/json" };
    const answer = post(client, headers, { jsonrpc: "2.0", id: 1, method: "tools/call", params: calling(form) });
    const [asked] = await listening.received(1);
    expect(asked).toMatchObject({ method: form.method, params: form.params });
    await respond(client, asked?.["id"], { result: { action: "decline" } });
    expect(toldIn((await answer).json)).toEqual([{ result: { action: "decline" } }]);
    listening.close();
  });
});
