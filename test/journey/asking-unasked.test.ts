import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { limits } from "../../src/model/limits.ts";
import { everyFeature } from "./asked-client.ts";
import { form, page, roots, sample, startModernAsking } from "./asking-upstream.ts";
import type { AskingUpstream } from "./asking-upstream.ts";
import { startGatewayUnderTest, startIssuer, until } from "./gateway-under-test.ts";
import { freePort } from "../setup/free-port.ts";
import type { GatewayUnderTest, IssuerUnderTest } from "./gateway-under-test.ts";
import type { Loose, Received } from "./http-client.ts";
import { errorCodeIn, modernHeaders, modernMeta, post, refusalIn, type Caller } from "./wire-client.ts";

const upstreams = ["up", "once"];
const calls = { id: "calls", effect: "allow", who: { anyone: true }, what: { upstream: upstreams, tool: "echo" } };
const asks = (id: string, group: string, clientFeature: string, more: Loose = {}): Loose => ({
  id,
  effect: "allow",
  who: { groups: { any: [`corp:${group}`] } },
  what: { upstream: upstreams, clientFeature },
  ...more,
});

/** Of alice all may be asked, of bob nothing, of eve forms alone, of carol what its parameters say, of dora with a scope. */
const rules = [
  calls,
  asks("alice-all", "alice", "*"),
  asks("eve-forms", "eve", "elicitation"),
  asks("carol-in-part", "carol", "*", { when: "has(args.allowed) && args.allowed == true" }),
  asks("dora-with-a-scope", "dora", "*", { stepUp: { scopes: { all: ["ask"] } } }),
];

const sessionKey = "ab".repeat(32);
let issuer: IssuerUnderTest;
let asking: AskingUpstream;
let gateway: GatewayUnderTest;
/** The same deployment once its policy lets nobody be asked for forms. */
let changed: GatewayUnderTest;

beforeAll(async () => {
  issuer = await startIssuer();
  asking = await startModernAsking();
  const options = {
    issuer,
    sessionKey,
    publicPort: await freePort(),
    upstreams: { up: asking.upstream.url, once: { url: asking.upstream.url, requestState: { singleUse: true } } },
    servers: { s: { up: "", once: "once_" } },
  };
  gateway = await startGatewayUnderTest({ ...options, rules });
  const noForms = {
    id: "no-forms",
    effect: "deny",
    who: { anyone: true },
    what: { upstream: upstreams, clientFeature: "elicitation" },
  };
  changed = await startGatewayUnderTest({ ...options, rules: [...rules, noForms] });
});

afterAll(async () => {
  await gateway.remove();
  await changed.remove();
  await asking.close();
  await issuer.close();
});

interface Sent {
  readonly inputResponses?: unknown;
  readonly requestState?: unknown;
  readonly capabilities?: Loose;
  readonly tool?: string;
  readonly at?: GatewayUnderTest;
}

/** Somebody of the group that the name begins with. */
async function call(sub: string, args: Loose, sent: Sent = {}): Promise<Received> {
  const { capabilities = everyFeature, tool = "echo", at = gateway, ...resume } = sent;
  const caller: Caller = {
    gateway: at,
    server: "s",
    token: await issuer.mint(gateway.resource("s"), { sub, groups: [sub.replace(/-.*/, "")] }),
  };
  const _meta = { ...modernMeta, "io.modelcontextprotocol/clientCapabilities": capabilities };
  return post(caller, modernHeaders(caller, "tools/call", tool), {
    jsonrpc: "2.0",
    id: 3,
    method: "tools/call",
    params: { name: tool, arguments: args, ...resume, _meta },
  });
}

const resultIn = ({ json }: Received): Loose => (json["result"] ?? {}) as Loose;
const stateIn = (answer: Received): string => String(resultIn(answer)["requestState"]);
const atUpstream = (): number => asking.upstream.count("tools/call");
const lastSent = (): Loose => asking.upstream.received.at(-1)?.rpc["params"] as Loose;

/** What evidence has of the answers of somebody who made so many calls. */
async function answersOf(sub: string, made: number): Promise<Loose[]> {
  const own = (): ReturnType<GatewayUnderTest["audit"]> =>
    gateway.audit().filter(({ principal }) => principal?.subject === sub);
  await until(() => own().filter(({ outcome }) => outcome !== undefined).length === made);
  return own()
    .filter(({ type, asked }) => type === "asked" && asked?.outcome !== "offered")
    .map(({ asked, method, decision }) => ({ ...asked, method, effect: decision?.effect }));
}

