import { classifyInboundRequest } from "@modelcontextprotocol/server";
import { describe, expect, it } from "vitest";
import { readOwnString } from "../../src/model/json.ts";
import type { Json, JsonObject } from "../../src/model/json.ts";
import { classify, isBatch } from "../../src/protocol/classify.ts";
import type { Classified, McpHeaders } from "../../src/protocol/classify.ts";
import { clientMethods } from "../../src/protocol/methods.ts";
import { encodeMcpName } from "../../src/protocol/modern/standard-headers.ts";

const prefix = "io.modelcontextprotocol/";
const modern = "2026-07-28";
const meta: JsonObject = {
  [`${prefix}protocolVersion`]: modern,
  [`${prefix}clientInfo`]: { name: "client", version: "1" },
  [`${prefix}clientCapabilities`]: {},
};

function request(method: string, params?: JsonObject): JsonObject {
  return params === undefined ? { jsonrpc: "2.0", id: 1, method } : { jsonrpc: "2.0", id: 1, method, params };
}

function modernRequest(method: string, params: JsonObject = {}, changed: JsonObject = {}): JsonObject {
  return request(method, { ...params, _meta: { ...meta, ...changed } });
}

function notification(method: string, params?: JsonObject): JsonObject {
  return params === undefined ? { jsonrpc: "2.0", method } : { jsonrpc: "2.0", method, params };
}

function headers(more: Partial<McpHeaders> = {}): McpHeaders {
  return { params: {}, ...more };
}

function modernHeaders(method: string, more: Partial<McpHeaders> = {}): McpHeaders {
  return headers({ protocolVersion: modern, method, ...more });
}

function placeOf(message: Json, given: McpHeaders): Classified {
  const result = classify({ headers: given, message });
  if (!result.ok) throw new Error(JSON.stringify(result.refusal));
  return result.value;
}

function refusalOf(message: Json, given: McpHeaders): unknown {
  const result = classify({ headers: given, message });
  return result.ok ? result.value : { code: result.refusal.code, ...result.refusal.facts };
}

