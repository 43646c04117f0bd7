import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RefusalCode } from "../../src/model/refusal.ts";
import { startScriptedUpstream } from "../upstream/scripted-upstream.ts";
import type { ReceivedRequest, ScriptedUpstream, Wire } from "../upstream/scripted-upstream.ts";
import { startGatewayUnderTest } from "./gateway-under-test.ts";
import { freePort } from "../setup/free-port.ts";
import type { GatewayUnderTest } from "./gateway-under-test.ts";
import type { Loose, Received } from "./http-client.ts";
import { eras, eventsOf } from "./refusal-bench.ts";
import { errorCodeIn, legacyCall, modernCall, openSession, refusalIn } from "./wire-client.ts";
import type { Caller } from "./wire-client.ts";

/** Text that no caller, log line or event may repeat: it is the upstream's own. */
const upstreamText = "stack trace of the upstream";

let upstream: ScriptedUpstream;
let gateway: GatewayUnderTest;
let modern: Caller;
let legacy: Caller;

beforeAll(async () => {
  upstream = await startScriptedUpstream();
  gateway = await startGatewayUnderTest({
    upstreams: { alpha: { url: upstream.url, timeouts: { callMs: 400 }, breaker: { failures: 0 } } },
    servers: { alpha: { alpha: "" } },
    config: { limits: { upstreamAnswerBytesMax: 20_000 } },
  });
  modern = { gateway, server: "alpha" };
  legacy = await openSession(modern);
});

afterAll(async () => {
  await gateway.remove();
  await upstream.close();
});

interface Failure {
  readonly reply: string;
  readonly code: RefusalCode;
  readonly outcome: "failed" | "unknown";
  readonly answer: (wire: Wire, request: ReceivedRequest) => void;
}

const success = (id: unknown): Loose => ({ jsonrpc: "2.0", id, result: { content: [], resultType: "complete" } });

const failures: readonly Failure[] = [
  { reply: "nothing at all", code: "UPSTREAM_TIMED_OUT", outcome: "unknown", answer: () => undefined },
  {
    reply: "the end of the connection",
    code: "UPSTREAM_CLOSED_EARLY",
    outcome: "unknown",
    answer: (wire) => {
      wire.end();
    },
  },
  {
    reply: "a reset in the middle of its answer",
    code: "UPSTREAM_CLOSED_EARLY",
    outcome: "unknown",
    answer: (wire) => {
      wire.write('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"jsonrpc"');
      wire.reset();
    },
  },
  {
    reply: "a stream that ends without an answer",
    code: "UPSTREAM_CLOSED_EARLY",
    outcome: "unknown",
    answer: (wire) => {
      wire.eventStream();
      wire.chunk(": nothing\n\n");
      wire.endChunks();
    },
  },
  {
    reply: "a page of HTML",
    code: "UPSTREAM_ANSWER_INVALID",
    outcome: "unknown",
    answer: (wire) => {
      wire.respond(200, "text/html", `<html>${upstreamText}</html>`);
    },
  },
  {
    reply: "an empty 200",
    code: "UPSTREAM_ANSWER_INVALID",
    outcome: "unknown",
    answer: (wire) => {
      wire.respond(200, "application/json", "");
    },
  },
  {
    reply: "a 202",
    code: "UPSTREAM_ANSWER_INVALID",
    outcome: "unknown",
    answer: (wire) => {
      wire.respond(202, undefined, "");
    },
  },
  {
    reply: "JSON with a duplicate key",
    code: "UPSTREAM_ANSWER_INVALID",
    outcome: "unknown",
    answer: (wire, { rpc }) => {
      const text = JSON.stringify(success(rpc["id"]));
      wire.respond(200, "application/json", text.replace("{", '{"result":{"content":[]},'));
    },
  },
  {
    reply: "another id",
    code: "UPSTREAM_ANSWER_UNMATCHED",
    outcome: "unknown",
    answer: (wire) => {
      wire.json(200, success("somebody-else"));
    },
  },
  {
    reply: "an answer that is too large",
    code: "UPSTREAM_ANSWER_TOO_LARGE",
    outcome: "unknown",
    answer: (wire, { rpc }) => {
      wire.json(200, { ...success(rpc["id"]), padding: "x".repeat(20_000) });
    },
  },
  {
    reply: "a result under a 500",
    code: "UPSTREAM_STATUS_UNEXPECTED",
    outcome: "unknown",
    answer: (wire, { rpc }) => {
      wire.json(500, success(rpc["id"]));
    },
  },
  {
    reply: "a 500 with a page",
    code: "UPSTREAM_STATUS_UNEXPECTED",
    outcome: "unknown",
    answer: (wire) => {
      wire.respond(500, "text/html", upstreamText);
    },
  },
  {
    reply: "a 401",
    code: "UPSTREAM_AUTH_FAILED",
    outcome: "failed",
    answer: (wire) => {
      wire.respond(401, "text/plain", upstreamText, ['WWW-Authenticate: Bearer resource_metadata="https://evil.test"']);
    },
  },
  {
    reply: "a 403",
    code: "UPSTREAM_AUTH_FAILED",
    outcome: "failed",
    answer: (wire) => {
      wire.respond(403, "text/plain", upstreamText);
    },
  },
  {
    reply: "a redirect",
    code: "UPSTREAM_STATUS_UNEXPECTED",
    outcome: "unknown",
    answer: (wire) => {
      wire.respond(302, undefined, "", ["Location: http://127.0.0.1:1/"]);
    },
  },
];

