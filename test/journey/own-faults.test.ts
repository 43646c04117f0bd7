import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type * as CheckArguments from "../../src/gateway/steps/check-arguments.ts";
import type * as RecordOutcome from "../../src/gateway/steps/record-outcome.ts";
import type * as SanitizeResult from "../../src/gateway/steps/sanitize-result.ts";
import type { Exchange } from "../../src/gateway/exchange.ts";
import { startScriptedUpstream } from "../upstream/scripted-upstream.ts";
import type { ScriptedUpstream } from "../upstream/scripted-upstream.ts";
import { startGatewayUnderTest, until } from "./gateway-under-test.ts";
import type { GatewayUnderTest } from "./gateway-under-test.ts";
import type { Received } from "./http-client.ts";
import { modernCall, refusalIn } from "./wire-client.ts";

const broken = vi.hoisted(() => ({ at: "" }));
const breakAt = vi.hoisted(() => (place: string): void => {
  if (broken.at === place) throw new TypeError("a fault of ours: secret detail");
});

vi.mock("../../src/gateway/steps/check-arguments.ts", async (original) => {
  const { checkArguments } = await original<typeof CheckArguments>();
  return {
    checkArguments: (...of: Parameters<typeof checkArguments>): ReturnType<typeof checkArguments> => {
      breakAt("before");
      return checkArguments(...of);
    },
  };
});

vi.mock("../../src/gateway/steps/sanitize-result.ts", async (original) => {
  const { sanitizeResult } = await original<typeof SanitizeResult>();
  return {
    sanitizeResult: (x: Exchange, ...rest: [never]) => {
      breakAt("after");
      return sanitizeResult(x, ...rest);
    },
  };
});

vi.mock("../../src/gateway/steps/record-outcome.ts", async (original) => {
  const { recordOutcome } = await original<typeof RecordOutcome>();
  return {
    recordOutcome: (...of: Parameters<typeof recordOutcome>): ReturnType<typeof recordOutcome> => {
      breakAt("ending");
      return recordOutcome(...of);
    },
  };
});

let upstream: ScriptedUpstream;
let gateway: GatewayUnderTest;

beforeAll(async () => {
  upstream = await startScriptedUpstream({ era: "modern" });
  gateway = await startGatewayUnderTest({ upstreams: { up: upstream.url }, servers: { s: { up: "" } } });
});

afterAll(async () => {
  await gateway.remove();
  await upstream.close();
});

const calls = (): number => upstream.count("tools/call");

/** A call while the gateway has a fault there. */
async function callWhile(place: string): Promise<Received> {
  broken.at = place;
  try {
    return await modernCall({ gateway, server: "s" }, "tools/call", { name: "echo", arguments: {} });
  } finally {
    broken.at = "";
  }
}

async function endOf(ref: string): Promise<unknown> {
  const event = (): ReturnType<GatewayUnderTest["audit"]>[number] | undefined =>
    gateway.audit().find((one) => one.ref === ref && one.outcome !== undefined);
  await until(() => event() !== undefined);
  const { type, outcome, refusal } = event()!;
  return { type, outcome, code: refusal?.code };
}

describe("a fault of the gateway's own", () => {
  it("after a call was sent leaves its outcome unknown, to the caller and in evidence", async () => {
    const before = calls();
    const answer = await callWhile("after");
    expect(calls()).toBe(before + 1);
    expect(answer.status).toBe(500);
    const { code, ref, outcome } = refusalIn(answer);
    expect([code, outcome]).toEqual(["INTERNAL_FAULT", "unknown"]);
    expect(await endOf(ref)).toEqual({ type: "unknown", outcome: "unknown", code: "INTERNAL_FAULT" });
  });

  it("before a call was sent refuses it", async () => {
    const before = calls();
    const answer = await callWhile("before");
    expect(calls()).toBe(before);
    expect([answer.status, refusalIn(answer).code]).toEqual([500, "INTERNAL_FAULT"]);
    expect(refusalIn(answer).outcome).not.toBe("unknown");
    expect(await endOf(refusalIn(answer).ref)).toEqual({ type: "refused", outcome: "refused", code: "INTERNAL_FAULT" });
  });

  it.each(["before", "after", "ending"])(
    "(%s) tells the caller nothing of it, the log its cause, and harms no other call",
    async (place) => {
      const answer = await callWhile(place);
      const { code, ref } = refusalIn(answer);
      expect([answer.status, code, answer.json["id"]]).toEqual([500, "INTERNAL_FAULT", 1]);
      expect(answer.text).not.toContain("secret detail");
      expect(gateway.log.some((line) => line.includes(ref) && line.includes("secret detail"))).toBe(true);
      expect(refusalIn(await callWhile("")).code).toBe("");
    },
  );
});
