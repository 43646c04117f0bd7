import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AuditEvent } from "../../src/audit/event.ts";
import { everyFeature, openCall, openSessionWith, respond } from "./asked-client.ts";
import type { AskedCaller } from "./asked-client.ts";
import { form, page, roots, sample, startModernAsking } from "./asking-upstream.ts";
import type { AskingUpstream } from "./asking-upstream.ts";
import { startGatewayUnderTest, startIssuer, until } from "./gateway-under-test.ts";
import type { GatewayUnderTest, IssuerUnderTest } from "./gateway-under-test.ts";
import type { Loose } from "./http-client.ts";
import { legacyCall, legacyHeaders, post, refusalIn } from "./wire-client.ts";

/** Alice's client may be asked everything, bob's nothing. */
const rules = [
  { id: "calls", effect: "allow", who: { anyone: true }, what: { upstream: "up", tool: "echo" } },
  {
    id: "asks",
    effect: "allow",
    who: { groups: { any: ["corp:alice"] } },
    what: { upstream: "up", clientFeature: "*" },
  },
];

let issuer: IssuerUnderTest;
let asking: AskingUpstream;
let gateway: GatewayUnderTest;

beforeAll(async () => {
  issuer = await startIssuer();
  asking = await startModernAsking();
  gateway = await startGatewayUnderTest({
    issuer,
    upstreams: { up: { url: asking.upstream.url, timeouts: { callMs: 4_000 } } },
    servers: { s: { up: "" } },
    rules,
  });
});

afterAll(async () => {
  await gateway.remove();
  await asking.close();
  await issuer.close();
});

async function session(capabilities: Loose = everyFeature, sub = "alice"): Promise<AskedCaller> {
  const token = await issuer.mint(gateway.resource("s"), { sub, groups: [sub] });
  return openSessionWith({ gateway, server: "s", token }, capabilities);
}

const calling = (...ask: Loose[]): Loose => ({ name: "echo", arguments: { ask } });
const toldIn = (answer: Loose): unknown => (answer["result"] as Loose | undefined)?.["told"];
const named = { action: "accept", content: { name: "Octo" } };
const picture = { role: "assistant", model: "m", content: { type: "text", text: "Paris" } };
const answers = new Map<unknown, Loose>([
  ["elicitation/create", named],
  ["sampling/createMessage", picture],
  ["roots/list", { roots: [{ uri: "file:///x" }] }],
]);

