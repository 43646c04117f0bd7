import { readFileSync, writeFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startIssuer } from "../journey/gateway-under-test.ts";
import type { IssuerUnderTest } from "../journey/gateway-under-test.ts";
import type { Loose, Received } from "../journey/http-client.ts";
import { legacyHeaders, modernHeaders, modernMeta, openSession } from "../journey/wire-client.ts";
import type { Caller } from "../journey/wire-client.ts";
import type { ReceivedRequest, Wire } from "../upstream/scripted-upstream.ts";
import { eras, startPairings } from "./pairings.ts";
import type { Era, Pairings } from "./pairings.ts";
import { situations } from "./situations.ts";
import type { Request, Situation } from "./situations.ts";

/** Recorded answers. `SALLYPORT_WRITE_GOLDEN=1` writes them anew, for a person to read before they are kept. */
const goldenUrl = new URL("status-matrix.golden.txt", import.meta.url);

const tools = ["echo", "hidden", "scoped", "fails", "hollow", "locked", "errs", "isError"].map((name) => ({
  name,
  inputSchema: { type: "object", properties: { n: { type: "integer" } } },
}));

const lists: Readonly<Record<string, Loose>> = {
  "tools/list": { tools },
  "resources/list": { resources: [{ uri: "x://a", name: "a" }] },
  "prompts/list": { prompts: [{ name: "ask", arguments: [{ name: "topic", required: true }] }] },
  "resources/read": { contents: [{ uri: "x://a", text: "a" }] },
  "prompts/get": { messages: [] },
};

const anyone = { who: { anyone: true }, effect: "allow" };
const rules = eras.flatMap((upstream) => [
  {
    id: `${upstream}-small`,
    ...anyone,
    what: { upstream, tool: "echo" },
    when: "!has(args.n) || args.n <= 100",
    message: "At most 100.",
  },
  {
    id: `${upstream}-scoped`,
    ...anyone,
    what: { upstream, tool: "scoped" },
    stepUp: { scopes: { all: ["a:write", "b"] } },
  },
  { id: `${upstream}-tools`, ...anyone, what: { upstream, tool: ["fails", "hollow", "locked", "errs", "isError"] } },
  { id: `${upstream}-rest`, ...anyone, what: { upstream, resource: "x://**" } },
  { id: `${upstream}-prompts`, ...anyone, what: { upstream, prompt: "*" } },
]);

let issuer: IssuerUnderTest;
let pairings: Pairings;
const tokens = new Map<string, string>();
const sessions = new Map<string, string>();

beforeAll(async () => {
  issuer = await startIssuer();
  pairings = await startPairings((method) => lists[method], {
    rules,
    issuer,
    onRequest,
    upstream: { breaker: { failures: 0 } },
    config: { limits: { bodyBytesMax: 200_000 } },
  });
  for (const server of eras) {
    for (const sub of ["alice", "bob"])
      tokens.set(`${sub} ${server}`, await issuer.mint(pairings.gateway.resource(server), { sub }));
    sessions.set(server, (await openSession(callerOf("alice", server))).session);
  }
});

afterAll(async () => {
  await pairings.close();
  await issuer.close();
});

function callerOf(who: string, server: Era): Caller {
  return { gateway: pairings.gateway, server, token: tokens.get(`${who} ${server}`) };
}

function onRequest({ rpc }: ReceivedRequest, wire: Wire, era: Era): boolean {
  if (rpc["method"] !== "tools/call") return false;
  const { id } = rpc;
  const { name } = rpc["params"] as Loose;
  const form = era === "modern" ? { resultType: "complete" } : {};
  if (name === "fails") wire.respond(500, "text/html", "<h1>stack trace</h1>");
  else if (name === "hollow") wire.respond(200, "application/json", "");
  else if (name === "locked") wire.respond(401, undefined, "", ["WWW-Authenticate: Bearer"]);
  else if (name === "errs") wire.json(200, { jsonrpc: "2.0", id, error: { code: -32603, message: "it broke" } });
  else if (name === "isError") wire.json(200, { jsonrpc: "2.0", id, result: { content: [], isError: true, ...form } });
  else return false;
  return true;
}

function headersFor(client: Era, server: Era, { who = "alice", body = "", headers }: Request): Loose {
  const caller = callerOf(who, server);
  if (client === "legacy") return { ...legacyHeaders({ ...caller, session: sessions.get(server) }), ...headers };
  const { method, params } =
    typeof body === "string" ? { method: "tools/list", params: {} } : (body as { method?: string; params?: Loose });
  const name = params?.["name"] ?? params?.["uri"];
  const usual = modernHeaders(caller, method ?? "", typeof name === "string" ? name : undefined);
  return { ...usual, ...(method === undefined ? { "mcp-method": undefined } : {}), ...headers };
}

