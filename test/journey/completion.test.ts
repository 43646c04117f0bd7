import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startScriptedUpstream } from "../upstream/scripted-upstream.ts";
import type { ScriptedUpstream } from "../upstream/scripted-upstream.ts";
import { startGatewayUnderTest } from "./gateway-under-test.ts";
import type { GatewayUnderTest } from "./gateway-under-test.ts";
import type { Loose, Received } from "./http-client.ts";
import { errorCodeIn, legacyCall, modernCall, openSession, refusalIn } from "./wire-client.ts";
import type { Caller } from "./wire-client.ts";

const lists: Readonly<Record<string, Loose>> = {
  "prompts/list": { prompts: [{ name: "greet" }, { name: "secret" }, { name: "careful" }] },
  "resources/list": { resources: [] },
  "resources/templates/list": { resourceTemplates: [{ name: "ticket", uriTemplate: "ticket://{id}" }] },
};

let upstream: ScriptedUpstream;
let gateway: GatewayUnderTest;
let answer: Loose;
const callers: Partial<Record<"legacy" | "modern", Caller>> = {};

beforeAll(async () => {
  upstream = await startScriptedUpstream({ capabilities: { prompts: {}, resources: {}, completions: {} } });
  upstream.script(({ rpc }, wire) => {
    const method = String(rpc["method"]);
    const result = method === "completion/complete" ? answer : lists[method];
    if (result === undefined) return false;
    wire.json(200, { jsonrpc: "2.0", id: rpc["id"], result: { resultType: "complete", ...result } });
    return true;
  });
  gateway = await startGatewayUnderTest({
    upstreams: { up: upstream.url },
    servers: {},
    config: { servers: { s: { upstreams: { up: { prefix: "up_", uriPrefix: "up+" } } } } },
    rules: [
      { id: "most", effect: "allow", who: { anyone: true }, what: { upstream: "up", prompt: "greet" } },
      { id: "templates", effect: "allow", who: { anyone: true }, what: { upstream: "up", template: "ticket://{id}" } },
      {
        id: "careful",
        effect: "allow",
        who: { anyone: true },
        what: { upstream: "up", prompt: "careful" },
        when: 'has(args.tone) && args.tone != "rude"',
      },
    ],
  });
  callers.modern = { gateway, server: "s" };
  callers.legacy = await openSession(callers.modern);
});

beforeEach(() => {
  answer = { completion: { values: ["kind", "k\u{200b}ing"], total: 2, hasMore: false } };
});

afterAll(async () => {
  await gateway.remove();
  await upstream.close();
});

const asked = (): Loose[] =>
  upstream.received
    .filter(({ rpc }) => rpc["method"] === "completion/complete")
    .map(({ rpc }) => rpc["params"] as Loose);

const prompt = (name: string): Loose => ({ type: "ref/prompt", name });
const template = (uri: string): Loose => ({ type: "ref/resource", uri });
const argument = { name: "tone", value: "k" };

describe.each(["legacy", "modern"] as const)("completion for a %s client", (era) => {
  const complete = (params: Loose): Promise<Received> =>
    (era === "legacy" ? legacyCall : modernCall)(callers[era]!, "completion/complete", params);

  it.each([
    ["a prompt", prompt("up_greet"), prompt("greet")],
    ["a template", template("up+ticket://{id}"), template("ticket://{id}")],
  ])("of %s asks the upstream under its own name, and delivers its values cleaned", async (_what, ref, own) => {
    const context = { arguments: { who: "Ada" } };
    const said = await complete({ ref, argument, context });
    expect(said.json["result"]).toMatchObject({ completion: { values: ["kind", "king"], total: 2, hasMore: false } });
    expect(asked().at(-1)).toMatchObject({ ref: own, argument, context });
    expect(upstream.received.at(-1)!.header("mcp-name")).toBeUndefined();
  });

  it("of a hidden prompt is answered like that of an unknown one, and the upstream sees nothing", async () => {
    const before = asked().length;
    const answers = await Promise.all(
      ["up_secret", "up_absent"].map((name) => complete({ ref: prompt(name), argument })),
    );
    const [hidden, unknown] = answers.map(({ status, text, json }, at) =>
      JSON.stringify([
        status,
        text.replaceAll(["up_secret", "up_absent"][at]!, "NAME").replaceAll(refusalIn({ json }).ref, "REF"),
      ]),
    );
    expect(hidden).toBe(unknown);
    expect(errorCodeIn(answers[0]!)).toBe(-32602);
    expect(asked()).toHaveLength(before);
  });

  it("is decided with the arguments known so far", async () => {
    const before = asked().length;
    const refused = await complete({ ref: prompt("up_careful"), argument: { name: "tone", value: "rude" } });
    expect(refusalIn(refused).code).toBe("POLICY_DENIED");
    expect(asked()).toHaveLength(before);
    expect((await complete({ ref: prompt("up_careful"), argument })).json["result"]).toBeDefined();
  });

  it.each([
    ["without a reference", { argument }],
    ["of another kind of reference", { ref: { type: "ref/tool", name: "up_greet" }, argument }],
    ["without an argument", { ref: prompt("up_greet") }],
    ["of a value that is no text", { ref: prompt("up_greet"), argument: { name: "tone", value: 1 } }],
    [
      "that the context has another value of",
      { ref: prompt("up_greet"), argument, context: { arguments: { [argument.name]: "another" } } },
    ],
    ["in a context that is no text", { ref: prompt("up_greet"), argument, context: { arguments: { a: 1 } } }],
  ])("%s is refused as RPC_PARAMS_INVALID", async (_what, params) => {
    expect(refusalIn(await complete(params)).code).toBe("RPC_PARAMS_INVALID");
  });

  it.each([[{}], [{ completion: {} }], [{ completion: { values: [1] } }]])(
    "that the upstream answers with %j is an error, not an empty success",
    async (result) => {
      answer = result;
      const said = await complete({ ref: prompt("up_greet"), argument });
      expect([said.json["result"], refusalIn(said).code]).toEqual([undefined, "UPSTREAM_ANSWER_INVALID"]);
    },
  );
});

describe("completion is declared", () => {
  it("because an upstream of which something is seen declares it", async () => {
    const said = await modernCall(callers.modern!, "server/discover");
    expect(said.json["result"]).toMatchObject({ capabilities: { completions: {}, prompts: {}, resources: {} } });
  });
});
