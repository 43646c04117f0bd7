import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { limits } from "../../src/model/limits.ts";
import { everyFeature } from "./asked-client.ts";
import { form, page, roots, sample, sampleWithTools, startModernAsking } from "./asking-upstream.ts";
import type { AskingUpstream } from "./asking-upstream.ts";
import { startGatewayUnderTest, startIssuer, until } from "./gateway-under-test.ts";
import type { GatewayUnderTest, IssuerUnderTest } from "./gateway-under-test.ts";
import type { Loose, Received } from "./http-client.ts";
import { errorCodeIn, modernHeaders, modernMeta, post, refusalIn, type Caller } from "./wire-client.ts";

const hidden = "\u{200b}";

/** Alice's client may be asked everything, bob's nothing, carol's what its parameters say may be asked. */
const rules = [
  { id: "calls", effect: "allow", who: { anyone: true }, what: { upstream: ["up", "once"], tool: "echo" } },
  { id: "asks", effect: "allow", who: groups("alice"), what: { upstream: ["up", "once"], clientFeature: "*" } },
  {
    id: "asks-in-part",
    effect: "allow",
    who: groups("carol"),
    what: { upstream: ["up", "once"], clientFeature: "*" },
    when: "has(args.allowed) && args.allowed == true",
  },
];

function groups(name: string): Loose {
  return { groups: { any: [`corp:${name}`] } };
}

let issuer: IssuerUnderTest;
let asking: AskingUpstream;
let gateway: GatewayUnderTest;

beforeAll(async () => {
  issuer = await startIssuer();
  asking = await startModernAsking();
  gateway = await startGatewayUnderTest({
    issuer,
    upstreams: { up: asking.upstream.url, once: { url: asking.upstream.url, requestState: { singleUse: true } } },
    servers: { s: { up: "", once: "once_" }, t: { up: "" } },
    rules,
  });
});

afterAll(async () => {
  await gateway.remove();
  await asking.close();
  await issuer.close();
});

async function caller(sub = "alice", server = "s"): Promise<Caller> {
  return { gateway, server, token: await issuer.mint(gateway.resource(server), { sub, groups: [sub] }) };
}

interface Resumed {
  readonly inputResponses?: unknown;
  readonly requestState?: unknown;
}

function call(
  from: Caller,
  args: Loose,
  more: { capabilities?: Loose; tool?: string; resume?: Resumed } = {},
): Promise<Received> {
  const { capabilities = everyFeature, tool = "echo", resume = {} } = more;
  const _meta = { ...modernMeta, "io.modelcontextprotocol/clientCapabilities": capabilities };
  return post(from, modernHeaders(from, "tools/call", tool), {
    jsonrpc: "2.0",
    id: 3,
    method: "tools/call",
    params: { name: tool, arguments: args, ...resume, _meta },
  });
}

const resultIn = ({ json }: Received): Loose => (json["result"] ?? {}) as Loose;
const stateIn = (answer: Received): string => String(resultIn(answer)["requestState"]);
const named = { action: "accept", content: { name: "Octo" } };
const picture = { role: "assistant", model: "m", content: { type: "text", text: "Paris" } };
const atUpstream = (): number => asking.upstream.count("tools/call");

