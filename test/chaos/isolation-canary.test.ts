import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startIssuer, until } from "../journey/gateway-under-test.ts";
import type { IssuerUnderTest } from "../journey/gateway-under-test.ts";
import type { Loose } from "../journey/http-client.ts";
import { legacyHeaders, modernHeaders, modernMeta } from "../journey/wire-client.ts";
import { startRedis } from "../setup/redis.ts";
import type { RedisUnderTest } from "../setup/redis.ts";
import { startCanaryUpstream } from "./canary-upstream.ts";
import type { CanaryUpstream } from "./canary-upstream.ts";
import { openStream } from "../journey/stream-client.ts";
import type { OpenStream } from "../journey/stream-client.ts";
import { planFleet } from "./gateway-process.ts";
import type { Fleet, GatewayProcess } from "./gateway-process.ts";

const principals = 200;
const rounds = 4;

let redis: RedisUnderTest;
let issuer: IssuerUnderTest;
let upstreams: { legacy: CanaryUpstream; modern: CanaryUpstream };
let fleet: Fleet;
let gateways: readonly GatewayProcess[];

beforeAll(async () => {
  redis = await startRedis();
  issuer = await startIssuer();
  upstreams = { legacy: await startCanaryUpstream("legacy", 30), modern: await startCanaryUpstream("modern", 30) };
  fleet = await planFleet({
    issuer,
    redisUrl: redis.url,
    upstreams: { l: upstreams.legacy.url, m: upstreams.modern.url },
  });
  gateways = [await fleet.start(), await fleet.start()];
}, 120_000);

afterAll(async () => {
  await Promise.all(gateways.map((gateway) => gateway.stop()));
  await Promise.all(Object.values(upstreams).map((upstream) => upstream.close()));
  await issuer.close();
  await redis.stop();
  fleet.remove();
});

/** One principal and what it heard, wherever it came from. */
interface Person {
  readonly name: string;
  readonly token: string;
  readonly session: string | undefined;
  /** Which process its next request goes to: each goes to the other one. */
  turn: number;
  readonly heard: string[];
  /** Reports of progress that came on its streams. */
  progress: number;
}

const path = "/all/mcp";
const capabilities = { elicitation: { form: {} } };

function portFor(person: Person): number {
  person.turn += 1;
  return gateways[person.turn % gateways.length]?.port ?? 0;
}

async function arrive(index: number): Promise<Person> {
  const name = `canary-${String(index).padStart(3, "0")};`;
  const token = await issuer.mint(`${fleet.publicUrl}/all/mcp`, { sub: name });
  const person = { name, token, session: undefined, turn: index, heard: [], progress: 0 };
  return index % 2 === 0 ? person : { ...person, session: await openSession(person) };
}

async function openSession(person: Person): Promise<string> {
  const params = { protocolVersion: "2025-11-25", capabilities, clientInfo: { name: "canary", version: "1" } };
  const opened = await post(person, { id: 1, method: "initialize", params });
  await opened.over;
  const session = opened.headers["mcp-session-id"];
  if (typeof session !== "string") throw new Error(`no session: ${opened.status} ${opened.text}`);
  return session;
}

function post(person: Person, message: Loose, onMessage?: (message: Loose) => void): Promise<OpenStream> {
  const body = { jsonrpc: "2.0", ...message };
  const headers = legacyHeaders({ token: person.token, session: person.session });
  return openStream({
    port: portFor(person),
    path,
    headers,
    body,
    ...(onMessage === undefined ? {} : { onMessage }),
  });
}

/** Every call of everybody has id 1 and token 0. */
async function call(
  person: Person,
  tool: string,
  canary: string,
  { signal, ...more }: Loose & { readonly signal?: AbortSignal } = {},
): Promise<OpenStream> {
  const params: Loose = { name: tool, arguments: { canary }, ...more };
  const note = (message: Loose): void => {
    person.heard.push(JSON.stringify(message));
    if (message["method"] === "notifications/progress") person.progress += tokenIn(message) === 0 ? 1 : Number.NaN;
  };
  if (person.session === undefined) {
    const meta = { ...modernMeta, "io.modelcontextprotocol/clientCapabilities": capabilities, progressToken: 0 };
    return openStream({
      port: portFor(person),
      path,
      headers: modernHeaders(person, "tools/call", tool),
      body: { jsonrpc: "2.0", id: 1, method: "tools/call", params: { ...params, _meta: meta } },
      onMessage: note,
      ...(signal === undefined ? {} : { signal }),
    });
  }
  const message = { id: 1, method: "tools/call", params: { ...params, _meta: { progressToken: 0 } } };
  return post(person, message, (incoming) => {
    note(incoming);
    if (incoming["method"] === "elicitation/create") void answerQuestion(person, incoming);
  });
}