describe("a legacy message", () => {
  const initialize = request("initialize", { protocolVersion: "2025-11-25", capabilities: {} });

  it.each<[why: string, message: Json, given: McpHeaders, place: [column: string, revision: string | undefined]]>([
    ["initialize", initialize, headers(), ["initialize", undefined]],
    [
      "initialize under a legacy version",
      initialize,
      headers({ protocolVersion: "2025-06-18" }),
      ["initialize", undefined],
    ],
    ["initialize under nonsense", initialize, headers({ protocolVersion: "abc" }), ["initialize", undefined]],
    [
      "initialize that asks for the modern revision",
      request("initialize", { protocolVersion: modern }),
      headers(),
      ["initialize", undefined],
    ],
    ["a call without version", request("tools/call", { name: "x" }), headers({ sessionId: "s" }), ["call", undefined]],
    ["a call", request("tools/list"), headers({ protocolVersion: "2025-11-25" }), ["call", "2025-11-25"]],
    [
      "white space around the version",
      request("ping"),
      headers({ protocolVersion: " 2025-03-26\t" }),
      ["call", "2025-03-26"],
    ],
    [
      "a notification",
      notification("notifications/initialized"),
      headers({ protocolVersion: "2025-06-18" }),
      ["notification", "2025-06-18"],
    ],
    ["a notification nobody knows", notification("notifications/x"), headers(), ["notification", undefined]],
    [
      "a response",
      { jsonrpc: "2.0", id: 1, result: {} },
      headers({ protocolVersion: "2025-06-18" }),
      ["notification", "2025-06-18"],
    ],
    [
      "an error response",
      { jsonrpc: "2.0", id: 1, error: { code: 1, message: "" } },
      headers(),
      ["notification", undefined],
    ],
    [
      "agreeing modern headers",
      request("tools/call", { name: "x" }),
      headers({ method: "tools/call", name: "x" }),
      ["call", undefined],
    ],
    ["_meta without a version", request("tools/list", { _meta: { progressToken: 1 } }), headers(), ["call", undefined]],
  ])("%s takes its column", (_why, message, given, [column, revision]) => {
    const place = placeOf(message, given);
    expect(place).toMatchObject({ era: "legacy", column });
    expect(place.revision).toBe(revision);
    expect(place.meta).toBeUndefined();
  });

  it.each<[why: string, message: Json, given: McpHeaders, refusal: JsonObject]>([
    [
      "initialize under the modern version",
      initialize,
      headers({ protocolVersion: modern }),
      { code: "HEADER_MISMATCH", header: "mcp-protocol-version", problem: "initialize" },
    ],
    [
      "an unknown version",
      request("ping"),
      headers({ protocolVersion: "2099-01-01" }),
      { code: "REVISION_UNSUPPORTED", requested: "2099-01-01" },
    ],
    [
      "a version of the old transport",
      request("ping"),
      headers({ protocolVersion: "2024-11-05" }),
      { code: "REVISION_UNSUPPORTED", requested: "2024-11-05" },
    ],
    [
      "no version at all",
      request("ping"),
      headers({ protocolVersion: "" }),
      { code: "REVISION_UNSUPPORTED", requested: "" },
    ],
    [
      "a version twice, joined",
      request("ping"),
      headers({ protocolVersion: "2025-11-25, 2025-11-25" }),
      { code: "REVISION_UNSUPPORTED" },
    ],
    [
      "a notification under an unknown version",
      notification("notifications/x"),
      headers({ protocolVersion: "1" }),
      { code: "REVISION_UNSUPPORTED" },
    ],
    [
      "a response under an unknown version",
      { jsonrpc: "2.0", id: 1, result: {} },
      headers({ protocolVersion: "1" }),
      { code: "REVISION_UNSUPPORTED" },
    ],
    [
      "a method volunteered that differs",
      request("tools/call", { name: "x" }),
      headers({ method: "tools/list" }),
      { code: "HEADER_MISMATCH", header: "mcp-method", problem: "differs" },
    ],
    [
      "a name volunteered that differs",
      request("tools/call", { name: "x" }),
      headers({ name: "y" }),
      { code: "HEADER_MISMATCH", header: "mcp-name", problem: "differs" },
    ],
    [
      "a name volunteered for initialize's method",
      request("initialize"),
      headers({ method: "ping" }),
      { code: "HEADER_MISMATCH", header: "mcp-method" },
    ],
    [
      "a session id sent twice",
      request("ping"),
      headers({ repeated: ["mcp-session-id"] }),
      { code: "HEADER_MISMATCH", header: "mcp-session-id", problem: "repeated" },
    ],
    ["a method of the other era", request("server/discover"), headers(), { code: "RPC_METHOD_UNKNOWN", era: "legacy" }],
    ["a method nobody has", request("toString"), headers(), { code: "RPC_METHOD_UNKNOWN", era: "legacy" }],
    [
      "a notification sent as a request",
      request("notifications/initialized"),
      headers(),
      { code: "RPC_METHOD_UNKNOWN", era: "legacy" },
    ],
    [
      "a call without id",
      notification("tools/call", { name: "x" }),
      headers(),
      { code: "RPC_MESSAGE_INVALID", reason: "id-missing" },
    ],
    ["a batch", [request("ping"), request("ping")], headers(), { code: "RPC_BATCH_REFUSED", elements: 2 }],
    ["an empty batch", [], headers(), { code: "RPC_BATCH_REFUSED", elements: 0 }],
    ["no message", { jsonrpc: "2.0", id: 1 }, headers(), { code: "RPC_MESSAGE_INVALID" }],
    [
      "positional parameters",
      { jsonrpc: "2.0", id: 1, method: "ping", params: [] },
      headers(),
      { code: "RPC_PARAMS_INVALID" },
    ],
  ])("%s is refused", (_why, message, given, refusal) => {
    expect(refusalOf(message, given)).toMatchObject(refusal);
  });
});

