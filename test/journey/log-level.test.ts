import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { logLevels } from "../../src/model/log-level.ts";
import { startRedis } from "../setup/redis.ts";
import type { RedisUnderTest } from "../setup/redis.ts";
import { startScriptedUpstream } from "../upstream/scripted-upstream.ts";
import type { ScriptedUpstream } from "../upstream/scripted-upstream.ts";
import { startGatewayUnderTest } from "./gateway-under-test.ts";
import { freePort } from "../setup/free-port.ts";
import type { GatewayUnderTest } from "./gateway-under-test.ts";
import type { Loose, Received } from "./http-client.ts";
import { errorCodeIn, legacyCall, modernCall, openSession, refusalIn } from "./wire-client.ts";
import type { Caller } from "./wire-client.ts";

let redis: RedisUnderTest;
let upstream: ScriptedUpstream;
let here: GatewayUnderTest;
let there: GatewayUnderTest;

beforeAll(async () => {
  redis = await startRedis();
  upstream = await startScriptedUpstream({ capabilities: { tools: {}, logging: {} } });
  const publicPort = await freePort();
  const options = { redisUrl: redis.url, publicPort, upstreams: { up: upstream.url }, servers: { s: { up: "" } } };
  [here, there] = [await startGatewayUnderTest(options), await startGatewayUnderTest(options)];
});

afterAll(async () => {
  await here.remove();
  await there.remove();
  await upstream.close();
  await redis.stop();
});

const setLevel = (caller: Caller, level: unknown): Promise<Received> =>
  legacyCall(caller, "logging/setLevel", level === undefined ? {} : { level });

/** The level that a call of this client asks the upstream for. */
async function askedFor(caller: Caller): Promise<unknown> {
  await legacyCall(caller, "tools/call", { name: "echo", arguments: {} });
  const { _meta } = upstream.received.findLast(({ rpc }) => rpc["method"] === "tools/call")!.rpc["params"] as Loose;
  return (_meta as Loose)["io.modelcontextprotocol/logLevel"];
}

describe("logging/setLevel", () => {
  it.each(logLevels)("%s is answered with {} and holds for the session's calls, on either replica", async (level) => {
    const caller = await openSession({ gateway: here, server: "s" });
    const answer = await setLevel(caller, level);
    expect([answer.status, answer.json["result"]]).toEqual([200, {}]);
    expect(await askedFor(caller)).toBe(level);
    expect(await askedFor({ ...caller, gateway: there })).toBe(level);
  });

  it.each([["verbose"], ["INFO"], [""], [undefined], [null], [3], [["info"]]])(
    "%j is refused with -32602, and what held before holds on",
    async (level) => {
      const caller = await openSession({ gateway: here, server: "s" });
      await setLevel(caller, "warning");
      const answer = await setLevel(caller, level);
      expect([answer.status, errorCodeIn(answer), refusalIn(answer).code]).toEqual([200, -32602, "RPC_PARAMS_INVALID"]);
      expect(await askedFor(caller)).toBe("warning");
    },
  );

  it("of one session says nothing of another", async () => {
    const [one, other] = [
      await openSession({ gateway: here, server: "s" }),
      await openSession({ gateway: here, server: "s" }),
    ];
    await setLevel(one, "debug");
    expect(await askedFor(other)).not.toBe("debug");
    expect(await askedFor(one)).toBe("debug");
  });

  it("said last holds, whichever replica heard it, also when many are said at once", async () => {
    const caller = await openSession({ gateway: here, server: "s" });
    const many = await Promise.all(
      logLevels.slice(0, 4).map((level, at) => setLevel({ ...caller, gateway: at % 2 === 0 ? here : there }, level)),
    );
    for (const answer of many) expect(answer.status).toBe(200);
    await setLevel({ ...caller, gateway: there }, "emergency");
    expect(await askedFor(caller)).toBe("emergency");
  });

  it("without a session is refused, and does not exist in the modern era", async () => {
    expect((await setLevel({ gateway: here, server: "s" }, "info")).status).toBe(400);
    const modern = await modernCall({ gateway: here, server: "s" }, "logging/setLevel", { level: "info" });
    expect([modern.status, errorCodeIn(modern)]).toEqual([404, -32601]);
  });
});
