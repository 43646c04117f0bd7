import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Loose } from "../journey/http-client.ts";
import { until } from "../journey/gateway-under-test.ts";
import { openStream } from "../journey/stream-client.ts";
import type { OpenStream } from "../journey/stream-client.ts";
import { legacyHeaders, modernHeaders, modernMeta, openSession, post } from "../journey/wire-client.ts";
import type { Caller } from "../journey/wire-client.ts";
import type { Wire } from "../upstream/scripted-upstream.ts";
import { hops, startPairings } from "./pairings.ts";
import type { Hop, Pairings } from "./pairings.ts";

let pairings: Pairings;
/** How the servers answer the next use of an item. */
let reply: ((wire: Wire, id: unknown) => void) | undefined;

const uses: Readonly<Record<string, Loose>> = {
  "tools/call": { name: "echo", arguments: {} },
  "prompts/get": { name: "ask" },
  "resources/read": { uri: "x://a" },
};

const lists: Readonly<Record<string, Loose>> = {
  "tools/list": { tools: [{ name: "echo", inputSchema: { type: "object" } }] },
  "prompts/list": { prompts: [{ name: "ask" }] },
  "resources/list": { resources: [{ uri: "x://a", name: "a" }] },
};

beforeAll(async () => {
  pairings = await startPairings((method) => lists[method], {
    // So many failures in a row would open the breaker, whose answer is another one.
    upstream: { breaker: { failures: 0 } },
    onRequest: ({ rpc }, wire) => {
      if (uses[String(rpc["method"])] === undefined || reply === undefined) return false;
      reply(wire, rpc["id"]);
      return true;
    },
  });
});

afterAll(() => pairings.close());

const text = "<h1>stack trace</h1>";

const replies: readonly (readonly [what: string, reply: (wire: Wire, id: unknown) => void])[] = [
  [
    "500 and a page",
    (wire) => {
      wire.respond(500, "text/html", text);
    },
  ],
  [
    "502 and nothing",
    (wire) => {
      wire.respond(502, undefined, "");
    },
  ],
  [
    "200 and a page",
    (wire) => {
      wire.respond(200, "text/html", text);
    },
  ],
  [
    "200 and plain text",
    (wire) => {
      wire.respond(200, "text/plain", text);
    },
  ],
  [
    "200 and an array",
    (wire) => {
      wire.json(200, []);
    },
  ],
  [
    "200 and an error of its own making",
    (wire) => {
      wire.json(200, { error: text });
    },
  ],
  [
    "200 and null",
    (wire) => {
      wire.json(200, null);
    },
  ],
  [
    "204",
    (wire) => {
      wire.write("HTTP/1.1 204 No Content\r\n\r\n");
    },
  ],
  [
    "301",
    (wire) => {
      wire.respond(301, undefined, "", ["Location: https://elsewhere.test/"]);
    },
  ],
  [
    "401",
    (wire) => {
      wire.respond(401, "text/html", text, ['WWW-Authenticate: Bearer realm="up"']);
    },
  ],
  [
    "403",
    (wire) => {
      wire.respond(403, "text/html", text);
    },
  ],
  [
    "429 and when to try again",
    (wire) => {
      wire.respond(429, "text/plain", text, ["Retry-After: 5"]);
    },
  ],
  [
    "an error under 500",
    (wire, id) => {
      wire.json(500, { jsonrpc: "2.0", id, error: { code: -32000, message: "it broke" } });
    },
  ],
  [
    "an error under 404",
    (wire, id) => {
      wire.json(404, { jsonrpc: "2.0", id, error: { code: -32603, message: "it broke" } });
    },
  ],
  [
    "an error that is no tool's",
    (wire, id) => {
      wire.json(200, { jsonrpc: "2.0", id, error: { code: -32001, message: "it broke" } });
    },
  ],
];

describe.each(hops)("to a $client client, of a $server server", (hop: Hop) => {
  it.each(replies)("%s is a JSON-RPC answer to its own request, and the session goes on", async (_what, next) => {
    for (const [method, params] of Object.entries(uses)) {
      reply = next;
      for (const id of [0, "seven"]) {
        const answer = await pairings.ask(hop, method, params, id);
        expect([answer.status, answer.headers["content-type"]], method).toEqual([200, "application/json"]);
        expect(answer.json).toMatchObject({ jsonrpc: "2.0", id });
        const result = answer.json["result"] as Loose | undefined;
        expect(result?.["isError"] ?? answer.json["error"], `${method} ${answer.text}`).toBeTruthy();
        expect(answer.text).not.toContain(text);
        expect(answer.headers["www-authenticate"] ?? answer.headers.location).toBeUndefined();
      }
      reply = undefined;
    }
    expect((await pairings.ask(hop, "tools/call", uses["tools/call"])).json["result"]).not.toHaveProperty("isError");
  });
});

describe("a last event id", () => {
  it.each(hops)(
    "with a POST of a $client client to a $server server changes nothing: it is a new request",
    async (hop) => {
      const { gateway } = pairings;
      const caller: Caller = { gateway, server: hop.server };
      const upstream = pairings.upstream(hop.server);
      const before = upstream.ledger.length;
      const params = { name: "echo", arguments: {} };
      const session = hop.client === "legacy" ? await openSession(caller) : undefined;
      const headers = session === undefined ? modernHeaders(caller, "tools/call", "echo") : legacyHeaders(session);
      const body = {
        jsonrpc: "2.0",
        id: 1,
        method: "tools/call",
        params: session === undefined ? { ...params, _meta: modernMeta } : params,
      };
      const answer = await post(caller, { ...headers, "last-event-id": "1" }, body);
      expect([answer.status, answer.json["id"], upstream.ledger.length - before]).toEqual([200, 1, 1]);
    },
  );

  it("with the GET of another's session replays nothing: streams have no event ids, and none is looked for", async () => {
    const { gateway } = pairings;
    const [one, other] = [
      await openSession({ gateway, server: "legacy" }),
      await openSession({ gateway, server: "legacy" }),
    ];
    const open = (session: typeof one, headers: Readonly<Record<string, string>>): Promise<OpenStream> =>
      openStream({
        port: gateway.port,
        path: "/legacy/mcp",
        headers: { ...legacyHeaders(session), accept: "text/event-stream", ...headers },
      });
    const first = await open(one, {});
    const second = await open(other, { "last-event-id": `${one.session}_1` });
    await until(() => second.comments > 0 && first.comments > 0);
    expect([second.status, second.messages, /^id:/m.test(first.text + second.text)]).toEqual([200, [], false]);
    first.close();
    second.close();
  });
});