const filled = { action: "accept", content: { name: "Octo" } };
const opened = { action: "accept" };
const declined = { action: "decline" };
const said = { role: "assistant", model: "m", content: { type: "text", text: "Paris" } };
const saidWithTool = { ...said, content: { type: "tool_use", id: "1", name: "look", input: {} } };
const folders = { roots: [{ uri: "file:///x" }] };

describe("an answer that a client brings without a state", () => {
  it.each<[string, Loose, string, string]>([
    ["a form", filled, "elicitation", "elicitation/create"],
    ["a page", opened, "elicitation_url", "elicitation/create"],
    ["a refusal of either", declined, "elicitation", "elicitation/create"],
    ["a text", said, "sampling", "sampling/createMessage"],
    ["a use of a tool", saidWithTool, "sampling_tools", "sampling/createMessage"],
    ["folders", folders, "roots", "roots/list"],
  ])("to %s is refused where policy denies the feature, and no upstream sees it", async (law, answer, ...rest) => {
    const [feature, method] = rest;
    const before = atUpstream();
    const sub = `bob-${law}`;
    const got = await call(sub, {}, { inputResponses: { who: answer } });
    expect(refusalIn(got)).toMatchObject({ code: "CLIENT_FEATURE_DENIED", outcome: "refused" });
    expect(atUpstream()).toBe(before);
    expect(await answersOf(sub, 1)).toEqual([{ feature, outcome: "denied", upstream: "up", method, effect: "deny" }]);
  });

  it("reaches the upstream where policy allows its feature, and leaves the event of an answer", async () => {
    const inputResponses = { a: filled, b: opened, c: declined, d: said, e: saidWithTool, f: folders };
    await call("alice-1", {}, { inputResponses });
    expect(lastSent()["inputResponses"]).toEqual(inputResponses);
    expect(Object.keys(lastSent())).not.toContain("requestState");
    expect((await answersOf("alice-1", 1)).map(({ feature, outcome, effect }) => [feature, outcome, effect])).toEqual([
      ["elicitation", "accepted", "allow"],
      ["elicitation_url", "accepted", "allow"],
      ["elicitation", "declined", "allow"],
      ["sampling", "answered", "allow"],
      ["sampling_tools", "answered", "allow"],
      ["roots", "answered", "allow"],
    ]);
  });

  it.each<[string, string, Loose, string]>([
    ["of a text, where forms alone may be asked for", "eve", said, "CLIENT_FEATURE_DENIED"],
    ["that reads as a form and as folders", "eve", { ...filled, ...folders }, "CLIENT_FEATURE_DENIED"],
    ["that reads as a form and as a text", "eve", { ...filled, ...said }, "CLIENT_FEATURE_DENIED"],
    ["where a rule reads the request that is not known", "carol", filled, "CLIENT_FEATURE_DENIED"],
  ])("%s is refused", async (_law, sub, answer, code) => {
    const before = atUpstream();
    expect(refusalIn(await call(sub, {}, { inputResponses: { a: filled, who: answer } })).code).toBe(code);
    expect(atUpstream()).toBe(before);
  });

  it("of an acceptance alone is a form's where pages may not be asked for", async () => {
    await call("eve", {}, { inputResponses: { who: opened } });
    expect(lastSent()["inputResponses"]).toEqual({ who: { action: "accept", content: {} } });
  });

  it("names the scopes that are missing", async () => {
    const answer = await call("dora", {}, { inputResponses: { who: filled } });
    expect(answer.status).toBe(403);
    expect(answer.headers["www-authenticate"]).toContain('scope="ask"');
  });

  it("of a feature that the client does not declare is a wrong parameter", async () => {
    const before = atUpstream();
    const capabilities = { elicitation: {} };
    const got = await call("alice-2", {}, { inputResponses: { who: said }, capabilities });
    expect(errorCodeIn(got)).toBe(-32602);
    expect(atUpstream()).toBe(before);
    expect(await answersOf("alice-2", 1)).toMatchObject([{ feature: "sampling", outcome: "unsupported" }]);
  });

  it.each<[string, number, number, number | undefined]>([
    ["as many as may be asked at once", limits.askedPerRoundMax, 1, undefined],
    ["one more", limits.askedPerRoundMax + 1, 1, -32602],
    ["under the longest key", 1, limits.askedIdCharsMax, undefined],
    ["under a longer one", 1, limits.askedIdCharsMax + 1, -32602],
  ])("%s", async (_law, count, keyChars, code) => {
    const keys = Array.from({ length: count }, (_, at) => `${at}`.padEnd(keyChars, "k"));
    const inputResponses = Object.fromEntries(keys.map((key) => [key, declined]));
    expect(errorCodeIn(await call("alice", {}, { inputResponses }))).toBe(code);
  });
});

