import { randomBytes } from "node:crypto";
import { stringify } from "yaml";
import { openCredentials, upstreamOptions, type OpenCredentials } from "../../src/compose-credentials.ts";
import type { SignIn } from "../../src/compose-sign-in.ts";
import { loadConfig } from "../../src/config/load.ts";
import type { Config } from "../../src/config/types.ts";
import { createMemoryStore } from "../../src/store/memory.ts";
import { createLog } from "../../src/telemetry/log.ts";
import { createUpstreams } from "../../src/upstream/create.ts";
import type { OnAccountOf, UpstreamRequest, Upstreams } from "../../src/upstream/port.ts";
import { principal, type Where } from "./client-auth-account.ts";
import { issuerBehind } from "./client-auth-issuer.ts";
import type { Values } from "./fixture-item.ts";

/** Whether the company's provider vouches at the server for a person who signed in there. */
export function isAsserted(scenario: string): boolean {
  return scenario === "auth/enterprise-managed-authorization";
}

const callMs = 10_000;

/**
 * The upstream side of a gateway calls the server on the account of a person, whose ID token the suite hands over as
 * if they had signed in: its provider has no page to sign in at. All else is as configuration has it.
 */
export async function driveAsserted({ serverUrl, context }: Where): Promise<void> {
  const config = configOf(serverUrl, await issuerBehind(serverUrl), context);
  const upstreams = openUpstreams(config, String(context["idp_id_token"]));
  try {
    await ask(upstreams, { method: "tools/list", params: {}, name: undefined, kind: undefined });
    const params = { name: "test-tool", arguments: {} };
    await ask(upstreams, { method: "tools/call", params, name: params.name, kind: "tool" });
  } finally {
    await upstreams.close();
  }
}

/** The person is one of the built-in server's, which is the gateway itself. */
const { tenant, issuer: publicUrl, key: principalKey, subject: person } = principal;
const account: OnAccountOf = {
  tenant,
  principalKey,
  clientSession: undefined,
  caller: { principal, token: undefined },
};

function configOf(serverUrl: string, issuer: string, context: Values): Config {
  const client = { clientId: context["client_id"], clientSecret: "${env:CLIENT_SECRET}" };
  // The suite's provider asks no client for a secret, and the gateway wants to have one there.
  const here = { clientId: context["idp_client_id"], clientSecret: "${env:PROVIDER_SECRET}" };
  const env = new Map([
    ["CLIENT_SECRET", String(context["client_secret"])],
    ["PROVIDER_SECRET", "a secret for one run"],
  ]);
  const text = stringify({
    publicUrl,
    auth: { builtIn: { provider: { issuer: context["idp_issuer"], ...here, addresses: "loopback" } } },
    upstreams: {
      up: { url: serverUrl, addresses: "loopback", credential: { type: "identityAssertion", issuer, ...client } },
    },
    servers: { up: { upstreams: { up: {} } } },
    policies: "./policies",
    store: { memory: true },
  });
  const loaded = loadConfig({ text, path: "/sallyport.yaml", env: (name) => env.get(name), readFile: noFile });
  if (!loaded.ok) throw new Error(`The gateway's configuration is wrong: ${JSON.stringify(loaded.faults)}`);
  return loaded.config;
}

function noFile(path: string): string {
  throw new Error(`Nothing is to be read, and ${path} was`);
}

function openUpstreams(config: Config, idToken: string): Upstreams {
  const records = createMemoryStore({ now: Date.now });
  return createUpstreams({
    upstreams: upstreamOptions(config, credentialsOf(config, idToken)),
    records,
    now: Date.now,
    randomId: () => randomBytes(16).toString("hex"),
    gatewayInfo: { name: "sallyport", version: "1.0.0" },
    limits: config.limits,
    log: () => undefined,
  });
}

function credentialsOf(config: Config, idToken: string): OpenCredentials {
  const pages: Pick<NonNullable<SignIn["pages"]>, "idTokenOf"> = {
    idTokenOf: (subject) => Promise.resolve(subject === person ? idToken : undefined),
  };
  return openCredentials({
    config,
    store: createMemoryStore({ now: Date.now }),
    log: createLog({ level: "fatal", destination: { write: () => undefined } }),
    grants: undefined,
    signIn: { pages: pages as SignIn["pages"] },
  });
}

async function ask(
  upstreams: Upstreams,
  what: Pick<UpstreamRequest, "method" | "params" | "name" | "kind">,
): Promise<void> {
  const signal = new AbortController().signal;
  const answer = await upstreams.request({
    upstream: "up",
    account,
    inputSchema: undefined,
    signal,
    timeoutMs: callMs,
    ...what,
  });
  if (answer.kind === "failed") throw new Error(`Refused: ${JSON.stringify(answer.refusal)}`);
  if (answer.kind === "error") throw new Error(`${what.method} was answered with ${JSON.stringify(answer.error)}`);
}
