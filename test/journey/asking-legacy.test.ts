import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { limits } from "../../src/model/limits.ts";
import { everyFeature, openCall, respond } from "./asked-client.ts";
import { calling, picture, startAskingBench, toldIn, use } from "./asking-bench.ts";
import type { AskingBench } from "./asking-bench.ts";
import { form, page, roots, sample, sampleWithTools } from "./asking-upstream.ts";
import { until } from "./gateway-under-test.ts";
import type { Loose } from "./http-client.ts";
import { legacyHeaders, post } from "./wire-client.ts";

const hidden = "\u{200b}";
let bench: AskingBench;

beforeAll(async () => {
  bench = await startAskingBench();
});

afterAll(async () => {
  await bench.close();
});

describe("what a legacy upstream asks of a legacy client", () => {
  it.each<[string, Loose, Loose, Loose]>([
    ["a form", form, { action: "accept", content: { name: "Octo" } }, { action: "accept", content: { name: "Octo" } }],
    ["a form that is declined", form, { action: "decline" }, { action: "decline" }],
    ["a form that is closed", form, { action: "cancel", content: { name: "Octo" } }, { action: "cancel" }],
    ["a page", page, { action: "accept" }, { action: "accept" }],
    ["a page, with content that nobody asked for", page, { action: "accept", content: { x: 1 } }, { action: "accept" }],
    ["a text of its model", sample, picture, picture],
    [
      "a text of its model, with tools",
      sampleWithTools,
      { ...picture, content: [use] },
      { ...picture, content: [use] },
    ],
    ["its roots", roots, { roots: [{ uri: "file:///x", name: "X" }] }, { roots: [{ uri: "file:///x", name: "X" }] }],
    [
      "a form, with `_meta` of the hop",
      form,
      { action: "decline", _meta: { "io.sallyport/refusal": 1, own: 2 } },
      { action: "decline", _meta: { own: 2 } },
    ],
  ])("reaches it on the call's stream, and the answer the upstream: %s", async (_law, request, given, told) => {
    const client = await bench.session();
    const call = await openCall(client, calling(request));
    const [asked] = await call.asked();
    expect(asked).toEqual({ jsonrpc: "2.0", id: expect.stringMatching(/^[A-Za-z0-9_-]{22}$/) as unknown, ...request });
    const posted = await respond(client, asked?.["id"], { result: given });
    expect([posted.status, posted.text]).toEqual([202, ""]);
    expect(toldIn(await call.answer())).toEqual([{ result: told }]);
  });
});

describe("what is not put before the client is answered all the same", () => {
  const code = (answer: unknown): unknown => ((answer as Loose[])[0]?.["error"] as Loose | undefined)?.["code"];

  it.each<[string, string, Loose, Loose, unknown]>([
    ["a form that policy denies: declined", "carol", everyFeature, form, { action: "decline" }],
    ["a page that policy denies: declined", "carol", everyFeature, page, { action: "decline" }],
    ["sampling that policy denies: as if the user had refused", "carol", everyFeature, sample, -1],
    ["sampling with tools that policy denies", "carol", everyFeature, sampleWithTools, -1],
    ["roots that policy denies", "carol", everyFeature, roots, -1],
    ["a form that nobody may ask for, undeclared", "bob", everyFeature, form, -32601],
    ["roots that nobody may ask for, undeclared", "bob", everyFeature, roots, -32601],
    ["a form of a client that can none", "alice", { roots: {} }, form, -32601],
    ["a page of a client that knows forms alone", "alice", { elicitation: {} }, page, -32602],
    ["a form of a client that knows pages alone", "alice", { elicitation: { url: {} } }, form, -32602],
    ["sampling of a client that can none", "alice", { elicitation: {} }, sample, -32601],
    ["sampling with tools of a client that can without", "alice", { sampling: {} }, sampleWithTools, -32602],
    ["roots of a client that has none", "alice", { sampling: {} }, roots, -32601],
    ["what no client can do", "alice", everyFeature, { method: "tools/list", params: {} }, -32601],
    ["a form without its schema", "alice", everyFeature, { ...form, params: { message: "m" } }, -32602],
    [
      "a page that is no https",
      "alice",
      everyFeature,
      { ...page, params: { ...page.params, url: "http://crm.example/" } },
      -32602,
    ],
    [
      "a form with hidden text in a choice",
      "alice",
      everyFeature,
      formWith({ pick: { type: "string", enum: [`a${hidden}`] } }),
      -32602,
    ],
    ["sampling without messages", "alice", everyFeature, { ...sample, params: { maxTokens: 1 } }, -32602],
  ])("%s", async (_law, sub, capabilities, ...rest) => {
    const [request, told] = rest;
    const call = await openCall(await bench.session(capabilities, sub), calling(request));
    const answer = await call.answer();
    const answers = toldIn(answer);
    if (typeof told === "number") expect(code(answers)).toBe(told);
    else expect(answers).toEqual([{ result: told }]);
    // The answer alone: nothing was put before the client.
    expect(call.stream.messages.filter(({ method }) => method !== undefined)).toEqual([]);
  });

  it("policy that reads the parameters allows what they allow", async () => {
    const client = await bench.session(everyFeature, "carol");
    const call = await openCall(
      client,
      calling({ ...roots, params: {} }, { ...form, params: { ...form.params, allowed: true } }),
    );
    const [asked] = await call.asked();
    expect(asked).toMatchObject({ method: "elicitation/create", params: { allowed: true } });
    await respond(client, asked?.["id"], { result: { action: "decline" } });
    expect(toldIn(await call.answer())).toEqual([
      { error: { code: -1, message: "The request was rejected." } },
      { result: { action: "decline" } },
    ]);
  });

  it("a client that takes no stream and holds none cannot be asked, and the upstream hears so at once", async () => {
    const client = await bench.session();
    const headers = { ...legacyHeaders(client), accept: "application/json" };
    const answer = await post(client, headers, { jsonrpc: "2.0", id: 1, method: "tools/call", params: calling(form) });
    expect(toldIn(answer.json)).toEqual([{ error: { code: -32603, message: "The client cannot be asked now." } }]);
  });

  it("no more wait for one session than its bound", async () => {
    const client = await bench.session();
    const many = Array.from({ length: limits.askedWaitingPerSessionMax + 1 }, () => roots);
    const call = await openCall(client, { name: "echo", arguments: { ask: many, wait: false } });
    const answers = (): Loose[] =>
      bench.asking.upstream.received
        .map(({ rpc }) => rpc)
        .filter(({ error }) => (error as Loose | undefined)?.["message"] === "The client cannot be asked now.");
    const before = answers().length;
    await until(() => answers().length > before || call.stream.ended);
    await call.answer();
    expect((await call.asked(0)).length).toBeLessThanOrEqual(limits.askedWaitingPerSessionMax);
  });
});

