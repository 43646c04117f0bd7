import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Loose } from "../journey/http-client.ts";
import { hops, startPairings } from "./pairings.ts";
import type { Hop, Pairings } from "./pairings.ts";

const tools: readonly Loose[] = [
  {
    name: "find",
    inputSchema: {
      type: "object",
      properties: {
        q: { type: "string" },
        n: { type: "integer" },
        note: { anyOf: [{ type: "string" }, { type: "null" }] },
      },
      required: ["q"],
      additionalProperties: false,
    },
  },
  {
    name: "count",
    inputSchema: { type: "object" },
    outputSchema: {
      type: "object",
      properties: { rows: { type: "integer" } },
      required: ["rows"],
      additionalProperties: false,
    },
  },
];

let pairings: Pairings;
/** What the tool `count` answers. */
let counted: Loose = {};

beforeAll(async () => {
  pairings = await startPairings((method, params) => {
    if (method === "tools/list") return { tools };
    if (method !== "tools/call") return undefined;
    return params["name"] === "count" ? counted : { content: [] };
  });
});

afterAll(() => pairings.close());

async function calling(hop: Hop, params: Loose): Promise<{ answer: Loose; sent: readonly unknown[] }> {
  const before = pairings.received(hop.server, "tools/call").length;
  const answer = (await pairings.ask(hop, "tools/call", params)).json;
  const sent = pairings.received(hop.server, "tools/call").slice(before);
  return { answer, sent: sent.map(({ rpc }) => (rpc["params"] as Loose)["arguments"]) };
}

describe.each(hops)("arguments of a $client client for a $server server", (hop) => {
  it.each<[string, Loose, RegExp]>([
    ["that are empty", { arguments: {} }, /"q"/],
    ["that are absent", {}, /"q"/],
    ["that are null", { arguments: null }, /"q"/],
    ["of which an optional one is null", { arguments: { q: "a", n: null } }, /\/n must be integer/],
    ["with a key of the client's own", { arguments: { q: "a", toolCallId: "x" } }, /"toolCallId"/],
  ])("%s are an error result that names what does not fit, and nothing is sent", async (_, params, named) => {
    const { answer, sent } = await calling(hop, { name: "find", ...params });
    expect(answer["result"]).toMatchObject({ isError: true });
    expect(JSON.stringify((answer["result"] as Loose)["content"]).replaceAll("\\", "")).toMatch(named);
    expect(sent).toEqual([]);
  });

  it.each<[string, unknown]>([
    ["a text with an array", "[]"],
    ["a text with an object", '{"q":"a"}'],
    ["an array", []],
  ])("that are %s are an error result that says what they must be, and nothing is sent", async (_, given) => {
    const { answer, sent } = await calling(hop, { name: "find", arguments: given });
    expect(answer["result"]).toMatchObject({ isError: true });
    expect(JSON.stringify(answer["result"])).toContain("arguments must be an object");
    expect(sent).toEqual([]);
  });

  it("keep a null where the schema allows it", async () => {
    const given = { q: "a", note: null };
    expect((await calling(hop, { name: "find", arguments: given })).sent).toEqual([given]);
  });
});

describe.each(hops)("a result of a $server server for a $client client, held to the tool's output schema", (hop) => {
  const result = async (answered: Loose): Promise<Loose> => {
    counted = answered;
    return (await calling(hop, { name: "count", arguments: {} })).answer["result"] as Loose;
  };

  it("is delivered where it fits", async () => {
    expect(await result({ content: [], structuredContent: { rows: 3 } })).toMatchObject({
      structuredContent: { rows: 3 },
    });
  });

  it.each<[string, Loose]>([
    ["has a member of the wrong type", { structuredContent: { rows: "canary" } }],
    ["lacks structured content", {}],
    ["lacks a member", { structuredContent: {} }],
    ["has one member more", { structuredContent: { rows: 3, extra: "canary" } }],
    ["is an array", { structuredContent: ["canary"] }],
    ["is null", { structuredContent: null }],
  ])("that %s is an error result without any of it", async (_, answered) => {
    const got = await result({ content: [{ type: "text", text: "canary" }], ...answered });
    expect(got).toMatchObject({ isError: true });
    expect(JSON.stringify(got)).not.toContain("canary");
  });

  it.each<[string, Loose]>([
    ["without structured content", {}],
    ["with structured content", { structuredContent: { failed: true } }],
  ])("that is the tool's own error is the caller's, %s", async (_, answered) => {
    const content = [{ type: "text", text: "no such table" }];
    expect(await result({ content, isError: true, ...answered })).toMatchObject({ content, isError: true });
  });
});
