import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startGatewayUnderTest, startIssuer } from "../journey/gateway-under-test.ts";
import type { GatewayUnderTest, IssuerUnderTest } from "../journey/gateway-under-test.ts";
import type { Loose, Received } from "../journey/http-client.ts";
import {
  errorCodeIn,
  legacyHeaders,
  modernCall,
  modernHeaders,
  modernMeta,
  openSession,
  post,
} from "../journey/wire-client.ts";
import type { Caller } from "../journey/wire-client.ts";
import { startScriptedUpstream } from "../upstream/scripted-upstream.ts";
import type { ReceivedRequest, ScriptedUpstream } from "../upstream/scripted-upstream.ts";

const legacyRevisions = ["2025-03-26", "2025-06-18", "2025-11-25"] as const;
const modern = "2026-07-28";
const revisions = [...legacyRevisions, modern] as const;
const newestLegacy = "2025-11-25";

const upstreams = new Map<string, ScriptedUpstream>();
let issuer: IssuerUnderTest;
let gateway: GatewayUnderTest;

/** The name of the server behind which stands an upstream of this revision. */
const serverOf = (revision: string): string => `r${revision}`;

beforeAll(async () => {
  for (const revision of revisions) upstreams.set(revision, await startStrictUpstream(revision));
  issuer = await startIssuer();
  const entries = [...upstreams].map(([revision, { url }]) => [serverOf(revision), url] as const);
  gateway = await startGatewayUnderTest({
    issuer,
    upstreams: Object.fromEntries(entries),
    servers: Object.fromEntries(entries.map(([name]) => [name, { [name]: "" }])),
  });
});

afterAll(async () => {
  await gateway.remove();
  await issuer.close();
  for (const upstream of upstreams.values()) await upstream.close();
});

/** An upstream that refuses whatever belongs to another revision than its own, and knows one resource. */
async function startStrictUpstream(revision: string): Promise<ScriptedUpstream> {
  const era = revision === modern ? "modern" : "legacy";
  const capabilities = { tools: {}, resources: {} };
  const upstream = await startScriptedUpstream({ era, revision, capabilities });
  upstream.script((request, wire) => {
    const { id, method, params } = request.rpc as { id?: unknown; method?: string; params?: Loose };
    const fault = faultOf(request, revision);
    const complete = era === "modern" ? { resultType: "complete", ttlMs: 0, cacheScope: "private" } : {};
    if (fault !== undefined) wire.json(400, { jsonrpc: "2.0", id, error: { code: -32600, message: fault } });
    else if (method === "resources/list")
      wire.json(200, { jsonrpc: "2.0", id, result: { resources: [{ uri: "a://b", name: "b" }], ...complete } });
    else if (method === "resources/templates/list")
      wire.json(200, {
        jsonrpc: "2.0",
        id,
        result: { resourceTemplates: [{ uriTemplate: "a://{x}", name: "x" }], ...complete },
      });
    else if (method === "resources/read" && params?.["uri"] === "a://b")
      wire.json(200, { jsonrpc: "2.0", id, result: { contents: [{ uri: "a://b", text: "b" }], ...complete } });
    else if (method === "resources/read")
      wire.json(200, {
        jsonrpc: "2.0",
        id,
        error: {
          code: codeFor(String(params?.["uri"]), era),
          message: "nothing there",
          data: { uri: params?.["uri"] },
        },
      });
    else return false;
    return true;
  });
  return upstream;
}

/** The error for a resource that is not there: what its URI names, or the revision's own. */
function codeFor(uri: string, era: string): number {
  const named = Number(uri.slice("a://".length));
  return Number.isInteger(named) ? named : era === "modern" ? -32602 : -32002;
}

/** What a request has that the revision has not, or lacks that it needs. */
function faultOf(request: ReceivedRequest, revision: string): string | undefined {
  return revision === modern ? modernFault(request) : legacyFault(request, revision);
}

function metaIn({ rpc }: ReceivedRequest): Loose {
  return (((rpc["params"] ?? {}) as Loose)["_meta"] ?? {}) as Loose;
}