describe("a modern message", () => {
  it.each<[why: string, message: Json, given: McpHeaders, column: string]>([
    ["discovery", modernRequest("server/discover"), modernHeaders("server/discover"), "discover"],
    ["a list", modernRequest("tools/list"), modernHeaders("tools/list"), "call"],
    ["a call", modernRequest("tools/call", { name: "x" }), modernHeaders("tools/call", { name: "x" }), "call"],
    [
      "a read",
      modernRequest("resources/read", { uri: "a:b" }),
      modernHeaders("resources/read", { name: "a:b" }),
      "call",
    ],
    [
      "a prompt",
      modernRequest("prompts/get", { name: "ü" }),
      modernHeaders("prompts/get", { name: encodeMcpName("ü") }),
      "call",
    ],
    [
      "white space around values",
      modernRequest("tools/call", { name: "x" }),
      headers({ protocolVersion: ` ${modern}`, method: "tools/call ", name: "\tx " }),
      "call",
    ],
    [
      "a name encoded without need",
      modernRequest("tools/call", { name: "x" }),
      modernHeaders("tools/call", { name: "=?base64?eA==?=" }),
      "call",
    ],
    ["a call that names nothing", modernRequest("tools/call"), modernHeaders("tools/call"), "call"],
    [
      "a session id, which means nothing",
      modernRequest("tools/list"),
      modernHeaders("tools/list", { sessionId: "s" }),
      "call",
    ],
    [
      "a notification by its header",
      notification("notifications/cancelled"),
      headers({ protocolVersion: modern }),
      "notification",
    ],
    ["a notification by its claim", notification("notifications/x", { _meta: { ...meta } }), headers(), "notification"],
    [
      "a notification nobody knows",
      notification("notifications/x"),
      headers({ protocolVersion: modern, method: "notifications/x" }),
      "notification",
    ],
  ])("%s takes its column", (_why, message, given, column) => {
    expect(placeOf(message, given)).toMatchObject({ era: "modern", column, revision: modern });
  });

  it("brings its metadata and its parameter headers along", () => {
    const full = modernRequest(
      "tools/list",
      {},
      { [`${prefix}logLevel`]: "info", progressToken: "p", traceparent: "t" },
    );
    const place = placeOf(full, modernHeaders("tools/list", { params: { region: "eu" } }));
    expect(place.meta).toEqual({
      protocolVersion: modern,
      clientInfo: { name: "client", version: "1" },
      clientCapabilities: {},
      logLevel: "info",
      progressToken: "p",
    });
    expect(place.paramHeaders).toEqual({ region: "eu" });
    const bare = request("tools/list", {
      _meta: { [`${prefix}protocolVersion`]: modern, [`${prefix}clientCapabilities`]: { roots: {} } },
    });
    expect(placeOf(bare, modernHeaders("tools/list")).meta).toEqual({
      protocolVersion: modern,
      clientInfo: undefined,
      clientCapabilities: { roots: {} },
      logLevel: undefined,
      progressToken: undefined,
    });
  });

  const call = modernRequest("tools/call", { name: "x" });
  const good = modernHeaders("tools/call", { name: "x" });
  const mismatch = (header: string, problem: string): JsonObject => ({ code: "HEADER_MISMATCH", header, problem });

  it.each<[why: string, message: Json, given: McpHeaders, refusal: JsonObject]>([
    [
      "no version header",
      call,
      headers({ method: "tools/call", name: "x" }),
      mismatch("mcp-protocol-version", "missing"),
    ],
    [
      "a legacy version header",
      call,
      { ...good, protocolVersion: "2025-11-25" },
      mismatch("mcp-protocol-version", "differs"),
    ],
    [
      "a version header twice, joined",
      call,
      { ...good, protocolVersion: `${modern}, ${modern}` },
      mismatch("mcp-protocol-version", "differs"),
    ],
    ["no method header", call, headers({ protocolVersion: modern, name: "x" }), mismatch("mcp-method", "missing")],
    ["another method header", call, { ...good, method: "tools/list" }, mismatch("mcp-method", "differs")],
    ["a method header in other case", call, { ...good, method: "Tools/Call" }, mismatch("mcp-method", "differs")],
    ["no name header", call, modernHeaders("tools/call"), mismatch("mcp-name", "missing")],
    ["an empty name header", call, { ...good, name: "" }, mismatch("mcp-name", "differs")],
    ["another name header", call, { ...good, name: "y" }, mismatch("mcp-name", "differs")],
    ["a name header in other case", call, { ...good, name: "X" }, mismatch("mcp-name", "differs")],
    ["a name header twice, joined", call, { ...good, name: "x, x" }, mismatch("mcp-name", "differs")],
    ["a percent-encoded name header", call, { ...good, name: "%78" }, mismatch("mcp-name", "differs")],
    ["a badly encoded name header", call, { ...good, name: "=?base64?eA=?=" }, mismatch("mcp-name", "malformed")],
    [
      "raw bytes in a name header",
      modernRequest("tools/call", { name: "é" }),
      { ...good, name: "é" },
      mismatch("mcp-name", "malformed"),
    ],
    ["a name header where the body has none", modernRequest("tools/call"), good, mismatch("mcp-name", "differs")],
    ["a header sent twice", call, { ...good, repeated: ["mcp-name"] }, mismatch("mcp-name", "repeated")],
    [
      "a parameter header sent twice",
      call,
      { ...good, repeated: ["mcp-param-a"] },
      mismatch("mcp-param-a", "repeated"),
    ],
    [
      "a notification whose header differs",
      notification("notifications/x", { _meta: { ...meta } }),
      headers({ protocolVersion: "2025-11-25" }),
      mismatch("mcp-protocol-version", "differs"),
    ],
    [
      "a notification whose method differs",
      notification("notifications/x"),
      headers({ protocolVersion: modern, method: "y" }),
      mismatch("mcp-method", "differs"),
    ],
    [
      "a version to come",
      modernRequest("ping", {}, { [`${prefix}protocolVersion`]: "2099-01-01", [`${prefix}clientCapabilities`]: 1 }),
      modernHeaders("ping", { protocolVersion: "2099-01-01" }),
      {
        code: "REVISION_UNSUPPORTED",
        requested: "2099-01-01",
        supported: ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"],
      },
    ],
    [
      "a legacy version claimed per request",
      modernRequest("ping", {}, { [`${prefix}protocolVersion`]: "2025-11-25" }),
      modernHeaders("ping", { protocolVersion: "2025-11-25" }),
      { code: "REVISION_UNSUPPORTED", supported: [modern] },
    ],
    [
      "a notification of a version to come",
      notification("notifications/x", { _meta: { [`${prefix}protocolVersion`]: "2099-01-01" } }),
      headers(),
      { code: "REVISION_UNSUPPORTED" },
    ],
    [
      "a notification that claims nonsense",
      notification("notifications/x", { _meta: { [`${prefix}protocolVersion`]: 1 } }),
      headers(),
      { code: "META_INVALID" },
    ],
    [
      "no parameters under the modern header",
      request("tools/list"),
      modernHeaders("tools/list"),
      { code: "META_INVALID", key: "_meta", problem: "missing" },
    ],
    [
      "_meta that is no object",
      request("tools/list", { _meta: 1 }),
      modernHeaders("tools/list"),
      { code: "META_INVALID", key: "_meta", problem: "wrong-type" },
    ],
    [
      "_meta without version",
      request("tools/list", { _meta: {} }),
      modernHeaders("tools/list"),
      { code: "META_INVALID", key: `${prefix}protocolVersion`, problem: "missing" },
    ],
    [
      "a version that is no string",
      modernRequest("tools/list", {}, { [`${prefix}protocolVersion`]: 1 }),
      modernHeaders("tools/list"),
      { code: "META_INVALID", key: `${prefix}protocolVersion`, problem: "wrong-type" },
    ],
    [
      "no capabilities",
      request("tools/list", { _meta: { [`${prefix}protocolVersion`]: modern } }),
      modernHeaders("tools/list"),
      { code: "META_INVALID", key: `${prefix}clientCapabilities`, problem: "missing" },
    ],
    [
      "capabilities that are a list",
      modernRequest("tools/list", {}, { [`${prefix}clientCapabilities`]: [] }),
      modernHeaders("tools/list"),
      { code: "META_INVALID", key: `${prefix}clientCapabilities` },
    ],
    [
      "a client without version",
      modernRequest("tools/list", {}, { [`${prefix}clientInfo`]: { name: "x" } }),
      modernHeaders("tools/list"),
      { code: "META_INVALID", key: `${prefix}clientInfo` },
    ],
    [
      "a log level nobody knows",
      modernRequest("tools/list", {}, { [`${prefix}logLevel`]: "loud" }),
      modernHeaders("tools/list"),
      { code: "META_INVALID", key: `${prefix}logLevel` },
    ],
    [
      "a fractional progress token",
      modernRequest("tools/list", {}, { progressToken: 1.5 }),
      modernHeaders("tools/list"),
      { code: "META_INVALID", key: "progressToken" },
    ],
    [
      "a response",
      { jsonrpc: "2.0", id: 1, result: {} },
      headers({ protocolVersion: modern }),
      { code: "RPC_RESPONSE_UNEXPECTED" },
    ],
    [
      "ping, which the revision has not",
      modernRequest("ping"),
      modernHeaders("ping"),
      { code: "RPC_METHOD_UNKNOWN", era: "modern" },
    ],
    [
      "initialize with modern metadata",
      modernRequest("initialize"),
      modernHeaders("initialize"),
      { code: "RPC_METHOD_UNKNOWN", era: "modern" },
    ],
    [
      "initialize with half of it",
      request("initialize", { _meta: { [`${prefix}protocolVersion`]: modern } }),
      modernHeaders("initialize"),
      mismatch("mcp-protocol-version", "initialize"),
    ],
    [
      "a notification sent as a request",
      modernRequest("notifications/cancelled"),
      modernHeaders("notifications/cancelled"),
      { code: "RPC_METHOD_UNKNOWN" },
    ],
    [
      "a method named like an inherited key",
      modernRequest("constructor"),
      modernHeaders("constructor"),
      { code: "RPC_METHOD_UNKNOWN" },
    ],
  ])("%s is refused", (_why, message, given, refusal) => {
    expect(refusalOf(message, given)).toMatchObject(refusal);
  });
});

