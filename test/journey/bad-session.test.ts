import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Loose, Received } from "./http-client.ts";
import { expectOneOutcome, openBench, refusedOnce } from "./refusal-bench.ts";
import type { RefusalBench, Refused } from "./refusal-bench.ts";
import { legacyCall, legacyHeaders, post, refusalIn } from "./wire-client.ts";
import type { Caller } from "./wire-client.ts";

let bench: RefusalBench;

beforeAll(async () => {
  bench = await openBench();
});

afterAll(async () => {
  await bench.close();
});

const call = (params: Loose): Loose => ({ jsonrpc: "2.0", id: 7, method: "tools/call", params });
const echo = { name: "echo", arguments: {} };
const mismatch = { status: 400, rpc: -32020, code: "HEADER_MISMATCH", id: 7 } as const;

interface LegacyFault extends Refused {
  readonly fault: string;
  readonly who?: "alice" | "bob" | "nobody's session" | "no session" | "another server";
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly message: Loose;
}

const sessionless = { status: 404, rpc: -32001, id: 7 } as const;

const legacyFaults: readonly LegacyFault[] = [
  {
    fault: "an unknown method",
    message: { ...call({}), method: "tools/teleport" },
    status: 200,
    rpc: -32601,
    code: "RPC_METHOD_UNKNOWN",
    id: 7,
  },
  { fault: "an unknown tool", message: call({ name: "nope" }), status: 200, rpc: -32602, code: "ITEM_UNKNOWN", id: 7 },
  {
    fault: "an unknown resource",
    message: { ...call({ uri: "x://y" }), method: "resources/read" },
    status: 200,
    rpc: -32002,
    code: "ITEM_UNKNOWN",
    id: 7,
  },
  { fault: "no name", message: call({}), status: 200, rpc: -32602, code: "RPC_PARAMS_INVALID", id: 7 },
  {
    fault: "params that are a list",
    message: { ...call({}), params: [] as unknown },
    status: 200,
    rpc: -32602,
    code: "RPC_PARAMS_INVALID",
    id: 7,
  },
  {
    fault: "arguments the schema refuses",
    message: call({ ...echo, arguments: { other: 1 } }),
    status: 200,
    rpc: "call",
    code: "ARGUMENTS_INVALID",
    id: 7,
  },
  {
    fault: "a wrong revision",
    headers: { "mcp-protocol-version": "1999-01-01" },
    message: call(echo),
    status: 400,
    rpc: -32022,
    code: "REVISION_UNSUPPORTED",
    id: 7,
  },
  { fault: "an Mcp-Method unlike the body", headers: { "mcp-method": "tools/list" }, message: call(echo), ...mismatch },
  {
    fault: "no session",
    who: "no session",
    message: call(echo),
    status: 400,
    rpc: -32000,
    code: "SESSION_MISSING",
    id: 7,
  },
  {
    fault: "a session that never was",
    who: "nobody's session",
    message: call(echo),
    ...sessionless,
    code: "SESSION_UNKNOWN",
  },
  {
    fault: "a session id of another form",
    headers: { "mcp-session-id": "../../x" },
    message: call(echo),
    ...sessionless,
    code: "SESSION_UNKNOWN",
  },
];

const neverGranted = "AAAAAAAAAAAAAAAAAAAAAA";

function legacyCaller(who: LegacyFault["who"]): Caller {
  const { alice, aliceInSession } = bench;
  if (who === "no session") return alice;
  return who === "nobody's session" ? { ...alice, session: neverGranted } : aliceInSession;
}

describe("a legacy request at fault is refused in its own way", () => {
  it.each(legacyFaults)("$fault is $code", async ({ who, headers = {}, message, status, rpc, code, id }) => {
    const caller = legacyCaller(who);
    await refusedOnce(bench, () => post(caller, { ...legacyHeaders(caller), ...headers }, message), {
      status,
      rpc,
      code,
      id,
    });
  });

  it("another principal's session is SESSION_NOT_YOURS inside, and outside the same bytes as none", async () => {
    const { bob, aliceInSession } = bench;
    const ask = (session: string): Promise<Received> => legacyCall({ ...bob, session }, "tools/list");
    const foreign = await ask(aliceInSession.session);
    const absent = await ask(neverGranted);
    expect(foreign.status).toBe(404);
    const [foreignRef, absentRef] = [refusalIn(foreign).ref, refusalIn(absent).ref];
    expect(foreign.text.replace(foreignRef, "REF")).toBe(absent.text.replace(absentRef, "REF"));
    const shape = ({ headers }: Received): Loose => ({ ...headers, date: "" });
    expect(shape(foreign)).toEqual(shape(absent));
    await expectOneOutcome(bench.gateway, foreignRef, "SESSION_NOT_YOURS");
    await expectOneOutcome(bench.gateway, absentRef, "SESSION_UNKNOWN");
  });

  it("a session opened at one server is unknown at another", async () => {
    const { gateway, issuer, aliceInSession } = bench;
    const token = await issuer.mint(gateway.resource("other"));
    const elsewhere = { gateway, server: "other", token, session: aliceInSession.session };
    await refusedOnce(bench, () => legacyCall(elsewhere, "tools/list", {}, 7), {
      ...sessionless,
      code: "SESSION_UNKNOWN",
    });
  });
});