const tokenIn = (message: Loose): unknown => (message["params"] as Loose)["progressToken"];

/** The answer goes to the process that does not hold the call. */
async function answerQuestion(person: Person, question: Loose): Promise<void> {
  const content = { word: `word of ${person.name}` };
  const answered = await post(person, { id: question["id"], result: { action: "accept", content } });
  await answered.over;
  if (answered.status !== 202) person.heard.push(`the answer was taken with ${answered.status}`);
}

function resultOf(stream: OpenStream): Loose {
  const answer = stream.messages.find((message) => "result" in message || "error" in message);
  return (answer?.["result"] ?? answer ?? {}) as Loose;
}

/** A call that asks in between: as a modern client answers it, or as the session's question was answered. */
async function work(person: Person, tool: string, canary: string): Promise<string> {
  const first = await call(person, tool, canary);
  await first.over;
  let result = resultOf(first);
  if (result["resultType"] === "input_required") {
    const ask = { action: "accept", content: { word: `word of ${person.name}` } };
    const retried = await call(person, tool, canary, {
      inputResponses: { ask },
      requestState: result["requestState"],
    });
    await retried.over;
    result = resultOf(retried);
  }
  const [content] = (result["content"] ?? []) as { text?: string }[];
  person.heard.push(content?.text ?? JSON.stringify(result));
  return content?.text ?? JSON.stringify(result);
}

/** Cancels as the era does, once the upstream has the call: a modern client leaves, a legacy one says so. */
async function cancelOne(person: Person, upstream: "l" | "m", canary: string): Promise<void> {
  const leaving = new AbortController();
  const pending = call(person, `${upstream}_slow`, canary, { signal: leaving.signal });
  const { started } = upstream === "l" ? upstreams.legacy : upstreams.modern;
  await until(() => started.includes(canary));
  if (person.session === undefined) {
    leaving.abort();
    await pending.catch(() => undefined);
    return;
  }
  const told = await post(person, { method: "notifications/cancelled", params: { requestId: 1 } });
  await told.over;
  await (
    await pending
  ).over;
}

describe("two processes, one store, and two hundred principals that number their calls alike", () => {
  it("nobody hears a foreign canary, nothing hangs, and no call is lost", async () => {
    const people = await Promise.all(Array.from({ length: principals }, (_, index) => arrive(index)));
    const answers = await Promise.all(
      people.map(async (person) => {
        const own: { expected: string; got: string }[] = [];
        for (let round = 0; round < rounds; round += 1) {
          if (round === 1) await cancelOne(person, person.session === undefined ? "m" : "l", `${person.name} slow`);
          // A modern client in front of a legacy server is asked nothing, so its calls go to the modern one.
          const upstream = person.session === undefined || round % 2 === 0 ? "m" : "l";
          const canary = `${person.name} ${round}`;
          const expected = `${canary} heard word of ${person.name}`;
          own.push({ expected, got: await work(person, `${upstream}_work`, canary) });
        }
        return own;
      }),
    );
    const all = answers.flat();
    expect(all.filter(({ expected, got }) => expected !== got)).toEqual([]);
    expect(all).toHaveLength(principals * rounds);
    for (const person of people) {
      const foreign = person.heard.flatMap((text) => text.match(/canary-\d+;/g) ?? []);
      expect(new Set(foreign)).toEqual(new Set([person.name]));
    }
    const executed = [...upstreams.legacy.executed, ...upstreams.modern.executed];
    expect(executed).toHaveLength(principals * rounds);
    expect(new Set(executed).size).toBe(principals * rounds);
    const cancelled = [...upstreams.legacy.cancelled, ...upstreams.modern.cancelled];
    expect(cancelled.sort()).toEqual(people.map(({ name }) => `${name} slow`).sort());
    // Two reports a call; a modern client calls twice. None was lost, none came twice, each had the token 0.
    expect(people.map(({ progress }) => progress)).toEqual(
      people.map(({ session }) => 2 * rounds * (session === undefined ? 2 : 1)),
    );
  }, 240_000);
});