describe("the methods of an era", () => {
  it("are these", () => {
    const items = [
      "tools/list",
      "tools/call",
      "resources/list",
      "resources/templates/list",
      "resources/read",
      "prompts/list",
      "prompts/get",
      "completion/complete",
    ];
    expect([...clientMethods("modern").keys()].sort()).toEqual(
      [
        "server/discover",
        "subscriptions/listen",
        "tasks/get",
        "tasks/update",
        "tasks/cancel",
        "notifications/cancelled",
        ...items,
      ].sort(),
    );
    const notifications = ["initialized", "cancelled", "progress", "roots/list_changed"].map(
      (name) => `notifications/${name}`,
    );
    expect([...clientMethods("legacy").keys()].sort()).toEqual(
      [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "tasks/get",
        "tasks/result",
        "tasks/list",
        "tasks/cancel",
        ...notifications,
        ...items,
      ].sort(),
    );
  });

  it("say what a call is aimed at", () => {
    expect(clientMethods("modern").get("resources/templates/list")).toEqual({
      column: "call",
      target: "list",
      list: "template",
    });
    expect(clientMethods("legacy").get("resources/read")).toEqual({ column: "call", target: "resource" });
    expect(clientMethods("legacy").get("ping")).toEqual({ column: "call" });
  });
});

