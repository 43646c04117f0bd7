import { describe, expect, it } from "vitest";
import { logLevels } from "../../src/model/log-level.ts";
import type { LogLevel } from "../../src/model/log-level.ts";
import { alice, bob, call, memoryRecords, roomFor, scripted, summary, until } from "./setup.ts";
import { event } from "./scripted-upstream.ts";
import type { Loose, ScriptedUpstream } from "./scripted-upstream.ts";

const legacy = { options: { era: "legacy" as const } };
const logging = { era: "legacy" as const, capabilities: { tools: {}, logging: {} } };

/** Lets the upstream take `logging/setLevel`; the levels that it was told, in order. */
function levelsTold(upstream: ScriptedUpstream): readonly unknown[] {
  return upstream.received
    .filter(({ rpc }) => rpc["method"] === "logging/setLevel")
    .map(({ rpc }) => (rpc["params"] as Loose)["level"]);
}

function takesLevels(upstream: ScriptedUpstream): void {
  upstream.script(({ rpc }, wire) => {
    if (rpc["method"] !== "logging/setLevel") return false;
    wire.json(200, { jsonrpc: "2.0", id: rpc["id"], result: {} });
    return true;
  });
}

describe("a legacy upstream that declares logging", () => {
  it("is told a level before the first exchange that wants a lower one, and never a higher one", async () => {
    const upstream = await scripted(logging);
    const { upstreams } = roomFor(upstream.url, legacy);
    takesLevels(upstream);
    const wanted = ["warning", "error", "warning", "info", "emergency", "debug", "info", "debug"] as const;
    for (const logLevel of wanted) expect(summary(await upstreams.request(call({ logLevel })))).toBe("result");
    expect(levelsTold(upstream)).toEqual(["warning", "info", "debug"]);
    const methods = upstream.received.map(({ rpc }) => rpc["method"]);
    expect(methods.slice(2, 4)).toEqual(["logging/setLevel", "tools/call"]);
    const [first] = upstream.received.filter(({ rpc }) => rpc["method"] === "logging/setLevel");
    expect([first?.header("mcp-session-id"), first?.header("mcp-protocol-version")]).toEqual([
      "session-1",
      "2025-11-25",
    ]);
  });

  it("is told each level once by 20 parallel calls, before any of them", async () => {
    const upstream = await scripted(logging);
    const { upstreams } = roomFor(upstream.url, legacy);
    takesLevels(upstream);
    await Promise.all(Array.from({ length: 20 }, () => upstreams.request(call({ logLevel: "info" }))));
    expect(levelsTold(upstream)).toEqual(["info"]);
    const methods = upstream.received.map(({ rpc }) => rpc["method"]);
    expect(methods.indexOf("logging/setLevel")).toBeLessThan(methods.indexOf("tools/call"));
  });

  it("is told the lowest of parallel calls that want different levels", async () => {
    const upstream = await scripted(logging);
    const { upstreams } = roomFor(upstream.url, legacy);
    takesLevels(upstream);
    const answers = await Promise.all(
      [...logLevels].reverse().map((logLevel) => upstreams.request(call({ logLevel }))),
    );
    expect(answers.map(summary)).toEqual(logLevels.map(() => "result"));
    expect(levelsTold(upstream).at(-1)).toBe("debug");
  });

  it("is told nothing by exchanges that want no messages, and one that declares none is told nothing", async () => {
    const upstream = await scripted(logging);
    await roomFor(upstream.url, legacy).upstreams.request(call());
    expect(levelsTold(upstream)).toEqual([]);
    const silent = await scripted({ era: "legacy" });
    await roomFor(silent.url, legacy).upstreams.request(call({ logLevel: "debug" }));
    expect(levelsTold(silent)).toEqual([]);
  });

  it("is told per session: another account's is another", async () => {
    const upstream = await scripted(logging);
    const { upstreams } = roomFor(upstream.url, legacy);
    takesLevels(upstream);
    for (const account of [alice, bob]) await upstreams.request(call({ account, logLevel: "info" }));
    expect(levelsTold(upstream)).toEqual(["info", "info"]);
  });

  it.each([
    { first: "debug", second: "warning", told: ["debug"] },
    { first: "warning", second: "debug", told: ["warning", "debug"] },
    { first: "info", second: "info", told: ["info"] },
  ] as const)(
    "told $first by one replica and wanted at $second by another is told $told: levels are not raised",
    async ({ first, second, told }) => {
      const upstream = await scripted(logging);
      const records = memoryRecords();
      takesLevels(upstream);
      const other = roomFor(upstream.url, { ...legacy, records });
      // The other replica has the session before the level is told, so only the record can tell it.
      await roomFor(upstream.url, { ...legacy, records }).upstreams.request(call());
      await other.upstreams.request(call());
      await roomFor(upstream.url, { ...legacy, records }).upstreams.request(call({ logLevel: first }));
      await other.upstreams.request(call({ logLevel: second }));
      expect(levelsTold(upstream)).toEqual(told);
      expect(upstream.count("initialize")).toBe(1);
      const noted = [...records.entries.values()].map((text) => (JSON.parse(text) as Loose)["logLevel"]);
      expect(noted).toEqual([told.at(-1)]);
    },
  );

  it("is told again in a new session, also when the store still has the old one's record", async () => {
    const upstream = await scripted(logging);
    const { upstreams } = roomFor(upstream.url, legacy);
    takesLevels(upstream);
    await upstreams.request(call({ logLevel: "info" }));
    upstream.forgetSessions();
    expect(summary(await upstreams.request(call({ logLevel: "info" })))).toBe("result");
    expect(levelsTold(upstream)).toEqual(["info", "info"]);
  });

  it("is told while the store is down", async () => {
    const upstream = await scripted(logging);
    const { upstreams, records } = roomFor(upstream.url, legacy);
    takesLevels(upstream);
    records.broken = true;
    for (const logLevel of ["info", "info"] as const) await upstreams.request(call({ logLevel }));
    expect(levelsTold(upstream)).toEqual(["info"]);
  });

  it.each([
    { about: "an error", status: 200, code: -32602 },
    { about: "a status", status: 503, code: "UPSTREAM_STATUS_UNEXPECTED" },
  ])("and answers with $about does not fail the call; it is logged, and not told again", async ({ status, code }) => {
    const upstream = await scripted(logging);
    const { upstreams, log } = roomFor(upstream.url, legacy);
    upstream.script(({ rpc }, wire) => {
      if (rpc["method"] !== "logging/setLevel") return false;
      if (status === 200) wire.json(200, { jsonrpc: "2.0", id: rpc["id"], error: { code, message: "secret" } });
      else wire.respond(status, undefined, "");
      return true;
    });
    for (let i = 0; i < 2; i += 1) expect(summary(await upstreams.request(call({ logLevel: "info" })))).toBe("result");
    expect(levelsTold(upstream)).toEqual(["info"]);
    expect(log.filter(({ event: name }) => name === "upstream-log-level-not-set")).toEqual([
      { event: "upstream-log-level-not-set", facts: { upstream: "up", level: "info", code } },
    ]);
  });

  it("and never answers delays the call no longer than a probe may take, and not a caller who leaves", async () => {
    const upstream = await scripted(logging);
    const { upstreams } = roomFor(upstream.url, { options: { era: "legacy", timeouts: { probeMs: 150 } } });
    upstream.script(({ rpc }) => rpc["method"] === "logging/setLevel");
    const leaving = new AbortController();
    const left = upstreams.request(call({ logLevel: "info", signal: leaving.signal }));
    const stays = upstreams.request(call({ logLevel: "info" }));
    await until(() => levelsTold(upstream).length === 1);
    leaving.abort();
    expect(summary(await left)).toBe("failed CLIENT_GONE");
    expect(summary(await stays)).toBe("result");
    expect(upstream.ledger).toEqual(["echo"]);
  });
});

