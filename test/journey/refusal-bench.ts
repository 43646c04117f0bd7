import { expect } from "vitest";
import type { AuditEvent } from "../../src/audit/event.ts";
import type { RefusalCode } from "../../src/model/refusal.ts";
import { startScriptedUpstream } from "../upstream/scripted-upstream.ts";
import type { ScriptedUpstream } from "../upstream/scripted-upstream.ts";
import { startGatewayUnderTest, startIssuer, until } from "./gateway-under-test.ts";
import type { GatewayUnderTest, IssuerUnderTest } from "./gateway-under-test.ts";
import type { Loose, Received } from "./http-client.ts";
import { errorCodeIn, modernCall, openSession, refusalIn } from "./wire-client.ts";
import type { Caller } from "./wire-client.ts";

export const bodyBytesMax = 200_000;

const tools = [
  {
    name: "echo",
    inputSchema: { type: "object", properties: { n: { type: "integer" } }, additionalProperties: false },
  },
];

export const eras = ["legacy", "modern"] as const;

/** A gateway whose lists are read, an issuer, and callers that may do everything. */
export interface RefusalBench {
  readonly gateway: GatewayUnderTest;
  readonly issuer: IssuerUnderTest;
  readonly upstream: ScriptedUpstream;
  /** Modern, without a session. */
  readonly alice: Caller;
  /** Legacy, in a session of 2025-11-25. */
  readonly aliceInSession: Caller & { readonly session: string };
  readonly bob: Caller;
  close(): Promise<void>;
}

export async function openBench(): Promise<RefusalBench> {
  const upstream = await startScriptedUpstream({ era: "both", tools });
  const issuer = await startIssuer();
  const gateway = await startGatewayUnderTest({
    issuer,
    upstreams: { alpha: upstream.url },
    servers: { alpha: { alpha: "" }, other: { alpha: "" } },
    config: { limits: { bodyBytesMax, bodyTimeoutMs: 300 } },
  });
  const callerOf = async (sub: string): Promise<Caller> => {
    return { gateway, server: "alpha", token: await issuer.mint(gateway.resource("alpha"), { sub }) };
  };
  const alice = await callerOf("alice");
  await modernCall(alice, "tools/list");
  const aliceInSession = await openSession(alice);
  const close = async (): Promise<void> => {
    await gateway.remove();
    await issuer.close();
    await upstream.close();
  };
  return { gateway, issuer, upstream, alice, aliceInSession, bob: await callerOf("bob"), close };
}

/** What an input is refused with, wherever it stands. */
export interface Refused {
  readonly status: number;
  /** The JSON-RPC error code; `call` for a tool result with `isError`. */
  readonly rpc: number | "call";
  readonly code: RefusalCode;
  /** The id that is echoed; absent for messages whose id was not read. */
  readonly id?: unknown;
}

/** Holds an answer to the form of a refusal, and returns the reference it names. */
export function expectRefused(answer: Received, { status, rpc, code, id }: Refused): string {
  const said = refusalIn(answer);
  const shown = { status: answer.status, rpc: rpcCodeOf(answer), code: said.code, id: answer.json["id"] };
  expect(shown).toEqual({ status, rpc, code, id });
  expect(answer.headers["content-type"]).toMatch(/^application\/json/);
  expect(answer.json["jsonrpc"]).toBe("2.0");
  expect(said.ref).toMatch(/^[A-Z0-9]{10}$/);
  return said.ref;
}

function rpcCodeOf(answer: Received): unknown {
  const result = answer.json["result"] as Loose | undefined;
  return result?.["isError"] === true ? "call" : errorCodeIn(answer);
}

/** The events with this reference, once one of them is more than an attempt. */
export async function eventsOf(gateway: GatewayUnderTest, ref: string): Promise<AuditEvent[]> {
  const events = (): AuditEvent[] => gateway.audit().filter((event) => event.ref === ref);
  await until(() => events().some(({ type }) => type !== "attempted"));
  return events();
}

/** Everything recorded so far: events are written in order, so when a mark is there, all before it are. */
export async function auditUntilNow(gateway: GatewayUnderTest, marker: Caller): Promise<AuditEvent[]> {
  const { ref } = refusalIn(await modernCall(marker, "tools/call", { name: "mark" }));
  await eventsOf(gateway, ref);
  return gateway.audit().filter((event) => event.exposedName !== "mark");
}

/** A known principal's refusal has exactly one outcome, with the reference and the code that were told. */
export async function expectOneOutcome(gateway: GatewayUnderTest, ref: string, code: RefusalCode): Promise<void> {
  const events = await eventsOf(gateway, ref);
  expect(events.map(({ type, outcome, refusal }) => ({ type, outcome, code: refusal?.code }))).toEqual([
    { type: "refused", outcome: "refused", code },
  ]);
  expect(gateway.log.filter((line) => line.includes(ref) && line.includes(`"code":"${code}"`))).toHaveLength(1);
}

/** Sends, and holds answer, evidence and upstream to what is expected of a refusal. */
export async function refusedOnce(
  { gateway, upstream }: RefusalBench,
  ask: () => Promise<Received>,
  refused: Refused,
): Promise<Received> {
  const before = upstream.received.length;
  const answer = await ask();
  await expectOneOutcome(gateway, expectRefused(answer, refused), refused.code);
  expect(upstream.received.length).toBe(before);
  return answer;
}