describe("an upstream's degenerate reply is an error with an honest outcome, never a success", () => {
  it.each(failures.flatMap((failure) => eras.map((era) => ({ era, ...failure }))))(
    "$era: $reply is $code, outcome $outcome",
    async ({ era, code, outcome, answer }) => {
      upstream.script((request, wire) => {
        if (request.rpc["method"] !== "tools/call") return false;
        answer(wire, request);
        return true;
      });
      const params = { name: "echo", arguments: {} };
      const answered = await (era === "modern"
        ? modernCall(modern, "tools/call", params, "seven")
        : legacyCall(legacy, "tools/call", params, "seven"));
      upstream.script(undefined);
      await expectFailed(answered, { code, outcome });
    },
  );

  it("an upstream's own error reaches the caller as an error, cleaned, with the outcome failed", async () => {
    upstream.script(({ rpc }, wire) => {
      if (rpc["method"] !== "tools/call") return false;
      wire.json(200, { jsonrpc: "2.0", id: rpc["id"], error: { code: -32603, message: "no such ticket\u{e0041}" } });
      return true;
    });
    const answer = await modernCall(modern, "tools/call", { name: "echo", arguments: {} });
    upstream.script(undefined);
    expect(answer.json["error"]).toMatchObject({ code: -32603, message: "no such ticket" });
  });
});

async function expectFailed(answer: Received, { code, outcome }: Pick<Failure, "code" | "outcome">): Promise<void> {
  expect(answer.status).toBe(200);
  expect(answer.json["id"]).toBe("seven");
  const result = answer.json["result"] as Loose;
  expect(result["isError"]).toBe(true);
  expect(JSON.stringify(result["content"]).includes("is unknown: check before you repeat it")).toBe(
    outcome === "unknown",
  );
  const said = refusalIn(answer);
  expect([said.code, said.outcome]).toEqual([code, outcome]);
  expect(answer.headers["www-authenticate"]).toBeUndefined();
  const events = (await eventsOf(gateway, said.ref)).filter(({ type }) => type !== "attempted");
  expect(events.map((event) => [event.type, event.outcome, event.refusal?.code])).toEqual([[outcome, outcome, code]]);
  expect(answer.text + gateway.auditText() + gateway.log.join("")).not.toContain(upstreamText);
}

describe("one upstream that is down", () => {
  const start = (downUrl: string): Promise<GatewayUnderTest> =>
    startGatewayUnderTest({
      upstreams: { up: upstream.url, down: downUrl },
      servers: { both: { down: "down_", up: "up_" }, alone: { down: "" } },
    });
  const names = (answer: Received): unknown[] => {
    const { tools } = answer.json["result"] as { tools: { name: string }[] };
    return tools.map(({ name }) => name);
  };

  it("costs the others nothing, and alone is an error rather than an empty list", async () => {
    const port = await freePort();
    const two = await start(`http://127.0.0.1:${port}/mcp`);
    const both = { gateway: two, server: "both" };
    expect(names(await modernCall(both, "tools/list"))).toEqual(["up_echo"]);
    expect(refusalIn(await modernCall(both, "tools/call", { name: "up_echo", arguments: {} })).code).toBe("");
    const missing = await modernCall(both, "tools/call", { name: "down_echo", arguments: {} });
    expect([errorCodeIn(missing), refusalIn(missing).code]).toEqual([-32603, "CATALOG_UNAVAILABLE"]);
    const alone = await modernCall({ gateway: two, server: "alone" }, "tools/list");
    expect([alone.status, errorCodeIn(alone), refusalIn(alone).code]).toEqual([200, -32603, "CATALOG_UNAVAILABLE"]);
    expect(alone.json["result"]).toBeUndefined();
    await two.remove();
  });

  it("and hangs delays a list once, by its bound, and no call at all", async () => {
    const hanging = await startScriptedUpstream();
    hanging.script(() => true);
    const two = await start(hanging.url);
    const both = { gateway: two, server: "both" };
    // The start has waited for its bound, the reading goes on, and while it does nobody waits for it again.
    expect(hanging.abandoned).toEqual([]);
    const reading = hanging.received.length;
    const [listed, called] = await Promise.all([
      modernCall(both, "tools/list"),
      modernCall(both, "tools/call", { name: "up_echo", arguments: {} }),
    ]);
    expect(names(listed)).toEqual(["up_echo"]);
    expect((called.json["result"] as Loose)["isError"]).toBeUndefined();
    const [event] = await eventsOf(two, two.audit().find(({ type }) => type === "listed")?.ref ?? "");
    // Below the bound on waiting for a first reading: what the list cost is evidence, not a stopwatch.
    expect(event?.durationMs ?? Infinity).toBeLessThan(2_000);
    expect([hanging.received.length, hanging.abandoned.length]).toEqual([reading, 0]);
    await two.remove();
    await hanging.close();
  });
});

describe("an upstream that was read and then goes down", () => {
  it("keeps its items listed, and its calls fail by name as not carried out", async () => {
    const going = await startScriptedUpstream();
    const one = await startGatewayUnderTest({ upstreams: { going: going.url }, servers: { s: { going: "" } } });
    const caller = { gateway: one, server: "s" };
    await modernCall(caller, "tools/list");
    await going.close();
    const listed = await modernCall(caller, "tools/list");
    expect(listed.text).toContain('"name":"echo"');
    const called = await modernCall(caller, "tools/call", { name: "echo", arguments: {} });
    expect([refusalIn(called).code, refusalIn(called).outcome]).toEqual(["UPSTREAM_UNREACHABLE", "failed"]);
    await one.remove();
  });
});
