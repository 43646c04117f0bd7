import type { Where } from "./client-auth-account.ts";
import { connectClient } from "./client-of-era.ts";
import { asValues } from "./fixture-item.ts";
import { startGatewayBefore } from "./gateway.ts";

/** Whether the gateway signs in at the server as itself, for everybody. */
export function isAsItself(scenario: string): boolean {
  return scenario === "auth/client-credentials-basic";
}

/** A client asks a gateway whose credential for the server is its own client's. */
export async function driveAsItself({ serverUrl, era, context }: Where): Promise<void> {
  const gateway = await startGatewayBefore(serverUrl, {
    credential: {
      type: "clientCredentials",
      issuer: await issuerBehind(serverUrl),
      clientId: context["client_id"],
      clientSecret: "${env:CLIENT_SECRET}",
    },
    env: { CLIENT_SECRET: String(context["client_secret"]) },
  });
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

/** An operator reads it where the server publishes it. */
async function issuerBehind(serverUrl: string): Promise<string> {
  const { origin, pathname } = new URL(serverUrl);
  const response = await fetch(`${origin}/.well-known/oauth-protected-resource${pathname}`);
  const issuers = asValues(await response.json())["authorization_servers"] as readonly string[];
  return issuers[0] ?? "";
}