function formWith(properties: Loose): Loose {
  return { ...form, params: { ...form.params, requestedSchema: { type: "object", properties } } };
}

describe("what the client answers", () => {
  it.each<[string, Loose, { result: unknown } | { error: unknown }, unknown]>([
    ["content that breaks the form", form, { result: { action: "accept", content: { name: "x" } } }, -32603],
    ["content that lacks a field", form, { result: { action: "accept" } }, -32603],
    ["content with an object in it", form, { result: { action: "accept", content: { name: {} } } }, -32603],
    ["an action that nobody defined", form, { result: { action: "maybe" } }, -32603],
    ["a form's answer to a page", page, { result: { roots: [] } }, -32603],
    ["a use of tools that were not offered", sample, { result: { ...picture, content: [use] } }, -32603],
    ["a message without a model", sample, { result: { role: "assistant", content: picture.content } }, -32603],
    ["roots that are no files", roots, { result: { roots: [{ uri: "https://x.example/" }] } }, -32603],
    ["its own error, which passes", sample, { error: { code: -1, message: "User rejected", data: { x: 1 } } }, -1],
    ["an error about its own hop", sample, { error: { code: -32042, message: "open this" } }, -32603],
  ])("%s", async (_law, request, answer, code) => {
    const client = await bench.session();
    const call = await openCall(client, calling(request));
    const [asked] = await call.asked();
    await respond(client, asked?.["id"], answer);
    const [told] = toldIn(await call.answer()) as Loose[];
    expect(told).toEqual({ error: { code, message: expect.any(String) as unknown } });
  });

  it("settles the request once: a second answer changes nothing", async () => {
    const client = await bench.session();
    const call = await openCall(client, calling(form));
    const [asked] = await call.asked();
    await respond(client, asked?.["id"], { result: { action: "decline" } });
    const second = await respond(client, asked?.["id"], { result: { action: "cancel" } });
    expect([second.status, second.text]).toEqual([202, ""]);
    expect(toldIn(await call.answer())).toEqual([{ result: { action: "decline" } }]);
  });

  it("given in another session reaches nobody, whoever's it is", async () => {
    const client = await bench.session();
    const call = await openCall(client, calling(form));
    const [asked] = await call.asked();
    for (const stranger of [await bench.session(), await bench.session(everyFeature, "bob")]) {
      const posted = await respond(stranger, asked?.["id"], {
        result: { action: "accept", content: { name: "Mallory" } },
      });
      expect([posted.status, posted.text]).toEqual([202, ""]);
    }
    const guess = await respond(client, "AAAAAAAAAAAAAAAAAAAAAA", { result: { action: "cancel" } });
    expect([guess.status, guess.text]).toEqual([202, ""]);
    await respond(client, asked?.["id"], { result: { action: "decline" } });
    expect(toldIn(await call.answer())).toEqual([{ result: { action: "decline" } }]);
  });

  it("of two clients with the same ids each gets its own question, and the upstream each one's answer", async () => {
    const clients = await Promise.all(["alice", "alice"].map((sub) => bench.session(everyFeature, sub)));
    const calls = await Promise.all(clients.map((client) => openCall(client, calling(form))));
    const asked = await Promise.all(calls.map((call) => call.asked()));
    expect(asked[0]?.[0]?.["id"]).not.toBe(asked[1]?.[0]?.["id"]);
    await Promise.all(
      clients.map((client, at) =>
        respond(client, asked[at]?.[0]?.["id"], { result: { action: "accept", content: { name: `client ${at}` } } }),
      ),
    );
    for (const [at, call] of calls.entries())
      expect(toldIn(await call.answer())).toEqual([
        { result: { action: "accept", content: { name: `client ${at}` } } },
      ]);
  });
});
