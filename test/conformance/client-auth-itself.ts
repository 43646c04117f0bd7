import type { Where } from "./client-auth-account.ts";
import { issuerBehind } from "./client-auth-issuer.ts";
import { connectClient } from "./client-of-era.ts";
import type { Values } from "./fixture-item.ts";
import { startGatewayBefore } from "./gateway.ts";

/** How the gateway proves who it is, by what the suite hands over: the name in the configuration, and in the context. */
const proofs: Readonly<Record<string, { readonly setting: string; readonly handed: string }>> = {
  "auth/client-credentials-basic": { setting: "clientSecret", handed: "client_secret" },
  "auth/client-credentials-jwt": { setting: "privateKey", handed: "private_key_pem" },
};

/** Whether the gateway signs in at the server as itself, for everybody. */
export function isAsItself(scenario: string): boolean {
  return Object.hasOwn(proofs, scenario);
}

/** A client asks a gateway whose credential for the server is its own client's. */
export async function driveAsItself(scenario: string, { serverUrl, era, context }: Where): Promise<void> {
  const gateway = await startGatewayBefore(serverUrl, await ownCredential(scenario, serverUrl, context));
  try {
    const client = await connectClient(era, gateway.url);
    const tools = await client.listTools();
    if (tools.length === 0) throw new Error("No tool is listed");
    await client.callTool("test-tool", {});
    await client.close();
  } finally {
    await gateway.close();
  }
}

async function ownCredential(
  scenario: string,
  serverUrl: string,
  context: Values,
): Promise<{ readonly credential: Values; readonly env: Readonly<Record<string, string>> }> {
  const proof = proofs[scenario];
  if (proof === undefined) throw new Error(`Nobody knows how to prove who the gateway is in ${scenario}`);
  return {
    credential: {
      type: "clientCredentials",
      issuer: await issuerBehind(serverUrl),
      clientId: context["client_id"],
      [proof.setting]: "${env:CLIENT_PROOF}",
    },
    env: { CLIENT_PROOF: String(context[proof.handed]) },
  };
}
