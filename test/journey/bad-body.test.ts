import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { send } from "./http-client.ts";
import { bodyBytesMax, eras, openBench, refusedOnce } from "./refusal-bench.ts";
import type { RefusalBench, Refused } from "./refusal-bench.ts";
import { legacyHeaders, modernHeaders, post, refusalIn } from "./wire-client.ts";

let bench: RefusalBench;

beforeAll(async () => {
  bench = await openBench();
});

afterAll(async () => {
  await bench.close();
});

const request = (members: string): string => `{"jsonrpc":"2.0","id":7,"method":"tools/list",${members}}`;
const json = { status: 400, rpc: -32700 } as const;
const invalid = { status: 400, rpc: -32600 } as const;

const bodies: readonly (Refused & { readonly body: string; readonly bytes: string | Buffer })[] = [
  { body: "nothing", bytes: "", ...json, code: "JSON_MALFORMED" },
  { body: "text cut short", bytes: '{"jsonrpc":"2.0","id":7', ...json, code: "JSON_MALFORMED" },
  { body: "data after the value", bytes: `${request('"params":{}')} {}`, ...json, code: "JSON_MALFORMED" },
  { body: "a duplicate key", bytes: request('"params":{},"method":"ping"'), ...json, code: "JSON_DUPLICATE_KEY" },
  {
    body: "a duplicate key spelled otherwise",
    bytes: request('"params":{"a":1,"\\u0061":2}'),
    ...json,
    code: "JSON_DUPLICATE_KEY",
  },
  { body: "__proto__", bytes: request('"params":{"__proto__":{}}'), ...json, code: "JSON_FORBIDDEN_KEY" },
  {
    body: "too deep a value",
    bytes: request(`"params":{"a":${"[".repeat(70)}${"]".repeat(70)}}`),
    ...json,
    code: "JSON_TOO_DEEP",
  },
  {
    body: "too many keys",
    bytes: request(`"params":{${Array.from({ length: 10_001 }, (_, at) => `"k${at}":0`).join(",")}}`),
    ...json,
    code: "JSON_TOO_MANY_KEYS",
  },
  { body: "a number no double holds", bytes: request('"params":{"a":1e999}'), ...json, code: "JSON_NUMBER_OVERFLOW" },
  { body: "a lone surrogate", bytes: request('"params":{"a":"\\ud800"}'), ...json, code: "JSON_LONE_SURROGATE" },
  {
    body: "bytes that are no UTF-8",
    bytes: Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xff, 0xfe]), Buffer.from('"}')]),
    ...json,
    code: "JSON_NOT_UTF8",
  },
  { body: "a number", bytes: "3", ...invalid, code: "RPC_MESSAGE_INVALID" },
  { body: "an empty object", bytes: "{}", ...invalid, code: "RPC_MESSAGE_INVALID" },
  {
    body: "another JSON-RPC",
    bytes: '{"jsonrpc":"1.0","id":7,"method":"ping"}',
    ...invalid,
    code: "RPC_MESSAGE_INVALID",
    id: 7,
  },
  {
    body: "an id that is null",
    bytes: '{"jsonrpc":"2.0","id":null,"method":"ping"}',
    ...invalid,
    code: "RPC_MESSAGE_INVALID",
  },
  { body: "a batch", bytes: `[${request('"params":{}')}]`, ...invalid, code: "RPC_BATCH_REFUSED" },
  { body: "an empty batch", bytes: "[]", ...invalid, code: "RPC_BATCH_REFUSED" },
  { body: "too many bytes", bytes: " ".repeat(bodyBytesMax + 1), status: 413, rpc: -32600, code: "BODY_TOO_LARGE" },
];

const everyBody = bodies.flatMap((body) => eras.map((era) => ({ era, ...body })));