describe("an answer that a client brings with its state", () => {
  const args = { ask: [{ who: form, what: sample }], state: "own" };
  const allowed = { ...form, params: { ...form.params, allowed: true } };

  it("is given on for what was asked, and what was not asked goes no further", async () => {
    const requestState = stateIn(await call("alice-3", args));
    const inputResponses = { who: filled, what: said, more: folders };
    await call("alice-3", args, { requestState, inputResponses });
    expect(lastSent()).toMatchObject({ requestState: "[]|own", inputResponses: { who: filled, what: said } });
    expect(Object.keys(lastSent()["inputResponses"] as Loose)).toEqual(["who", "what"]);
    expect((await answersOf("alice-3", 2)).map(({ feature, outcome }) => [feature, outcome])).toEqual([
      ["elicitation", "accepted"],
      ["sampling", "answered"],
      ["roots", "unasked"],
    ]);
  });

  it.each<[string, Loose]>([
    ["a text for a form", { who: said }],
    ["a use of a tool where none was offered", { what: saidWithTool }],
  ])("%s is none to what was asked", async (law, inputResponses) => {
    const sub = `alice-${law}`;
    const requestState = stateIn(await call(sub, args));
    const before = atUpstream();
    expect(errorCodeIn(await call(sub, args, { requestState, inputResponses }))).toBe(-32602);
    expect(atUpstream()).toBe(before);
    expect(await answersOf(sub, 2)).toMatchObject([{ outcome: "unfit" }]);
  });

  it("is known for a page's by the state, so nothing is added to it", async () => {
    const pages = { ask: [{ who: page, roots }] };
    const requestState = stateIn(await call("alice", pages));
    await call("alice", pages, { requestState, inputResponses: { who: { ...opened, content: { x: 1 } } } });
    expect(lastSent()["inputResponses"]).toEqual({ who: opened });
  });

  it("needs no parameters to be decided again: they were when it was asked", async () => {
    const inPart = { ask: [{ who: allowed }] };
    const requestState = stateIn(await call("carol", inPart));
    const answer = await call("carol", inPart, { requestState, inputResponses: { who: filled } });
    expect(resultIn(answer)).toMatchObject({ resultType: "complete", told: [{ who: filled }] });
  });

  it("is refused once policy denies what was asked", async () => {
    const requestState = stateIn(await call("alice", args));
    const before = atUpstream();
    const answer = await call("alice", args, { requestState, inputResponses: { who: filled }, at: changed });
    expect(refusalIn(answer).code).toBe("CLIENT_FEATURE_DENIED");
    expect(atUpstream()).toBe(before);
    const other = await call("alice", args, { requestState, inputResponses: { what: said }, at: changed });
    expect(refusalIn(other).code).toBe("");
  });

  it("that is refused uses up no state that works once", async () => {
    const tool = "once_echo";
    const requestState = stateIn(await call("alice-4", args, { tool }));
    const wrong = await call("alice-4", args, { tool, requestState, inputResponses: { who: said } });
    expect(errorCodeIn(wrong)).toBe(-32602);
    const inputResponses = { who: filled, what: said };
    expect(resultIn(await call("alice-4", args, { tool, requestState, inputResponses }))["resultType"]).toBe(
      "complete",
    );
    // What is refused for its state brought no answer.
    await call("alice-4", args, { tool, requestState, inputResponses });
    expect((await answersOf("alice-4", 4)).map(({ outcome }) => outcome)).toEqual(["unfit", "accepted", "answered"]);
  });
});
