import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startGatewayUnderTest, startIssuer } from "../journey/gateway-under-test.ts";
import type { GatewayUnderTest, IssuerUnderTest } from "../journey/gateway-under-test.ts";
import { form, roots, sample, startLegacyAsking, startModernAsking } from "../journey/asking-upstream.ts";
import type { AskingUpstream } from "../journey/asking-upstream.ts";
import { startRemote } from "./mcp-remote.ts";

type Loose = Record<string, unknown>;

let issuer: IssuerUnderTest;
let gateway: GatewayUnderTest;
const upstreams = new Map<string, AskingUpstream>();

beforeAll(async () => {
  issuer = await startIssuer();
  upstreams.set("legacy", await startLegacyAsking());
  upstreams.set("modern", await startModernAsking());
  gateway = await startGatewayUnderTest({
    issuer,
    upstreams: Object.fromEntries([...upstreams].map(([name, { upstream }]) => [name, upstream.url])),
    servers: Object.fromEntries([...upstreams.keys()].map((name) => [name, { [name]: "" }])),
  });
});

afterAll(async () => {
  await gateway.remove();
  await issuer.close();
  for (const upstream of upstreams.values()) await upstream.close();
});

/** What the application's person, its model and its disk say to whoever asks. */
const given = {
  "elicitation/create": { action: "accept" as const, content: { name: "Octo" } },
  "sampling/createMessage": {
    role: "assistant" as const,
    model: "m",
    content: { type: "text" as const, text: "Paris" },
    stopReason: "endTurn",
  },
  "roots/list": { roots: [{ uri: "file:///x", name: "X" }] },
};

const info = { name: "asked", version: "1.0.0" };
const capabilities = { elicitation: { form: {} }, sampling: {}, roots: {} };

/** An application that calls a tool, and may be asked while it runs. */
interface Application {
  call(args: Loose): Promise<Loose>;
  close(): Promise<void>;
}

function clientV1(): ClientV1 {
  const client = new ClientV1(info, { capabilities });
  client.setRequestHandler(ElicitRequestSchema, () => given["elicitation/create"]);
  client.setRequestHandler(CreateMessageRequestSchema, () => given["sampling/createMessage"]);
  client.setRequestHandler(ListRootsRequestSchema, () => given["roots/list"]);
  return client;
}

async function applicationV1(url: string, token: string): Promise<Application> {
  const client = clientV1();
  await client.connect(
    new TransportV1(new URL(url), { requestInit: { headers: { authorization: `Bearer ${token}` } } }),
  );
  return { call: (args) => client.callTool({ name: "echo", arguments: args }), close: () => client.close() };
}

async function applicationV2(url: string, token: string, mode: "legacy" | "auto"): Promise<Application> {
  const client = new ClientV2(info, { capabilities, versionNegotiation: { mode } });
  client.setRequestHandler("elicitation/create", () => given["elicitation/create"]);
  client.setRequestHandler("sampling/createMessage", () => given["sampling/createMessage"]);
  client.setRequestHandler("roots/list", () => given["roots/list"]);
  await client.connect(
    new TransportV2(new URL(url), { requestInit: { headers: { authorization: `Bearer ${token}` } } }),
  );
  return { call: (args) => client.callTool({ name: "echo", arguments: args }), close: () => client.close() };
}

async function applicationBehindRemote(url: string, token: string, mode: "legacy" | "auto"): Promise<Application> {
  const header = ["--header", `Authorization: Bearer ${token}`];
  const remote = await startRemote(url, { client: clientV1(), options: ["--protocol", mode, ...header] });
  return { call: (args) => remote.client.callTool({ name: "echo", arguments: args }), close: () => remote.close() };
}

type Start = (url: string, token: string) => Promise<Application>;

const applications: readonly { readonly name: string; readonly era: string; readonly start: Start }[] = [
  { name: "SDK v1", era: "legacy", start: applicationV1 },
  { name: "SDK v2 legacy", era: "legacy", start: (url, token) => applicationV2(url, token, "legacy") },
  { name: "SDK v2 auto", era: "modern", start: (url, token) => applicationV2(url, token, "auto") },
  { name: "mcp-remote", era: "legacy", start: (url, token) => applicationBehindRemote(url, token, "legacy") },
  { name: "mcp-remote auto", era: "modern", start: (url, token) => applicationBehindRemote(url, token, "auto") },
];

const questions = { form, sample, roots };

/** What the server of this era was told, question by question; of a refusal, its code. */
function toldTo(server: string): unknown[] {
  const { received } = upstreams.get(server)!.upstream;
  if (server === "modern")
    return received.flatMap(({ rpc }) => {
      const { inputResponses } = (rpc["params"] ?? {}) as { inputResponses?: Loose };
      return inputResponses === undefined ? [] : [inputResponses["q"]];
    });
  return received
    .filter(({ rpc }) => rpc["method"] === undefined && rpc["id"] !== undefined)
    .map(({ rpc }) => rpc["result"] ?? (rpc["error"] as Loose)["code"]);
}

const pairs = applications.flatMap((application) => ["legacy", "modern"].map((server) => ({ ...application, server })));

describe.each(pairs)("$name in front of a $server server that asks", ({ era, server, start }) => {
  let application: Application;

  beforeAll(async () => {
    application = await start(gateway.resource(server), await issuer.mint(gateway.resource(server), { sub: "alice" }));
  });

  afterAll(() => application.close());

  it.each(Object.keys(questions) as (keyof typeof questions)[])(
    "is asked its %s in its own era's way, and the server is told",
    async (kind) => {
      const question = questions[kind];
      const before = toldTo(server).length;
      const args = { ask: [server === "modern" ? { q: question } : question] };
      const result = await application.call(args);
      expect(result["isError"]).not.toBe(true);
      const told = toldTo(server).slice(before);
      // A legacy server asks in the middle of a call, and a modern client has no way to be asked there.
      if (era === "modern" && server === "legacy") expect(told).toEqual([-32601]);
      else expect(told).toEqual([new Map<string, unknown>(Object.entries(given)).get(question.method)]);
    },
  );
});
