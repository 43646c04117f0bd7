import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AuditEvent } from "../../src/audit/event.ts";
import { startGatewayUnderTest, startIssuer, until } from "../journey/gateway-under-test.ts";
import type { GatewayUnderTest, IssuerUnderTest } from "../journey/gateway-under-test.ts";
import type { Loose } from "../journey/http-client.ts";
import { startListeningUpstream } from "../journey/listening-bench.ts";
import type { ListeningUpstream } from "../journey/listening-bench.ts";
import { openStream } from "../journey/stream-client.ts";
import type { OpenStream } from "../journey/stream-client.ts";
import {
  legacyCall,
  legacyHeaders,
  modernCall,
  modernHeaders,
  modernMeta,
  openSession,
} from "../journey/wire-client.ts";
import type { Caller } from "../journey/wire-client.ts";
import type { ReceivedRequest, Wire } from "../upstream/scripted-upstream.ts";

/** Both allow the call, each by a rule and with a preset of its own: what belongs together shows. */
type Which = "A" | "B";

let issuer: IssuerUnderTest;
let upstream: ListeningUpstream;
let gateway: GatewayUnderTest;

function rulesOf(which: Which): readonly Readonly<Record<string, unknown>>[] {
  const what = { upstream: "alpha", tool: "echo" };
  return [
    { id: `${which}-allows`, effect: "allow", who: { anyone: true }, what },
    { id: `${which}-stamps`, effect: "constrain", who: { anyone: true }, what, presets: { stamp: which } },
    { id: `${which}-keeps`, effect: "constrain", who: { anyone: true }, what, replayFields: ["/n", "/stamp"] },
  ];
}

/** A tool that says with which arguments it was called, after a moment. */
function echo(request: ReceivedRequest, wire: Wire): boolean {
  if (request.rpc["method"] !== "tools/call") return false;
  const { arguments: args } = request.rpc["params"] as Loose;
  const result = { content: [{ type: "text", text: JSON.stringify(args) }] };
  setTimeout(() => {
    wire.json(200, { jsonrpc: "2.0", id: request.rpc["id"], result });
  }, 3);
  return true;
}

beforeAll(async () => {
  [issuer, upstream] = [await startIssuer(), await startListeningUpstream("legacy", { first: echo })];
  const properties = { n: { type: "integer" }, stamp: { type: "string" } };
  upstream.items.tool.splice(0, 1, {
    name: "echo",
    inputSchema: { type: "object", properties, required: ["n", "stamp"], additionalProperties: false },
  });
  gateway = await startGatewayUnderTest({
    issuer,
    upstreams: { alpha: upstream.url },
    servers: { alpha: { alpha: "" } },
    rules: rulesOf("A"),
    config: { limits: { bundlePollMs: 3_600_000 } },
  });
});

afterAll(async () => {
  await gateway.remove();
  await upstream.close();
  await issuer.close();
});

async function put(which: Which): Promise<string> {
  writeFileSync(
    join(gateway.folder, "policies", "test.yaml"),
    JSON.stringify({ policy: "test", rules: rulesOf(which) }),
  );
  await gateway.running.reload();
  const ready = await fetch(`${gateway.running.addresses.operations}/readyz?verbose`);
  return ((await ready.json()) as { digests: { policy: string } }).digests.policy;
}

async function caller(sub: string): Promise<Caller> {
  return { gateway, server: "alpha", token: await issuer.mint(gateway.resource("alpha"), { sub }) };
}

interface Answered {
  readonly n: number;
  /** What the upstream was sent, as it says itself; undefined for anything but a success. */
  readonly sent: Loose | undefined;
}

async function answered(call: Promise<{ json: Loose }>, n: number): Promise<Answered> {
  const { json } = await call;
  const { content } = (json["result"] ?? {}) as { content?: { text: string }[]; isError?: boolean };
  const text = content?.[0]?.text ?? "";
  return { n, sent: text.startsWith("{") ? (JSON.parse(text) as Loose) : undefined };
}

/** Calls, one after the other, until told to stop. */
async function keepCalling(call: (n: number) => Promise<{ json: Loose }>, first: number, stop: { on: boolean }) {
  const answers: Answered[] = [];
  for (let n = first; !stop.on; n += 1) answers.push(await answered(call(n), n));
  return answers;
}

async function streamsOf(by: Caller): Promise<readonly OpenStream[]> {
  const at = { port: gateway.port, path: "/alpha/mcp" };
  const params = { notifications: { toolsListChanged: true }, _meta: modernMeta };
  return [
    await openStream({
      ...at,
      headers: modernHeaders(by, "subscriptions/listen"),
      body: { jsonrpc: "2.0", id: 1, method: "subscriptions/listen", params },
    }),
    await openStream({ ...at, headers: { ...legacyHeaders(await openSession(by)), accept: "text/event-stream" } }),
  ];
}

const flips = 50;
const perCaller = 1_000_000;

describe("policies that are replaced under load", () => {
  it("fail no call, drop no stream, and judge each call by one of them alone", async () => {
    const digests: Record<Which, string> = { B: await put("B"), A: await put("A") };
    const people = await Promise.all(["ada", "bo", "cy", "di", "ed", "flo"].map((sub) => caller(sub)));
    const streams = await streamsOf(await caller("listener"));
    const stop = { on: false };
    const calling = people.map(async (by, at) => {
      const session = at % 2 === 0 ? undefined : await openSession(by);
      const args = (n: number): Loose => ({ name: "echo", arguments: { n } });
      const call = (n: number): Promise<{ json: Loose }> =>
        session === undefined ? modernCall(by, "tools/call", args(n)) : legacyCall(session, "tools/call", args(n));
      return keepCalling(call, at * perCaller, stop);
    });
    for (let flip = 0; flip < flips; flip += 1) {
      await put(flip % 2 === 0 ? "B" : "A");
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    stop.on = true;
    const answers = (await Promise.all(calling)).flat();
    expect(answers.filter(({ sent }) => sent === undefined)).toEqual([]);
    expect(streams.map(({ ended }) => ended)).toEqual([false, false]);

    await gateway.stop();
    const events = gateway.audit().filter(({ method, type }) => method === "tools/call" && type !== "attempted");
    expect(events.length).toBe(answers.length);
    const sentAs = new Map(answers.map(({ n, sent }) => [n, sent?.["stamp"]]));
    const stamps = events.map((event) => {
      const { which, n } = judgedBy(event);
      const [rule] = event.decision?.effect === "allow" ? [event.decision.rule] : [];
      expect([rule, event.digests.policy, sentAs.get(n)]).toEqual([`${which}-allows`, digests[which], which]);
      return which;
    });
    // Both had their share: otherwise nothing was shown.
    expect(new Set(stamps)).toEqual(new Set(["A", "B"]));
    await until(() => streams.every(({ ended }) => ended));
  }, 120_000);
});

function judgedBy({ read }: AuditEvent): { which: Which; n: number } {
  return { which: read?.["/stamp"] as Which, n: Number(read?.["/n"]) };
}
