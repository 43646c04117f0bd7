// One item that a client's parser refuses must not take the whole list of its server with it.
import { ListToolsResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { misshapenMember } from "../../src/catalog/definition-shape.ts";
import { startGatewayUnderTest } from "../journey/gateway-under-test.ts";
import type { GatewayUnderTest } from "../journey/gateway-under-test.ts";
import { legacyCall, openSession } from "../journey/wire-client.ts";
import { startListingUpstream } from "./listing-upstream.ts";
import type { ListingUpstream } from "./listing-upstream.ts";

const inputSchema = { type: "object" };
const misshapen: readonly Record<string, unknown>[] = [
  { title: 5 },
  { description: ["a"] },
  { description: null },
  { _meta: [] },
  { icons: {} },
  { icons: ["x"] },
  { inputSchema: true },
  { inputSchema: undefined },
  { outputSchema: [] },
  { annotations: "x" },
];

let upstream: ListingUpstream;
let gateway: GatewayUnderTest;

beforeAll(async () => {
  const bad = misshapen.map((members, index) => ({ name: `bad_${index}`, inputSchema, ...members }));
  const _meta = { "io.sallyport/refusal": {}, "their.own/key": 1 };
  upstream = await startListingUpstream({ tools: [...bad, { name: "good", title: "Good", inputSchema, _meta }] });
  gateway = await startGatewayUnderTest({ upstreams: { u: upstream.url }, servers: { s: { u: "" } } });
});
afterAll(async () => {
  await gateway.remove();
  await upstream.close();
});

describe("a list with misshapen tools", () => {
  it("is one that a strict client reads, and has the others, without marks that are the gateway's", async () => {
    const { json } = await legacyCall(await openSession({ gateway, server: "s" }), "tools/list");
    const list = ListToolsResultSchema.parse(json["result"]);
    expect(list.tools).toEqual([{ name: "good", title: "Good", inputSchema, _meta: { "their.own/key": 1 } }]);
  });

  it("withholds those, says so to whoever calls one, and never sends it on", async () => {
    const caller = await openSession({ gateway, server: "s" });
    for (const index of misshapen.keys()) {
      const { text } = await legacyCall(caller, "tools/call", { name: `bad_${index}` });
      expect(text).toContain("CATALOG_ITEM_UNSAFE");
    }
    expect(upstream.called).toEqual([]);
  });
});

it.each([
  ["prompt", { arguments: ["x"] }, "arguments"],
  ["prompt", { arguments: [{ name: "x" }] }, undefined],
  ["resource", { mimeType: 1 }, "mimeType"],
  ["template", { annotations: [] }, "annotations"],
  ["resource", { size: "unknown members are nobody's business" }, undefined],
] as const)("a %s %j: %s", (kind, definition, member) => {
  expect(misshapenMember(kind, JSON.parse(JSON.stringify(definition)) as never)).toBe(member);
});