describe("isBatch", () => {
  it.each<[Json, boolean]>([
    [[], true],
    [{}, false],
    ["[]", false],
  ])("%j: %s", (value, batch) => {
    expect(isBatch(value)).toBe(batch);
  });
});

/** What the SDK's classifier and ours say of the same input, in the SDK's words: era, or its error code. */
function bothSay(message: Json, given: McpHeaders): [sdk: string | number, ours: string | number] {
  const outcome = classifyInboundRequest({
    httpMethod: "POST",
    body: message,
    ...(given.protocolVersion === undefined ? {} : { protocolVersionHeader: given.protocolVersion }),
    ...(given.method === undefined ? {} : { mcpMethodHeader: given.method }),
    ...(given.name === undefined ? {} : { mcpNameHeader: given.name }),
  });
  const sdk = outcome.kind === "reject" ? outcome.code : outcome.kind;
  const ours = classify({ headers: given, message });
  if (ours.ok) return [sdk, ours.value.era];
  const { code, facts } = ours.refusal;
  if (code === "RPC_METHOD_UNKNOWN") return [sdk, String(facts["era"])];
  const codes: Record<string, number> = {
    HEADER_MISMATCH: -32020,
    META_INVALID: -32602,
    REVISION_UNSUPPORTED: -32022,
    RPC_MESSAGE_INVALID: -32600,
  };
  return [sdk, codes[code] ?? code];
}

