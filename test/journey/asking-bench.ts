import { everyFeature, openSessionWith } from "./asked-client.ts";
import type { AskedCaller } from "./asked-client.ts";
import { startLegacyAsking } from "./asking-upstream.ts";
import { startGatewayUnderTest, startIssuer } from "./gateway-under-test.ts";
import type { GatewayUnderTest } from "./gateway-under-test.ts";
import type { Loose } from "./http-client.ts";

/** A gateway before a legacy upstream that asks, and the sessions of three people. */
export interface AskingBench {
  readonly asking: Awaited<ReturnType<typeof startLegacyAsking>>;
  readonly gateway: GatewayUnderTest;
  /** Alice's client may be asked everything, bob's nothing, carol's what its parameters say may be asked. */
  session(capabilities?: Loose, sub?: string): Promise<AskedCaller>;
  close(): Promise<void>;
}

const rules = [
  { id: "calls", effect: "allow", who: { anyone: true }, what: { upstream: "up", tool: "echo" } },
  { id: "asks", effect: "allow", who: groups("alice"), what: { upstream: "up", clientFeature: "*" } },
  {
    id: "asks-in-part",
    effect: "allow",
    who: groups("carol"),
    what: { upstream: "up", clientFeature: "*" },
    when: "has(args.allowed) && args.allowed == true",
  },
];

function groups(name: string): Loose {
  return { groups: { any: [`corp:${name}`] } };
}

export async function startAskingBench(): Promise<AskingBench> {
  const issuer = await startIssuer();
  const asking = await startLegacyAsking();
  const gateway = await startGatewayUnderTest({
    issuer,
    upstreams: { up: { url: asking.upstream.url, timeouts: { callMs: 5_000 } } },
    servers: { s: { up: "" } },
    rules,
  });
  return {
    asking,
    gateway,
    session: async (capabilities = everyFeature, sub = "alice") => {
      const token = await issuer.mint(gateway.resource("s"), { sub, groups: [sub] });
      return openSessionWith({ gateway, server: "s", token }, capabilities);
    },
    close: async () => {
      await gateway.remove();
      await asking.close();
      await issuer.close();
    },
  };
}

export const calling = (...ask: Loose[]): Loose => ({ name: "echo", arguments: { ask } });

export const toldIn = (answer: Loose): unknown => (answer["result"] as Loose | undefined)?.["told"];

export const picture = {
  role: "assistant",
  model: "m",
  content: { type: "text", text: "Paris" },
  stopReason: "endTurn",
} as const;

export const use = { type: "tool_use", id: "1", name: "look", input: {} } as const;