describe("log messages during an exchange", () => {
  const sent = [...logLevels, "verbose", undefined, 3];
  it.each(
    [
      { era: "legacy" as const, logLevel: "debug" as const },
      { era: "legacy" as const, logLevel: "warning" as const },
      { era: "legacy" as const, logLevel: "emergency" as const },
      { era: "modern" as const, logLevel: "info" as const },
      { era: "modern" as const, logLevel: undefined },
      { era: "legacy" as const, logLevel: undefined },
    ].map((row) => ({ ...row, wanted: row.logLevel === undefined ? [] : from(row.logLevel) })),
  )("of a $era upstream reach whoever wants $logLevel: $wanted", async ({ era, logLevel, wanted }) => {
    const upstream = await scripted({ era, capabilities: { tools: {}, logging: {} } });
    const { upstreams } = roomFor(upstream.url, { options: { era } });
    upstream.script(({ rpc }, wire) => {
      if (rpc["method"] === "logging/setLevel") wire.json(200, { jsonrpc: "2.0", id: rpc["id"], result: {} });
      if (rpc["method"] !== "tools/call") return rpc["method"] === "logging/setLevel";
      wire.eventStream();
      for (const level of sent) {
        const params = { ...(level === undefined ? {} : { level }), logger: "l", data: { of: level }, _meta: { k: 1 } };
        wire.chunk(event({ jsonrpc: "2.0", method: "notifications/message", params }));
      }
      wire.chunk(event({ jsonrpc: "2.0", method: "notifications/message" }));
      wire.chunk(event({ jsonrpc: "2.0", id: rpc["id"], result: {} }));
      wire.endChunks();
      return true;
    });
    const heard: Loose[] = [];
    const onLog = (params: Loose): void => void heard.push(params);
    expect(summary(await upstreams.request(call({ logLevel, onLog })))).toBe("result");
    expect(heard.map(({ level }) => level)).toEqual(wanted);
    if (heard.length > 0) {
      const level = wanted[0];
      expect(heard[0]).toEqual({ level, logger: "l", data: { of: level }, _meta: { k: 1 } });
    }
  });

  function from(level: LogLevel): readonly string[] {
    return logLevels.slice(logLevels.indexOf(level));
  }

  it("are asked of a modern upstream with its own _meta, which no caller can put there", async () => {
    const upstream = await scripted();
    const { upstreams } = roomFor(upstream.url, { options: { era: "modern" } });
    const _meta = { "io.modelcontextprotocol/logLevel": "debug" };
    await upstreams.request(call({ logLevel: "error", params: { name: "echo", _meta } }));
    await upstreams.request(call({ params: { name: "echo", _meta } }));
    const metas = upstream.received.map(({ rpc }) => (rpc["params"] as Loose)["_meta"] as Loose);
    expect(metas.map((meta) => meta["io.modelcontextprotocol/logLevel"])).toEqual(["error", undefined]);
  });
});
