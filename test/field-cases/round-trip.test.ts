import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Loose } from "../journey/http-client.ts";
import { hops, startPairings } from "./pairings.ts";
import type { Hop, Pairings } from "./pairings.ts";

const icons = [
  { src: "https://example.com/a.png", mimeType: "image/png", sizes: ["48x48", "any"], theme: "dark", "x-tint": 1 },
];
const annotations = { title: "T", readOnlyHint: true, idempotentHint: true, openWorldHint: false, "x-note": ["a"] };
const _meta = { "example.com/owner": { team: "scales", since: 2024 }, ui: { resourceUri: "ui://panel/one" } };
const unknown = { "x-vendor": { nested: ["survives", 0, false, null, { deep: {} }] }, vendorFlag: true };

/** A definition with everything that the revisions know, and more. */
const tool = {
  name: "measure",
  title: "Measure",
  description: "Measures.\nSecond line.",
  inputSchema: {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    properties: { n: { $ref: "#/$defs/count" }, unit: { type: "string", enum: ["kg", "lb"], default: "kg" } },
    $defs: { count: { type: "integer", minimum: 0, "x-unit": "kg" } },
    "x-schema-note": [1, { deep: true }],
  },
  outputSchema: { type: "object", properties: { n: {} }, "x-note": null },
  annotations,
  execution: { taskSupport: "forbidden" },
  icons,
  _meta,
  ...unknown,
};
const other = { name: "free", inputSchema: { type: "object" } };
const prompt = {
  name: "ask",
  title: "Ask",
  arguments: [{ name: "topic", required: true, "x-hint": 1 }],
  icons,
  _meta,
  ...unknown,
};
const uris = [
  "ui://x/y",
  "file:///a%20b",
  "x:%2F%2f",
  "urn:a:b",
  "HTTP://Example.com/Path",
  "scale://manual/",
  "scale://manual",
];
const resources = uris.map((uri) => ({
  uri,
  name: uri,
  title: "R",
  mimeType: "text/html;profile=mcp-app",
  size: 12,
  annotations: { audience: ["user"], priority: 0.5, lastModified: "2026-01-01T00:00:00Z", "x-a": 1 },
  icons,
  _meta: { ui: { csp: { connectDomains: ["https://a.example"] }, permissions: {} } },
  ...unknown,
}));
const template = {
  uriTemplate: "scale://log/{day}",
  name: "log",
  title: "L",
  mimeType: "text/plain",
  icons,
  _meta,
  ...unknown,
};

const lists: Readonly<Record<string, Loose>> = {
  "tools/list": { tools: [tool, other] },
  "prompts/list": { prompts: [prompt] },
  "resources/list": { resources },
  "resources/templates/list": { resourceTemplates: [template] },
};

/** What the servers answer to a call, a read or a prompt. */
let next: Loose = {};
let pairings: Pairings;

beforeAll(async () => {
  pairings = await startPairings((method) => lists[method] ?? (isUse(method) ? next : undefined));
});

afterAll(() => pairings.close());

function isUse(method: string): boolean {
  return ["tools/call", "prompts/get", "resources/read"].includes(method);
}

/** A result without what the client's revision adds to every result. */
function ownOf({ json }: { readonly json: Loose }): Loose {
  const own = without(json["result"] as Loose, ["resultType", "ttlMs", "cacheScope"]);
  const meta = without((own["_meta"] ?? {}) as Loose, ["io.modelcontextprotocol/serverInfo"]);
  return { ...without(own, ["_meta"]), ...(Object.keys(meta).length === 0 ? {} : { _meta: meta }) };
}

function without(value: Loose, keys: readonly string[]): Loose {
  return Object.fromEntries(Object.entries(value).filter(([key]) => !keys.includes(key)));
}