describe("what a modern upstream asks of a modern client", () => {
  it("comes as the call's result, and the retry with the answers brings the upstream its own state, byte for byte", async () => {
    const alice = await caller();
    const state = `ünïcode \u{1f600} ${"x".repeat(4_096)} "\\ \n end`;
    const args = { ask: [{ who: form, what: sample }, { where: roots }], state };
    const first = await call(alice, args);
    expect(first.status).toBe(200);
    expect(resultIn(first)).toMatchObject({ resultType: "input_required", inputRequests: { who: form, what: sample } });
    expect(Object.keys(resultIn(first))).not.toContain("ttlMs");
    expect(first.text).not.toContain("xxxx");
    const second = await call(alice, args, {
      resume: { requestState: stateIn(first), inputResponses: { who: named, what: picture } },
    });
    const sent = asking.upstream.received.at(-1)?.rpc["params"] as Loose;
    expect(sent["requestState"]).toBe(`[]|${state}`);
    expect(resultIn(second)).toMatchObject({ resultType: "input_required", inputRequests: { where: roots } });
    const given = { roots: [{ uri: "file:///x" }] };
    const third = await call(alice, args, {
      resume: { requestState: stateIn(second), inputResponses: { where: given } },
    });
    expect(resultIn(third)).toMatchObject({
      resultType: "complete",
      told: [{ who: named, what: picture }, { where: given }],
    });
  });

  it("may have no state, and then the client gets one of the gateway's own that no upstream sees", async () => {
    const alice = await caller();
    const args = { ask: [{ who: form }], stateless: true };
    const first = await call(alice, args);
    expect(resultIn(first)).toMatchObject({ inputRequests: { who: form } });
    const inputResponses = { who: named, unasked: named };
    const second = await call(alice, args, { resume: { requestState: stateIn(first), inputResponses } });
    expect(resultIn(second)).toMatchObject({ told: [{ who: named }] });
    expect(Object.keys(asking.upstream.received.at(-1)?.rpc["params"] as Loose)).not.toContain("requestState");
    const third = await call(alice, args, { resume: { inputResponses } });
    expect(resultIn(third)).toMatchObject({ told: [inputResponses] });
  });

  it.each(['"', "\u0001", "\u{1f600}"])(
    "is given back whole where it is as long as it may be, of %j",
    async (character) => {
      const alice = await caller();
      const room = limits.requestStateBytesMax - Buffer.byteLength(JSON.stringify("[]|"));
      const state = character.repeat(Math.floor(room / (Buffer.byteLength(JSON.stringify(character)) - 2)));
      const keys = Array.from({ length: limits.askedPerRoundMax }, (_, at) =>
        `${at}`.padEnd(limits.askedIdCharsMax, "\u0001"),
      );
      const args = { ask: [Object.fromEntries(keys.map((key) => [key, roots]))], state };
      const first = await call(alice, args);
      const inputResponses = { [keys[0]!]: { roots: [] } };
      await call(alice, args, { resume: { requestState: stateIn(first), inputResponses } });
      const sent = asking.upstream.received.at(-1)?.rpc["params"] as Loose;
      expect(sent["requestState"] === `[]|${state}`).toBe(true);
      expect(sent["inputResponses"]).toEqual(inputResponses);
    },
  );

  it("is cleaned, and freed of what is not the client's business", async () => {
    const dirty = `a${hidden}b`;
    const request = { method: form.method, params: { ...form.params, message: dirty, task: { ttl: 1 } } };
    const answer = await call(await caller(), { ask: [{ who: request }] });
    expect(resultIn(answer)["inputRequests"]).toEqual({
      who: { method: form.method, params: { ...form.params, message: "ab" } },
    });
  });

  it.each<[string, string, Loose, Loose, string]>([
    ["policy denies", "carol", everyFeature, { who: form }, "CLIENT_FEATURE_DENIED"],
    [
      "policy denies one of",
      "carol",
      everyFeature,
      { a: { ...form, params: { ...form.params, allowed: true } }, b: roots },
      "CLIENT_FEATURE_DENIED",
    ],
    ["nobody may ask for", "bob", everyFeature, { who: form }, "CLIENT_FEATURE_DENIED"],
    ["the client did not declare", "alice", { sampling: {} }, { who: form }, "UPSTREAM_INPUT_REQUIRED"],
    [
      "the client declared without tools",
      "alice",
      { sampling: {} },
      { who: sampleWithTools },
      "UPSTREAM_INPUT_REQUIRED",
    ],
    ["the client declared for forms alone", "alice", { elicitation: {} }, { who: page }, "UPSTREAM_INPUT_REQUIRED"],
    ["is no form", "alice", everyFeature, { who: { ...form, params: { message: "m" } } }, "UPSTREAM_INPUT_REQUIRED"],
    [
      "no client can do",
      "alice",
      everyFeature,
      { who: { method: "tools/list", params: {} } },
      "UPSTREAM_INPUT_REQUIRED",
    ],
    ["is no request", "alice", everyFeature, { who: 7 }, "UPSTREAM_ANSWER_INVALID"],
  ])("refuses the call where it %s", async (_law, sub, capabilities, ...rest) => {
    const [requests, code] = rest;
    const answer = await call(await caller(sub), { ask: [requests] }, { capabilities });
    expect(answer.status).toBe(200);
    expect(refusalIn(answer).code).toBe(code);
    expect(resultIn(answer)).toMatchObject({ isError: true, resultType: "complete" });
    expect(answer.text).not.toContain("inputRequests");
  });

  it("is declared to the upstream with the request: what the client and policy allow", async () => {
    await call(await caller(), {}, { capabilities: { ...everyFeature, experimental: { x: {} } } });
    expect(asking.declared()).toEqual(everyFeature);
    await call(await caller("bob"), {});
    expect(asking.declared()).toEqual({});
    await call(await caller(), {}, { capabilities: { elicitation: {} } });
    expect(asking.declared()).toEqual({ elicitation: {} });
  });

  it("leaves an event for each request: offered, denied", async () => {
    const before = gateway.audit().length;
    await call(await caller(), { ask: [{ a: form, b: roots }] });
    await call(await caller("carol"), { ask: [{ a: sample }] });
    const asked = (): Loose[] =>
      gateway
        .audit()
        .slice(before)
        .filter(({ type }) => type === "asked")
        .map(({ asked: fact }) => ({ ...fact }));
    await until(() => asked().length === 3);
    expect(asked()).toEqual([
      { feature: "elicitation", outcome: "offered", upstream: "up" },
      { feature: "roots", outcome: "offered", upstream: "up" },
      { feature: "sampling", outcome: "denied", upstream: "up" },
    ]);
  });
});