describe("a body that is no acceptable message is refused by its fault, in either era", () => {
  it.each(everyBody)("$era: $body is $code", async ({ era, bytes, status, rpc, code, ...more }) => {
    const caller = era === "legacy" ? bench.aliceInSession : bench.alice;
    const headers = era === "legacy" ? legacyHeaders(caller) : modernHeaders(caller, "tools/list");
    await refusedOnce(bench, () => post(caller, headers, bytes), {
      status,
      rpc,
      code,
      ...("id" in more ? { id: more.id } : {}),
    });
  });

  it("takes a body of exactly the limit", async () => {
    const text = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
    const padded = text + " ".repeat(bodyBytesMax - text.length);
    const answer = await post(bench.aliceInSession, legacyHeaders(bench.aliceInSession), padded);
    expect(answer.status).toBe(200);
  });
});

describe("an HTTP request of another form is refused before its body is read", () => {
  const forms: readonly (Refused & {
    readonly form: string;
    readonly headers: Readonly<Record<string, string | undefined>>;
  })[] = [
    {
      form: "text/plain",
      headers: { "content-type": "text/plain" },
      status: 415,
      rpc: -32600,
      code: "MEDIA_TYPE_UNSUPPORTED",
    },
    {
      form: "no media type",
      headers: { "content-type": undefined },
      status: 415,
      rpc: -32600,
      code: "MEDIA_TYPE_UNSUPPORTED",
    },
    {
      form: "a malformed media type",
      headers: { "content-type": ";;" },
      status: 415,
      rpc: -32600,
      code: "MEDIA_TYPE_UNSUPPORTED",
    },
    {
      form: "a coded body",
      headers: { "content-encoding": "gzip" },
      status: 415,
      rpc: -32600,
      code: "BODY_ENCODING_UNSUPPORTED",
    },
    { form: "Accept: text/html", headers: { accept: "text/html" }, status: 406, rpc: -32600, code: "NOT_ACCEPTABLE" },
  ];
  it.each(forms.flatMap((form) => eras.map((era) => ({ era, ...form }))))(
    "$era: $form is $code",
    async ({ era, headers, status, rpc, code }) => {
      const caller = era === "legacy" ? bench.aliceInSession : bench.alice;
      const ordinary = era === "legacy" ? legacyHeaders(caller) : modernHeaders(caller, "tools/list");
      await refusedOnce(bench, () => post(caller, { ...ordinary, ...headers }, "{}"), { status, rpc, code });
    },
  );

  it.each(["PUT", "PATCH", "TRACE", "PROPFIND", "QUERY", "OPTIONS"])(
    "%s of a known principal is HTTP_METHOD_REFUSED and told what is allowed",
    async (method) => {
      const { alice, gateway } = bench;
      const headers = legacyHeaders(alice) as Record<string, string>;
      if (method === "OPTIONS") {
        // A preflight has no credential to judge, so this one method is answered without.
        const answer = await send({ port: gateway.port, path: "/alpha/mcp", method, headers });
        expect([answer.status, refusalIn(answer).code]).toEqual([403, "ORIGIN_NOT_ALLOWED"]);
        return;
      }
      const answer = await refusedOnce(bench, () => send({ port: gateway.port, path: "/alpha/mcp", method, headers }), {
        status: 405,
        rpc: -32600,
        code: "HTTP_METHOD_REFUSED",
      });
      expect(answer.headers.allow).toBe("GET, POST, DELETE");
    },
  );

  it.each(["GET", "DELETE", "PUT"])("%s under a modern revision is told that it takes POST alone", async (method) => {
    const { alice, gateway } = bench;
    const headers = { ...legacyHeaders(alice), "mcp-protocol-version": "2026-07-28" };
    const answer = await refusedOnce(bench, () => send({ port: gateway.port, path: "/alpha/mcp", method, headers }), {
      status: 405,
      rpc: -32600,
      code: "HTTP_METHOD_REFUSED",
    });
    expect(answer.headers.allow).toBe("POST");
  });
});
