import { asValues } from "./fixture-item.ts";

/** The authorization server of a protected server. An operator reads it where the server publishes it. */
export async function issuerBehind(serverUrl: string): Promise<string> {
  const { origin, pathname } = new URL(serverUrl);
  const response = await fetch(`${origin}/.well-known/oauth-protected-resource${pathname}`);
  const issuers = asValues(await response.json())["authorization_servers"] as readonly string[];
  return issuers[0] ?? "";
}
