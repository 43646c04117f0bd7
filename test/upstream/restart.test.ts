import { expect, test } from "vitest";
import type { UpstreamAnswer, Upstreams } from "../../src/upstream/port.ts";
import { call, roomFor, scripted, summary, until } from "./setup.ts";
import type { Script, ScriptedUpstream, ScriptedUpstreamOptions } from "./scripted-upstream.ts";
import { changing, hasty, watch } from "./watch-under-test.ts";

/** An upstream that is stopped and started again at the same place: sessions and connections are gone with it. */
async function restartable(
  options: ScriptedUpstreamOptions,
): Promise<{ readonly first: ScriptedUpstream; restart(): Promise<ScriptedUpstream> }> {
  const first = await scripted(options);
  return {
    first,
    restart: async () => {
      await first.close();
      return scripted({ ...options, port: first.port });
    },
  };
}

function parallel(upstreams: Upstreams, names: readonly string[]): Promise<UpstreamAnswer>[] {
  return names.map((name) => upstreams.request(call({ name, params: { name, arguments: {} } })));
}

const names = (prefix: string): readonly string[] => Array.from({ length: 20 }, (_, at) => `${prefix}-${at}`);

const processes: readonly ScriptedUpstreamOptions[] = [
  { era: "legacy" },
  { era: "legacy", unknownSession: "400" },
  { era: "legacy", answers: "events" },
  { era: "legacy", sessions: false },
  { era: "modern" },
];

test.each(processes)(
  "restarted while idle: 20 parallel calls of one session are executed once each, in one session: %j",
  async (options) => {
    const process = await restartable(options);
    // Few connections: some calls learn that the session is lost when there is another already.
    const { upstreams } = roomFor(process.first.url, { options: { connectionsMax: 4 } });
    expect(summary(await upstreams.request(call()))).toBe("result");
    const next = await process.restart();
    const answers = await Promise.all(parallel(upstreams, names("after")));
    expect(answers.map(summary)).toEqual(names("after").map(() => "result"));
    expect([...next.ledger].sort()).toEqual([...names("after")].sort());
    const reopens = options.era === "legacy" && options.sessions !== false;
    expect(next.count("initialize")).toBe(reopens ? 1 : 0);
  },
);

test.each(["legacy", "modern"] as const)(
  "restarted during calls: each is answered as success, failed or unknown, and none is executed twice: %s",
  async (era) => {
    const process = await restartable({ era });
    const { upstreams } = roomFor(process.first.url, { options: { connectionsMax: 8 } });
    expect(summary(await upstreams.request(call()))).toBe("result");
    const executed: string[] = [];
    process.first.script((request, wire) => {
      if (request.rpc["method"] !== "tools/call") return false;
      const { name } = request.rpc["params"] as { name: string };
      executed.push(name);
      const result = { content: [], resultType: "complete" };
      if (executed.length <= 5) wire.json(200, { jsonrpc: "2.0", id: request.rpc["id"], result });
      return true;
    });
    const during = parallel(upstreams, names("during"));
    await until(() => executed.length === 13);
    const next = await process.restart();
    const answers = await Promise.all([...during, ...parallel(upstreams, names("after"))]);
    const outcomes = answers.map((answer) => (answer.kind === "failed" ? answer.outcome : "success"));
    const times = [...names("during"), ...names("after")].map(
      (name) => [...executed, ...next.ledger].filter((one) => one === name).length,
    );
    const judged = outcomes.map((outcome, at) => `${outcome} ${times[at] ?? 0}`);
    for (const one of judged) expect(["success 1", "failed 0", "unknown 0", "unknown 1"]).toContain(one);
    expect(judged.filter((one) => one === "unknown 1")).toHaveLength(8);
    expect(judged.slice(0, 20)).toContain("success 1");
  },
);

test("a stream of a restarted upstream stands again, in a new session", async () => {
  const process = await restartable({ era: "legacy", capabilities: changing });
  const listening: Script = (request, wire) => {
    if (request.method !== "GET") return false;
    wire.eventStream();
    return true;
  };
  process.first.script(listening);
  const room = roomFor(process.first.url, { limits: hasty });
  const seen = watch(room);
  await until(() => process.first.received.some(({ method }) => method === "GET"));
  const next = await process.restart();
  next.script((request, wire) => next.sessions.has(request.header("mcp-session-id") ?? "") && listening(request, wire));
  await until(() => seen.reopened === 1);
  expect(next.count("initialize")).toBe(1);
});