describe("a request state", () => {
  const args = { ask: [{ who: form }], state: "secret of the upstream" };
  const resume = (state: string): { resume: Resumed } => ({
    resume: { requestState: state, inputResponses: { who: named } },
  });

  it.each<[string, (state: string) => Promise<Received>]>([
    ["altered at its end", async (state) => call(await caller(), args, resume(`${state}-TAMPERED`))],
    ["altered within", async (state) => call(await caller(), args, resume(altered(state)))],
    ["made up", async () => call(await caller(), args, resume("v1.a.b.c"))],
    ["the upstream's own, unsealed", async () => call(await caller(), args, resume("[]|secret of the upstream"))],
    ["of another principal", async (state) => call(await caller("dave"), args, resume(state))],
    ["for other arguments", async (state) => call(await caller(), { ...args, more: 1 }, resume(state))],
    ["for another tool", async (state) => call(await caller(), args, { ...resume(state), tool: "once_echo" })],
    ["for another server", async (state) => call(await caller("alice", "t"), args, resume(state))],
  ])("that is %s is refused in band, and no upstream sees it", async (_law, retry) => {
    const first = await call(await caller(), args);
    const before = atUpstream();
    const answer = await retry(stateIn(first));
    expect([answer.status, errorCodeIn(answer), refusalIn(answer).code]).toEqual([
      200,
      -32602,
      "REQUEST_STATE_INVALID",
    ]);
    expect(atUpstream()).toBe(before);
  });

  it("resumes as often as it is sent, unless the operator says once", async () => {
    const first = await call(await caller(), args);
    const twice = [
      await call(await caller(), args, resume(stateIn(first))),
      await call(await caller(), args, resume(stateIn(first))),
    ];
    expect(twice.map((answer) => resultIn(answer)["resultType"])).toEqual(["complete", "complete"]);
    const tool = "once_echo";
    const once = await call(await caller(), args, { tool });
    const both = await Promise.all(
      [1, 2].map(async () => call(await caller(), args, { ...resume(stateIn(once)), tool })),
    );
    expect(both.map((answer) => refusalIn(answer).code).sort()).toEqual(["", "REQUEST_STATE_INVALID"]);
  });

  it("does not carry a call past policy: the retry is judged like any other, and a refused one uses up nothing", async () => {
    const tool = "once_echo";
    const once = await call(await caller(), args, { tool });
    const stripped = {
      gateway,
      server: "s",
      token: await issuer.mint(gateway.resource("s"), { sub: "alice", exp: 1 }),
    };
    expect((await call(stripped, args, { ...resume(stateIn(once)), tool })).status).toBe(401);
    expect(resultIn(await call(await caller(), args, { ...resume(stateIn(once)), tool }))["resultType"]).toBe(
      "complete",
    );
  });

  it.each<[string, Resumed]>([
    ["responses that are no object", { inputResponses: null }],
    ["a response that is none", { inputResponses: { who: 12345 } }],
    ["a response of no known kind", { inputResponses: { who: { hello: 1 } } }],
    ["a state that is no text", { requestState: 7 }],
  ])("and what comes with it: %s is a wrong parameter", async (_law, resumed) => {
    const before = atUpstream();
    const answer = await call(await caller(), args, { resume: resumed });
    expect([answer.status, errorCodeIn(answer)]).toEqual([200, -32602]);
    expect(atUpstream()).toBe(before);
  });
});

function altered(state: string): string {
  const at = state.length - 30;
  return `${state.slice(0, at)}${state[at] === "A" ? "B" : "A"}${state.slice(at + 1)}`;
}

describe("a capability that the upstream misses", () => {
  const required = { sampling: {}, extensions: { "io.example/x": {} } };

  it("is told to a modern client as its revision says", async () => {
    const answer = await call(await caller(), { miss: required }, { capabilities: {} });
    expect([answer.status, errorCodeIn(answer)]).toEqual([400, -32021]);
    expect((answer.json["error"] as Loose)["data"]).toMatchObject({ requiredCapabilities: required });
    expect(answer.json["id"]).toBe(3);
  });

  it("and the client declared, while policy keeps it from the upstream, is policy's doing", async () => {
    const answer = await call(await caller("bob"), { miss: { sampling: {} } });
    expect([answer.status, refusalIn(answer).code]).toEqual([200, "CLIENT_FEATURE_DENIED"]);
  });
});