function modernFault(request: ReceivedRequest): string | undefined {
  const own = metaIn(request)["io.modelcontextprotocol/protocolVersion"];
  if (request.header("mcp-protocol-version") !== modern) return "the revision is not in the header";
  if (request.rpc["id"] !== undefined && own !== modern) return "the revision is not in the body";
  return request.header("mcp-session-id") === undefined && request.method === "POST" ? undefined : "a session";
}

function legacyFault(request: ReceivedRequest, revision: string): string | undefined {
  const { rpc } = request;
  const header = request.header("mcp-protocol-version");
  // Whoever does not know the server yet may ask in the newest revision first.
  if (rpc["method"] === "server/discover") return "unknown method";
  const foreign = Object.keys(metaIn(request)).filter((key) => key.startsWith("io.modelcontextprotocol/"));
  if (foreign.length > 0) return `foreign _meta: ${foreign.join()}`;
  if (request.header("mcp-method") !== undefined || request.header("mcp-name") !== undefined) return "modern headers";
  if (rpc["method"] !== "initialize" && header !== revision) return `header ${header ?? "absent"}`;
  return undefined;
}

async function callerOf(sub: string, revision: string): Promise<Caller> {
  const server = serverOf(revision);
  return { gateway, server, token: await issuer.mint(gateway.resource(server), { sub }) };
}

/** One client of one revision, whatever stands behind. */
async function clientOf(
  client: string,
  server: string,
): Promise<(method: string, params?: Loose) => Promise<Received>> {
  const caller = await callerOf(`client-${client}`, server);
  if (client === modern) return (method, params) => modernCall(caller, method, params);
  const session = await openSession(caller, client);
  const headers = { ...legacyHeaders(session), "mcp-protocol-version": client };
  return (method, params = {}) => post(session, headers, { jsonrpc: "2.0", id: 1, method, params });
}

const pairs = revisions.flatMap((client) => revisions.map((server) => ({ client, server })));

describe.each(pairs)("a client of $client in front of a server of $server", ({ client, server }) => {
  it("opens in its own revision, lists, calls and reads, and each hop speaks its own", async () => {
    const ask = await clientOf(client, server);
    const isModern = client === modern;
    if (isModern) {
      const discovered = (await ask("server/discover")).json["result"] as Loose;
      expect(discovered["supportedVersions"]).toContain(modern);
    }
    expect((await ask("tools/list")).text).toContain('"name":"echo"');
    const called = await ask("tools/call", { name: "echo", arguments: { a: 1 } });
    expect(called.json["result"]).toMatchObject({ content: [{ text: '{"a":1}' }] });
    const read = await ask("resources/read", { uri: "a://b" });
    expect(read.json["result"]).toMatchObject({ contents: [{ uri: "a://b", text: "b" }] });
    for (const { json, headers } of [called, read]) {
      expect((json["result"] as Loose)["resultType"]).toBe(isModern ? "complete" : undefined);
      if (isModern) expect(headers["mcp-session-id"]).toBeUndefined();
    }
    expect((read.json["result"] as Loose)["cacheScope"]).toBe(isModern ? "private" : undefined);
  });

  it("is told of an unknown resource in the words of its own era", async () => {
    const ask = await clientOf(client, server);
    // The first is covered by nothing, so the gateway answers; the other server knows no better than its own era.
    for (const uri of ["b://nowhere", "a://nowhere"])
      expect(errorCodeIn(await ask("resources/read", { uri })), uri).toBe(client === modern ? -32602 : -32002);
  });

  it("may cancel what is over, or what never was", async () => {
    const ask = await clientOf(client, server);
    const caller = await callerOf(`client-${client}`, server);
    const note = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } };
    const headers =
      client === modern
        ? { ...modernHeaders(caller, "notifications/cancelled"), "mcp-method": "notifications/cancelled" }
        : legacyHeaders(await openSession(caller, client));
    const answer = await post(
      caller,
      headers,
      client === modern ? { ...note, params: { requestId: 1, _meta: modernMeta } } : note,
    );
    expect([answer.status, answer.text]).toEqual([202, ""]);
    expect((await ask("tools/call", { name: "echo", arguments: {} })).json["result"]).toBeDefined();
  });
});