const about = { annotations: { audience: ["assistant"], priority: 1, "x-a": 1 }, _meta: { "example.com/part": 1 } };
const png = "iVBORw0KGgo=";
const content = [
  { type: "text", text: "größer\n\ttab 😀", ...about, "x-unknown": 1 },
  { type: "image", data: png, mimeType: "image/png", ...about },
  { type: "audio", data: png, mimeType: "audio/wav", ...about },
  {
    type: "resource",
    resource: { uri: "scale://log/mon", mimeType: "text/plain", text: "42", _meta: { a: 1 } },
    ...about,
  },
  { type: "resource", resource: { uri: "scale://log/tue", mimeType: "application/octet-stream", blob: png } },
  {
    type: "resource_link",
    uri: "ui://panel/one",
    name: "panel",
    title: "P",
    size: 3,
    mimeType: "text/html",
    icons,
    ...about,
  },
  { type: "hologram", beams: [1, 2], "x-kind": "nobody knows it" },
];

describe.each(hops)("a $client client in front of a $server server", (hop: Hop) => {
  it("gets a maximal tool definition key by key, and everything else of the lists", async () => {
    for (const [method, list] of Object.entries(lists))
      expect(ownOf(await pairings.ask(hop, method)), method).toEqual(list);
  });

  it("gets a maximal result, every kind of content and unknown ones included", async () => {
    next = {
      content,
      structuredContent: { n: 1, "x-more": [null] },
      _meta: { "example.com/trace": "t" },
      "x-vendor": 1,
    };
    expect(ownOf(await pairings.ask(hop, "tools/call", { name: "measure", arguments: { n: 1 } }))).toEqual(next);
    next = { content: [{ type: "text", text: "no" }], isError: true, _meta: { "example.com/trace": "t" } };
    expect(ownOf(await pairings.ask(hop, "tools/call", { name: "measure", arguments: { n: 1 } }))).toEqual(next);
  });

  it.each([[{ a: {} }], [[1, "two"]], ["text"], [7], [true], [null], [[]]])(
    "gets structured content of any JSON type: %j",
    async (structuredContent) => {
      next = { content: [], structuredContent };
      expect(ownOf(await pairings.ask(hop, "tools/call", { name: "free", arguments: {} }))).toEqual(next);
    },
  );

  it("gets a maximal prompt and a maximal resource", async () => {
    next = {
      description: "D",
      messages: [{ role: "assistant", content: content[3], "x-m": 1 }],
      _meta: { a: 1 },
      "x-v": 1,
    };
    expect(ownOf(await pairings.ask(hop, "prompts/get", { name: "ask", arguments: { topic: "t" } }))).toEqual(next);
    next = {
      contents: [{ uri: "scale://log/mon", mimeType: "text/plain", text: "a\r\nb", _meta: { ui: {} } }],
      "x-v": 1,
    };
    expect(ownOf(await pairings.ask(hop, "resources/read", { uri: "scale://log/mon" }))).toEqual(next);
  });

  it.each(uris)("reads %s, which reaches the server byte by byte", async (uri) => {
    next = { contents: [{ uri, text: "t" }] };
    const answer = await pairings.ask(hop, "resources/read", { uri });
    expect((answer.json["result"] as Loose)["contents"]).toEqual(next["contents"]);
    const sent = pairings.received(hop.server, "resources/read").at(-1);
    expect((sent?.rpc["params"] as Loose)["uri"]).toBe(uri);
    expect(sent?.header("mcp-name")).toBe(hop.server === "modern" ? uri : undefined);
  });

  it("is refused a URI that is listed in another spelling only", async () => {
    const before = pairings.received(hop.server, "resources/read").length;
    for (const uri of ["UI://x/y", "file:///a b", "x:%2f%2f", "http://example.com/Path", "scale://manual//"])
      expect((await pairings.ask(hop, "resources/read", { uri })).json["error"], uri).toBeDefined();
    expect(pairings.received(hop.server, "resources/read")).toHaveLength(before);
  });
});
