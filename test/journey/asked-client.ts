import type { GatewayUnderTest } from "./gateway-under-test.ts";
import type { Loose, Received } from "./http-client.ts";
import { openStream, type OpenStream } from "./stream-client.ts";
import { legacyCall, legacyHeaders, post, type Caller } from "./wire-client.ts";

/** A legacy caller in a session, as whoever asks it something sees it. */
export type AskedCaller = Caller & { readonly session: string };

export const everyFeature: Loose = {
  elicitation: { form: {}, url: {} },
  sampling: { tools: {} },
  roots: { listChanged: true },
};

/** Opens a legacy session that declares `capabilities`. */
export async function openSessionWith(
  caller: Caller,
  capabilities: Loose,
  revision = "2025-11-25",
): Promise<AskedCaller> {
  const answer = await legacyCall({ ...caller, session: undefined }, "initialize", {
    protocolVersion: revision,
    capabilities,
    clientInfo: { name: "test", version: "1" },
  });
  const session = answer.headers["mcp-session-id"];
  if (typeof session !== "string") throw new Error(`no session was opened: ${answer.status} ${answer.text}`);
  return { ...caller, session };
}

export interface OpenCall {
  readonly stream: OpenStream;
  /** Requests of the gateway so far; waits for `count` of them. */
  asked(count?: number): Promise<readonly Loose[]>;
  /** The answer, once the stream has ended. */
  answer(): Promise<Loose>;
}

/** A call of a legacy session whose answer is a stream on which the client may be asked. */
export async function openCall(caller: AskedCaller, params: Loose, id: unknown = 1): Promise<OpenCall> {
  const stream = await openStream({
    port: caller.gateway.port,
    path: `/${caller.server}/mcp`,
    method: "POST",
    headers: legacyHeaders(caller),
    body: { jsonrpc: "2.0", id, method: "tools/call", params },
  });
  const requests = (): readonly Loose[] =>
    stream.messages.filter(({ method, id: asked }) => method !== undefined && asked !== undefined);
  return {
    stream,
    asked: async (count = 1) => {
      while (requests().length < count && !stream.ended) await stream.received(stream.messages.length + 1);
      return requests();
    },
    answer: async () => {
      while (!stream.ended) await stream.received(stream.messages.length + 1);
      return stream.messages.at(-1) ?? (JSON.parse(stream.text) as Loose);
    },
  };
}

/** Posts a response in the caller's session, through whichever gateway. */
export function respond(
  caller: AskedCaller,
  asked: unknown,
  answer: { result: unknown } | { error: unknown },
  gateway: Pick<GatewayUnderTest, "port"> = caller.gateway,
): Promise<Received> {
  const body = { jsonrpc: "2.0", id: asked, ...answer };
  return post({ ...caller, gateway }, legacyHeaders(caller), body);
}