describe("a legacy server behind modern clients", () => {
  it("sees one handshake for each principal, whatever they send and how often", async () => {
    const upstream = upstreams.get(newestLegacy)!;
    const before = upstream.count("initialize");
    for (const sub of ["carol", "dave"]) {
      const caller = await callerOf(sub, newestLegacy);
      await modernCall(caller, "server/discover");
      await modernCall(caller, "tools/list");
      for (let round = 0; round < 3; round += 1) {
        const called = await modernCall(caller, "tools/call", { name: "echo", arguments: { sub } });
        expect(called.json["result"]).toMatchObject({
          resultType: "complete",
          content: [{ text: `{"sub":"${sub}"}` }],
        });
      }
    }
    expect(upstream.count("initialize") - before).toBe(2);
  });

  it.each([-32002, -32042])("never shows them its error %i, which their revision has not", async (code) => {
    const caller = await callerOf("erin", newestLegacy);
    const answer = await modernCall(caller, "resources/read", { uri: `a://${code}` });
    expect([answer.status, answer.json["result"]]).toEqual([200, undefined]);
    expect([-32602, -32603]).toContain(errorCodeIn(answer));
  });
});

describe("a revision that nobody speaks", () => {
  it.each(["2099-01-01", "abc", "", "2024-11-05", undefined])(
    "%j at initialize is answered with the newest legacy one",
    async (asked) => {
      const caller = await callerOf("frank", newestLegacy);
      const answer = await post(caller, legacyHeaders(caller), {
        jsonrpc: "2.0",
        id: 1,
        method: "initialize",
        params: {
          ...(asked === undefined ? {} : { protocolVersion: asked }),
          capabilities: {},
          clientInfo: { name: "x", version: "1" },
        },
      });
      expect(answer.status).toBe(200);
      expect(answer.json["result"]).toMatchObject({ protocolVersion: newestLegacy });
    },
  );

  it("at initialize, 2026-07-28 is answered with a legacy revision too: there is no such handshake in it", async () => {
    const caller = await callerOf("frank", newestLegacy);
    const session = await openSession(caller, modern);
    expect((await post(session, legacyHeaders(session), { jsonrpc: "2.0", id: 1, method: "ping" })).status).toBe(200);
  });

  it.each(["2099-01-01", "abc"])("%s in a modern request is 400, -32022, and names what would do", async (version) => {
    const caller = await callerOf("frank", newestLegacy);
    const _meta = { ...modernMeta, "io.modelcontextprotocol/protocolVersion": version };
    const headers = { ...modernHeaders(caller, "tools/list"), "mcp-protocol-version": version };
    const answer = await post(caller, headers, { jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta } });
    expect([answer.status, errorCodeIn(answer)]).toEqual([400, -32022]);
    const { supported, requested } = (answer.json["error"] as Loose)["data"] as Loose;
    expect(requested).toBe(version);
    expect(supported).toContain(modern);
  });

  it("in the header of a session is refused, and none at all is the session's own", async () => {
    const caller = await callerOf("frank", newestLegacy);
    const session = await openSession(caller, "2025-06-18");
    const list = (version: string | undefined): Promise<Received> =>
      post(
        session,
        { ...legacyHeaders(session), "mcp-protocol-version": version },
        { jsonrpc: "2.0", id: 1, method: "tools/list" },
      );
    expect((await list(undefined)).status).toBe(200);
    expect((await list("2025-06-18")).status).toBe(200);
    for (const version of ["2099-01-01", "abc"]) expect((await list(version)).status, version).toBe(400);
  });
});

describe("each upstream", () => {
  it.each(revisions)("of %s never saw another revision's version, session, headers or _meta", (revision) => {
    const { received } = upstreams.get(revision)!;
    expect(received.length).toBeGreaterThan(10);
    const faults = received.map((request) => faultOf(request, revision)).filter((fault) => fault !== undefined);
    expect(faults.filter((fault) => fault !== "unknown method")).toEqual([]);
  });
});