describe("the SDK's classifier", () => {
  const bodies: Record<string, Json> = {
    initialize: request("initialize", {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "a", version: "1" },
    }),
    "initialize with modern _meta": modernRequest("initialize"),
    "a legacy call": request("tools/call", { name: "x" }),
    "a legacy list": request("tools/list"),
    "a modern call": modernRequest("tools/call", { name: "x" }),
    "a modern list": modernRequest("tools/list"),
    "a list without capabilities": request("tools/list", { _meta: { [`${prefix}protocolVersion`]: modern } }),
    "a list that claims a number": modernRequest("tools/list", {}, { [`${prefix}protocolVersion`]: 7 }),
    "a method nobody has": modernRequest("no/such"),
    "a notification": notification("notifications/cancelled", { requestId: 1 }),
    "a modern notification": notification("notifications/cancelled", { requestId: 1, _meta: { ...meta } }),
    "an id of null": { jsonrpc: "2.0", id: null, method: "tools/list" },
    "a fractional id": { jsonrpc: "2.0", id: 1.5, method: "tools/list" },
    "another version of JSON-RPC": { jsonrpc: "1.0", id: 1, method: "tools/list" },
    "neither method nor result": { jsonrpc: "2.0", id: 1 },
    "a member too many": { jsonrpc: "2.0", id: 1, method: "tools/list", extra: true },
    text: "tools/list",
  };
  const versions = [undefined, modern, "2025-11-25"];
  const cases = Object.entries(bodies).flatMap(([name, body]) =>
    versions.flatMap((protocolVersion) =>
      [undefined, "wrong", methodOf(body)].map((method) => ({
        name,
        body,
        given: headers({ protocolVersion, method, ...(JSON.stringify(body).includes('"x"') ? { name: "x" } : {}) }),
      })),
    ),
  );

  it("agrees on era and code wherever one thing at most is wrong and both look at it", () => {
    const compared = cases.filter(({ body, given }) => isComparable(body, given));
    const differences = compared.flatMap(({ name, body, given }) => {
      const [sdk, ours] = bothSay(body, given);
      return sdk === ours ? [] : [`${name} ${JSON.stringify(given)}: ${sdk} there, ${ours} here`];
    });
    expect(differences).toEqual([]);
    expect(compared.length).toBeGreaterThan(100);
  });

  it("is nowhere stricter: what it refuses is refused here too", () => {
    for (const { body, given } of cases) {
      const [sdk, ours] = bothSay(body, given);
      if (typeof sdk === "number") expect(typeof ours).toBe("number");
    }
  });
});

/**
 * The SDK leaves missing headers of modern requests to a later check, ignores `Mcp-Method` on legacy
 * messages, and looks at `_meta` before it looks at headers where ours looks after.
 */
function isComparable(body: Json, { protocolVersion, method }: McpHeaders): boolean {
  const claims = JSON.stringify(body).includes('protocolVersion":"2026');
  const isRequest = JSON.stringify(body).includes('"id"');
  if (claims && isRequest && (protocolVersion === undefined || method === undefined)) return false;
  if (!claims && protocolVersion !== modern && method === "wrong") return false;
  const incomplete = claims && !JSON.stringify(body).includes("clientCapabilities");
  return !incomplete || (protocolVersion === modern && method !== "wrong");
}

function methodOf(body: Json): string | undefined {
  return readOwnString(body, "method");
}
