import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { everyFeature } from "./asked-client.ts";
import { form as ordinary, roots, sample } from "./asking-upstream.ts";
import { startGatewayUnderTest, startIssuer, until } from "./gateway-under-test.ts";
import type { GatewayUnderTest, IssuerUnderTest } from "./gateway-under-test.ts";
import type { Loose, Received } from "./http-client.ts";
import { startTaskUpstream } from "./task-upstream.ts";
import type { TaskUpstream } from "./task-upstream.ts";
import { errorCodeIn, modernHeaders, modernMeta, post, refusalIn } from "./wire-client.ts";
import type { Caller } from "./wire-client.ts";

const capabilities = { ...everyFeature, extensions: { "io.modelcontextprotocol/tasks": {} } };
const form = { ...ordinary, params: { ...ordinary.params, allowed: true } };
const filled = { action: "accept", content: { name: "Ada" } };
const said = { role: "assistant", model: "m", content: { type: "text", text: "Paris" } };
const folders = { roots: [{ uri: "file:///x" }] };

let issuer: IssuerUnderTest;
let upstream: TaskUpstream;
let gateway: GatewayUnderTest;
let alice: Caller;

beforeAll(async () => {
  issuer = await startIssuer();
});

const who = { anyone: true };

beforeEach(async () => {
  upstream = await startTaskUpstream("modern");
  gateway = await startGatewayUnderTest({
    issuer,
    upstreams: { up: upstream.url },
    servers: { s: { up: "" } },
    rules: [
      { id: "calls", effect: "allow", who, what: { upstream: "up", tool: "*" } },
      {
        id: "some-forms",
        effect: "allow",
        who,
        what: { upstream: "up", clientFeature: "elicitation" },
        when: "has(args.allowed) && args.allowed == true",
      },
      { id: "folders", effect: "allow", who, what: { upstream: "up", clientFeature: "roots" } },
    ],
  });
  alice = { gateway, server: "s", token: await issuer.mint(gateway.resource("s")) };
});

afterEach(async () => {
  await gateway.remove();
  await upstream.close();
});

afterAll(() => issuer.close());

function ask(method: string, params: Loose): Promise<Received> {
  const _meta = { ...modernMeta, "io.modelcontextprotocol/clientCapabilities": capabilities };
  const message = { jsonrpc: "2.0", id: 7, method, params: { ...params, _meta } };
  return post(alice, modernHeaders(alice, method, String(params["taskId"] ?? params["name"])), message);
}

async function begin(): Promise<string> {
  return String(((await ask("tools/call", { name: "slow", arguments: {} })).json["result"] as Loose)["taskId"]);
}

/** The client looks at its task, which asks this. */
async function shown(taskId: string, inputRequests: Loose): Promise<Received> {
  Object.assign(upstream.last(), { status: "input_required", inputRequests });
  return ask("tasks/get", { taskId });
}

describe("an answer that a client gives a task", () => {
  it.each<[string, Loose]>([
    ["of a feature that policy denies", said],
    ["where a rule reads the request that nobody knows", filled],
    ["that reads as one to several methods, of which policy denies one", { ...folders, ...said }],
  ])("%s is refused, and no upstream sees it", async (_law, answer) => {
    const taskId = await begin();
    const got = await ask("tasks/update", { taskId, inputResponses: { a: folders, b: answer } });
    expect(refusalIn(got).code).toBe("CLIENT_FEATURE_DENIED");
    expect(upstream.count("tasks/update")).toBe(0);
  });

  it("to what it was seen to ask is given on, and leaves the event of an answer", async () => {
    const taskId = await begin();
    await shown(taskId, { who: form, where: roots });
    const inputResponses = { who: filled, where: folders };
    expect(errorCodeIn(await ask("tasks/update", { taskId, inputResponses }))).toBeUndefined();
    expect(upstream.last().answers).toEqual(inputResponses);
    const asked = (): unknown[] =>
      gateway
        .audit()
        .filter(({ type }) => type === "asked")
        .map((event) => [event.method, event.asked?.feature, event.asked?.outcome]);
    await until(() => asked().length === 4);
    expect(asked()).toEqual([
      ["elicitation/create", "elicitation", "offered"],
      ["roots/list", "roots", "offered"],
      ["elicitation/create", "elicitation", "accepted"],
      ["roots/list", "roots", "answered"],
    ]);
  });

  it("is still known for what it was asked after the task was looked at again", async () => {
    const taskId = await begin();
    await shown(taskId, { who: form });
    Object.assign(upstream.last(), { status: "working" });
    await ask("tasks/get", { taskId });
    expect(errorCodeIn(await ask("tasks/update", { taskId, inputResponses: { who: filled } }))).toBeUndefined();
    await shown(taskId, { then: form });
    const late = await ask("tasks/update", { taskId, inputResponses: { who: filled } });
    expect(refusalIn(late).code).toBe("CLIENT_FEATURE_DENIED");
  });

  it("and is of another kind is none to it", async () => {
    const taskId = await begin();
    await shown(taskId, { who: form });
    expect(errorCodeIn(await ask("tasks/update", { taskId, inputResponses: { who: folders } }))).toBe(-32602);
    expect(upstream.count("tasks/update")).toBe(0);
  });

  it("is not known for what policy did not let it ask", async () => {
    const taskId = await begin();
    expect(refusalIn(await shown(taskId, { who: ordinary, what: sample })).code).toBe("CLIENT_FEATURE_DENIED");
    const got = await ask("tasks/update", { taskId, inputResponses: { who: filled } });
    expect(refusalIn(got).code).toBe("CLIENT_FEATURE_DENIED");
  });
});
