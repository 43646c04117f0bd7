import { startCrm } from "../../deploy/quickstart/crm.ts";
import type { Upstream } from "../../deploy/quickstart/serve-upstream.ts";
import { startTickets } from "../../deploy/quickstart/tickets.ts";
import { startGatewayUnderTest } from "../journey/gateway-under-test.ts";
import type { GatewayUnderTest } from "../journey/gateway-under-test.ts";
import type { Login } from "../../deploy/quickstart/person.ts";
import { spawnEverything } from "./spawn-everything.ts";
import type { Everything } from "./spawn-everything.ts";

/** A gateway with its own authorization server in front of three real servers, each under its name and all under `desk`. */
export interface InteropGateway {
  readonly gateway: GatewayUnderTest;
  readonly everything: Everything;
  /** SDK v2, modern only. */
  readonly tickets: Upstream;
  /** SDK v1, legacy only. */
  readonly crm: Upstream;
  url(server: string): string;
  stop(): Promise<void>;
}

export const alice: Login = { username: "alice", password: "alice-at-the-desk" };

const env = { ALICE_PASSWORD: alice.password, CRM_KEY: "crm-key-of-the-gateway" };

const rules = [
  {
    id: "updates-need-a-scope",
    effect: "allow",
    who: { anyone: true },
    what: { upstream: "crm", tool: "update_customer" },
    stepUp: { scopes: { all: ["mcp:use", "crm:write"] } },
  },
  {
    id: "exports-are-small",
    effect: "allow",
    who: { anyone: true },
    what: { upstream: "crm", tool: "export_*" },
    when: "has(args.ids) && size(args.ids) <= 2",
    message: "Ask for at most 2 ids.",
  },
  allowAll("crm", "tool", ["get_*", "find_*"]),
  ...["prompt", "resource", "template"].map((kind) => allowAll("crm", kind, ["**"])),
  ...["tickets", "everything"].flatMap((upstream) =>
    ["tool", "prompt", "resource", "template"].map((kind) => allowAll(upstream, kind, ["**"])),
  ),
];

function allowAll(upstream: string, kind: string, names: readonly string[]): Readonly<Record<string, unknown>> {
  return { id: `${upstream}-${kind}`, effect: "allow", who: { anyone: true }, what: { upstream, [kind]: names } };
}

const scopes = { minimal: ["mcp:use"], supported: ["mcp:use", "crm:write"] };

export async function startInterop(): Promise<InteropGateway> {
  const everything = await spawnEverything();
  const tickets = await startTickets({ port: 0, badManners: false });
  const crm = await startCrm({ port: 0, badManners: false, apiKey: env.CRM_KEY });
  const gateway = await startGatewayUnderTest({
    upstreams: {
      everything: everything.url,
      tickets: tickets.url,
      crm: { url: crm.url, credential: { type: "static", headers: { "x-api-key": "${env:CRM_KEY}" } } },
    },
    servers: {},
    rules,
    env,
    config: {
      auth: { builtIn: { alias: "local", users: [{ username: alice.username, password: "${env:ALICE_PASSWORD}" }] } },
      servers: {
        everything: { scopes, upstreams: { everything: {} } },
        tickets: { scopes, upstreams: { tickets: {} } },
        crm: { scopes, upstreams: { crm: {} } },
        desk: {
          title: "The desk",
          instructions: "Ask for tickets first.",
          scopes,
          upstreams: { tickets: { prefix: "t_" }, crm: { prefix: "c_" }, everything: { prefix: "e_" } },
        },
      },
    },
  });
  return {
    gateway,
    everything,
    tickets,
    crm,
    url: (server) => gateway.resource(server),
    stop: async () => {
      await gateway.remove();
      await Promise.all([everything.close(), tickets.close(), crm.close()]);
    },
  };
}