function bodyFor(client: Era, { body = "" }: Request): string {
  if (typeof body === "string") return body;
  const params = body["params"] as Loose | undefined;
  if (client === "legacy" || params === undefined) return JSON.stringify(body);
  return JSON.stringify({ ...body, params: { _meta: modernMeta, ...params } });
}

/** One exchange; of an answer without an end, its head. */
function exchange(client: Era, server: Era, sent: Request): Promise<Received> {
  const headers = Object.entries(headersFor(client, server, sent)).filter(([, value]) => value !== undefined);
  const { port } = pairings.gateway;
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest({
      host: "127.0.0.1",
      port,
      path: `/${server}/mcp`,
      method: sent.method ?? "POST",
      headers: Object.fromEntries(headers) as Record<string, string>,
      agent: false,
    });
    outgoing.on("response", (response) => {
      const chunks: Buffer[] = [];
      const finish = (): void => {
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text: Buffer.concat(chunks).toString(),
          json: {},
        });
      };
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", finish);
      response.on("error", reject);
      if (sent.method !== "GET" || response.statusCode !== 200) return;
      finish();
      outgoing.destroy();
    });
    outgoing.on("error", (error) => {
      if (!outgoing.destroyed) reject(error);
    });
    outgoing.end(bodyFor(client, sent));
  });
}

const shownHeaders = ["content-type", "allow", "www-authenticate", "retry-after", "mcp-session-id", "cache-control"];

/** What of an answer is the same each time: status, telling headers and body, without what is random or local. */
function recorded({ status, headers, text }: Received): string {
  const lines = shownHeaders.flatMap((name) =>
    headers[name] === undefined ? [] : [`${name}: ${String(headers[name])}`],
  );
  return (
    [`${status}`, ...lines, ...(text === "" ? [] : [text.trimEnd()])]
      .join("\n")
      .replaceAll(pairings.gateway.publicUrl, "https://gateway.test")
      .replaceAll(/(?<="ref":"|ref )[A-Z0-9]{10}/g, "REF")
      .replaceAll(/(?<=mcp-session-id: ).*/g, "SESSION")
      .replaceAll(/(?<="version":")[^"]*/g, "VERSION")
      .replaceAll(/\/(?:legacy|modern)\/mcp/g, "/SERVER/mcp")
      // What a pairing can carry is another test's matter.
      .replaceAll(/(?<="capabilities":)\{(?:[^{}]|\{[^{}]*\})*\}/g, "CAPABILITIES")
      // What a legacy server says of itself, which the modern one here does not.
      .replaceAll(',"instructions":"be kind"', "")
      .replaceAll(/(?<="title":")(?:legacy|modern)(?=")/g, "SERVER")
  );
}

function applies({ era }: Situation, client: Era): boolean {
  return era === undefined || era === client;
}

const heading = (client: Era, { what }: Situation): string => `## ${client}: ${what}`;

async function record(client: Era, server: Era): Promise<Map<string, string>> {
  const answers = new Map<string, string>();
  for (const situation of situations.filter((one) => applies(one, client)))
    answers.set(heading(client, situation), recorded(await exchange(client, server, situation.request)));
  return answers;
}

function readGolden(): Map<string, string> {
  const blocks = readFileSync(goldenUrl, "utf8").split(/^(?=## )/m);
  return new Map(blocks.map((block) => [block.split("\n")[0] ?? "", block.slice(block.indexOf("\n") + 1).trimEnd()]));
}

describe.each(eras)("answers to a %s client", (client) => {
  let inFront: Map<Era, Map<string, string>>;

  beforeAll(async () => {
    inFront = new Map();
    for (const server of eras) inFront.set(server, await record(client, server));
    if (process.env["SALLYPORT_WRITE_GOLDEN"] === "1") writeGolden(client, inFront.get(client)!);
  });

  it.each(situations.filter((one) => applies(one, client)))("to $what are as recorded", (situation) => {
    const name = heading(client, situation);
    expect(inFront.get(client)!.get(name)).toBe(readGolden().get(name));
  });

  it("are the same whatever era the server behind speaks", () => {
    expect([...inFront.get("legacy")!]).toEqual([...inFront.get("modern")!]);
  });
});

it("every recorded answer is one of a situation that is tried", () => {
  const tried = eras.flatMap((client) =>
    situations.filter((one) => applies(one, client)).map((one) => heading(client, one)),
  );
  expect([...readGolden().keys()].sort()).toEqual(tried.sort());
  expect(tried.length).toBeGreaterThan(80);
});

function writeGolden(client: Era, answers: ReadonlyMap<string, string>): void {
  const kept = [...readGolden()].filter(([name]) => name.startsWith("## ") && !name.startsWith(`## ${client}:`));
  const all = client === "legacy" ? [...answers, ...kept] : [...kept, ...answers];
  writeFileSync(goldenUrl, all.map(([name, answer]) => `${name}\n${answer}\n`).join("\n"));
}
