import { startGatewayUnderTest } from "../../journey/gateway-under-test.ts";
import { freePort } from "../../setup/free-port.ts";
import type { GatewayUnderTest } from "../../journey/gateway-under-test.ts";
import type { Received } from "../../journey/http-client.ts";
import { modernCall, refusalIn } from "../../journey/wire-client.ts";
import { gatewayClient, startProvider } from "./provider.ts";
import type { Claims, Provider, ProviderKind } from "./provider.ts";
import { discover, signInAt } from "./sign-in-at.ts";
import type { Found, RegisteredClient, Tokens } from "./sign-in-at.ts";

/** The URLs of the gateway's two servers, which are their resource identifiers. */
export interface ServerUrls {
  readonly crm: string;
  readonly hr: string;
}

export interface ProviderCase {
  readonly name: string;
  /** The URLs are known once the provider is asked something. */
  readonly kind: (urls: ServerUrls) => ProviderKind;
  /** The issuer in the gateway's configuration, beside what all cases have. */
  readonly issuer: (urls: ServerUrls) => Claims;
  readonly client: RegisteredClient;
}

export interface ProviderBench {
  readonly provider: Provider;
  readonly gateway: GatewayUnderTest;
  readonly urls: ServerUrls;
  readonly found: Found;
  signIn(more?: Partial<RegisteredClient>): Promise<Tokens>;
  /** Lists tools with a token; the refusal's code, or `ok`. */
  outcome(token: string | undefined, server?: string): Promise<string>;
  call(token: string): Promise<Received>;
  close(): Promise<void>;
}

/** Only the group `corp:support`, or a service, lists anything, and a call needs the scope. */
const rules = [
  {
    id: "support",
    effect: "allow",
    who: { groups: { any: ["corp:support"] } },
    what: { anything: true },
    stepUp: { scopes: { all: ["mcp:use"] } },
  },
  { id: "services", effect: "allow", who: { kind: "service" }, what: { anything: true } },
];

export async function openProviderBench(
  { kind, issuer, client }: ProviderCase,
  upstreamUrl: string,
  redisUrl: string,
): Promise<ProviderBench> {
  // The provider first: listening anywhere, it could take the port that is free for the gateway.
  const urls = { crm: "", hr: "" };
  const provider = await startProvider(kind(urls));
  const publicPort = await freePort();
  const publicUrl = `http://127.0.0.1:${publicPort}`;
  Object.assign(urls, { crm: `${publicUrl}/crm/mcp`, hr: `${publicUrl}/hr/mcp` });
  const scopes = { minimal: ["mcp:use"] };
  const gateway = await startGatewayUnderTest({
    upstreams: { one: upstreamUrl },
    servers: {},
    redisUrl,
    rules,
    env: { INTROSPECTION_SECRET: gatewayClient.secret },
    publicPort,
    config: {
      listen: { host: "127.0.0.1", port: publicPort },
      auth: { issuers: [{ alias: "corp", issuer: provider.issuer, addresses: "loopback", ...issuer(urls) }] },
      servers: { crm: { scopes, upstreams: { one: {} } }, hr: { scopes, upstreams: { one: {} } } },
      limits: { verifiedTokenSecondsMax: 0 },
    },
  });
  const found = await discover(urls.crm);
  // The instance listens at the public port alone; the harness would name another.
  const at = { ...gateway, port: publicPort };
  return {
    provider,
    gateway: at,
    urls,
    found,
    signIn: async (more) => {
      const answer = await signInAt(found, { ...client, ...more });
      if ("error" in answer) throw new Error(answer.error);
      return answer;
    },
    outcome: async (token, server = "crm") => {
      const answer = await modernCall({ gateway: at, server, token }, "tools/list");
      const listed = (answer.json["result"] as { tools?: unknown[] } | undefined)?.tools?.length;
      return listed === undefined ? refusalIn(answer).code : listed > 0 ? "ok" : "nothing is listed";
    },
    call: (token) => modernCall({ gateway: at, server: "crm", token }, "tools/call", { name: "echo", arguments: {} }),
    close: async () => {
      await gateway.remove();
      await provider.close();
    },
  };
}
