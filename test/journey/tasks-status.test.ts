import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Wire } from "../upstream/scripted-upstream.ts";
import { startGatewayUnderTest, startIssuer, until } from "./gateway-under-test.ts";
import type { GatewayUnderTest, IssuerUnderTest } from "./gateway-under-test.ts";
import type { Loose, Received } from "./http-client.ts";
import { openStream } from "./stream-client.ts";
import type { OpenStream } from "./stream-client.ts";
import { event, shownAs, startTaskUpstream } from "./task-upstream.ts";
import type { TaskUpstream } from "./task-upstream.ts";
import { legacyCall, legacyHeaders, openSession } from "./wire-client.ts";
import type { Caller } from "./wire-client.ts";

let issuer: IssuerUnderTest;
let upstream: TaskUpstream;
let gateway: GatewayUnderTest;
let alice: Caller;
let bob: Caller;
let streams: OpenStream[];
/** GET streams that the upstream holds open, by its session. */
let told: Map<string, Wire>;

beforeAll(async () => {
  issuer = await startIssuer();
});

beforeEach(async () => {
  streams = [];
  told = new Map();
  upstream = await startTaskUpstream("legacy", {
    onGet: (request, wire) => {
      wire.eventStream();
      told.set(request.header("mcp-session-id") ?? "", wire);
    },
  });
  const upstreams = { up: upstream.url };
  gateway = await startGatewayUnderTest({ issuer, upstreams, servers: { s: { up: "" } } });
  const caller = async (sub: string): Promise<Caller> =>
    openSession({ gateway, server: "s", token: await issuer.mint(gateway.resource("s"), { sub }) });
  alice = await caller("alice");
  bob = await caller("bob");
});

afterEach(async () => {
  for (const stream of streams) stream.close();
  await gateway.remove();
  await upstream.close();
});

afterAll(() => issuer.close());

const resultOf = ({ json }: Received): Loose => json["result"] as Loose;

async function listen(caller: Caller): Promise<OpenStream> {
  const headers = { ...legacyHeaders(caller), accept: "text/event-stream" };
  const stream = await openStream({ port: gateway.port, path: "/s/mcp", headers });
  streams.push(stream);
  return stream;
}

async function begin(caller: Caller): Promise<string> {
  const made = await legacyCall(caller, "tools/call", { name: "slow", arguments: {}, task: {} });
  return String((resultOf(made)["task"] as Loose)["taskId"]);
}

/** The upstream's session that the newest call came in. */
function sessionOfLast(): string {
  return upstream.sent("tools/call").at(-1)!.header("mcp-session-id") ?? "";
}

function tell(session: string, params: Loose): void {
  told.get(session)?.chunk(event({ jsonrpc: "2.0", method: "notifications/tasks/status", params }));
}

describe("a task's status that its upstream tells by itself", () => {
  it("reaches the session's stream under the client's id, cleaned, and is known to lists", async () => {
    const taskId = await begin(alice);
    const session = sessionOfLast();
    const stream = await listen(alice);
    await until(() => told.has(session));
    const task = { ...upstream.last(), status: "completed", message: "all\u{200b} done" };
    tell(session, { ...shownAs("legacy", task), _meta: { "io.modelcontextprotocol/related-task": { taskId: "x" } } });
    const [message] = await stream.received(1);
    expect(message).toEqual({
      jsonrpc: "2.0",
      method: "notifications/tasks/status",
      params: { ...shownAs("legacy", task), taskId, statusMessage: "all done" },
    });
    await until(async () => {
      const { tasks } = resultOf(await legacyCall(alice, "tasks/list")) as { tasks: Loose[] };
      return tasks[0]?.["status"] === "completed";
    });
  });

  it("reaches nobody when the task is another principal's, is not known, or is no task", async () => {
    await begin(bob);
    const foreign = upstream.last();
    const taskId = await begin(alice);
    const session = sessionOfLast();
    const stream = await listen(alice);
    await until(() => told.has(session));
    tell(session, shownAs("legacy", foreign));
    tell(session, shownAs("legacy", { taskId: "unheard-of", tool: "slow", status: "working" }));
    tell(session, { taskId: upstream.last().taskId, status: "dreaming" });
    tell(session, shownAs("legacy", upstream.last()));
    const [message] = await stream.received(1);
    expect(message).toMatchObject({ params: { taskId, status: "working" } });
    expect(stream.messages).toHaveLength(1);
    expect(stream.text).not.toContain(foreign.taskId);
  });
});