describe("what a modern upstream asks of a legacy client", () => {
  it("becomes requests of the client's own era, all of a round at once, and the retry, until the call is done", async () => {
    const client = await session();
    const before = asking.upstream.count("tools/call");
    const call = await openCall(client, calling({ who: form, what: sample }, { where: roots }), "call-1");
    const first = await call.asked(2);
    expect(first.map(({ method, params }) => ({ method, params }))).toEqual([form, sample]);
    // In the other order than they were asked.
    for (const asked of [...first].reverse())
      await respond(client, asked["id"], { result: answers.get(asked["method"]) });
    const [, , third] = await call.asked(3);
    expect(third).toMatchObject({ method: "roots/list" });
    await respond(client, third?.["id"], { result: answers.get("roots/list") });
    const answer = await call.answer();
    expect(answer["id"]).toBe("call-1");
    expect(toldIn(answer)).toEqual([{ who: named, what: picture }, { where: { roots: [{ uri: "file:///x" }] } }]);
    const sent = asking.upstream.received.filter(({ rpc }) => rpc["method"] === "tools/call").slice(before);
    expect(new Set(sent.map(({ rpc }) => rpc["id"])).size).toBe(3);
    expect(JSON.stringify(answer)).not.toContain("resultType");
  });

  it("gets an elicitation id where the client's revision needs one", async () => {
    const client = await session();
    const { mode, message, url } = page.params;
    const params = { mode, message, url };
    const call = await openCall(client, calling({ where: { ...page, params } }));
    const [asked] = await call.asked();
    expect(asked?.["params"]).toEqual({ ...params, elicitationId: expect.stringMatching(/^[\w-]{22}$/) as unknown });
    await respond(client, asked?.["id"], { result: { action: "accept" } });
    expect(toldIn(await call.answer())).toEqual([{ where: { action: "accept" } }]);
  });

  it.each<[string, string, Loose, Loose, string, string, string]>([
    ["the client cannot", "alice", {}, { who: form }, "UPSTREAM_INPUT_REQUIRED", "failed", "unsupported"],
    [
      "the client can only in part",
      "alice",
      { roots: {} },
      { a: roots, b: form },
      "UPSTREAM_INPUT_REQUIRED",
      "failed",
      "unsupported",
    ],
    ["policy denies", "bob", everyFeature, { who: form }, "CLIENT_FEATURE_DENIED", "denied", "denied"],
    [
      "is no form",
      "alice",
      everyFeature,
      { who: { ...form, params: {} } },
      "UPSTREAM_INPUT_REQUIRED",
      "failed",
      "malformed",
    ],
  ])("ends the call in an error at once where %s", async (_law, sub, capabilities, ...rest) => {
    const [requests, code, ending, outcome] = rest;
    const client = await session(capabilities, sub);
    const call = await openCall(client, calling(requests));
    const refusal = refusalIn({ json: await call.answer() });
    expect(refusal.code).toBe(code);
    expect(await call.asked(0)).toEqual([]);
    const events = (): AuditEvent[] => gateway.audit().filter(({ ref }) => ref === refusal.ref);
    await until(() => events().some(({ type }) => type === ending));
    const asked = events().filter(({ type }) => type === "asked");
    expect(asked.map(({ asked: fact }) => fact?.outcome)).toEqual([outcome]);
  });

  it.each<[string, { result: unknown } | { error: unknown }, string]>([
    ["an error", { error: { code: -1, message: "no" } }, "failed"],
    ["what is no answer", { result: { roots: [] } }, "unfit"],
    ["what breaks the form", { result: { action: "accept", content: { name: "x" } } }, "unfit"],
  ])("ends the call in an error where the client answers %s", async (_law, given, why) => {
    const before = gateway.audit().length;
    const client = await session();
    const call = await openCall(client, calling({ who: form }));
    const [asked] = await call.asked();
    await respond(client, asked?.["id"], given);
    expect(refusalIn({ json: await call.answer() }).code).toBe("CLIENT_INPUT_ABSENT");
    await until(() =>
      gateway
        .audit()
        .slice(before)
        .some(({ refusal }) => refusal?.facts["why"] === why),
    );
  });

  it("passes a person's no on: the upstream decides what it means", async () => {
    const client = await session();
    const call = await openCall(client, calling({ who: form }));
    const [asked] = await call.asked();
    await respond(client, asked?.["id"], { result: { action: "decline" } });
    expect(toldIn(await call.answer())).toEqual([{ who: { action: "decline" } }]);
  });

  it("ends within the call's time when nobody answers, and the client hears that it is over", async () => {
    const client = await session();
    const call = await openCall(client, calling({ who: form }));
    const [asked] = await call.asked();
    expect(refusalIn({ json: await call.answer() }).code).toBe("CLIENT_INPUT_ABSENT");
    const cancelled = call.stream.messages.filter(({ method }) => method === "notifications/cancelled");
    expect(cancelled.map(({ params }) => (params as Loose)["requestId"])).toEqual([asked?.["id"]]);
  }, 20_000);

  it("ends with the call that the client cancels", async () => {
    const client = await session();
    const call = await openCall(client, calling({ who: form }), 77);
    await call.asked();
    const cancel = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 77 } };
    const before = asking.upstream.count("tools/call");
    expect((await post(client, legacyHeaders(client), cancel)).status).toBe(202);
    await until(() => call.stream.ended);
    expect(asking.upstream.count("tools/call")).toBe(before);
  });

  it("goes on for as many rounds as there may be, and no further", async () => {
    const client = await session();
    const rounds = (count: number): Loose =>
      calling(...Array.from({ length: count }, (_, at) => ({ [`r${at}`]: roots })));
    const run = async (count: number): Promise<Loose> => {
      const call = await openCall(client, rounds(count));
      for (let round = 1; round <= 10; round += 1) {
        const asked = await call.asked(round);
        await respond(client, asked[round - 1]?.["id"], { result: { roots: [] } });
      }
      return call.answer();
    };
    expect(toldIn(await run(10))).toHaveLength(10);
    expect(refusalIn({ json: await run(11) }).code).toBe("UPSTREAM_INPUT_REQUIRED");
  }, 20_000);

  it("is asked of nobody for a client without a stream, whose call ends in an error", async () => {
    const client = await session();
    const headers = { ...legacyHeaders(client), accept: "application/json" };
    const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params: calling({ who: form }) };
    expect(refusalIn(await post(client, headers, body)).code).toBe("CLIENT_INPUT_ABSENT");
  });

  it("what a client sends to resume by itself is not the gateway's, and goes nowhere", async () => {
    const client = await session();
    const params = { ...calling(), inputResponses: { who: named }, requestState: "[]|x" };
    await legacyCall(client, "tools/call", params);
    const sent = asking.upstream.received.at(-1)?.rpc["params"] as Loose;
    expect(Object.keys(sent)).not.toEqual(expect.arrayContaining(["inputResponses"]));
    expect(Object.keys(sent)).not.toEqual(expect.arrayContaining(["requestState"]));
  });
});

describe("a capability that a modern upstream misses of a legacy client", () => {
  it("is an error that a model can read, in the form of its own era", async () => {
    const answer = await legacyCall(await session({}), "tools/call", {
      name: "echo",
      arguments: { miss: { sampling: {} } },
    });
    expect([answer.status, refusalIn(answer).code]).toEqual([200, "CLIENT_CAPABILITY_MISSING"]);
    expect(answer.json["result"]).toMatchObject({ isError: true });
    expect(answer.text).not.toContain("-32021");
  });
});
