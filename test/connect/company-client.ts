import { createHash, randomBytes } from "node:crypto";
import type { Browser, View } from "../authserver/browser.ts";
import type { CompanyProvider } from "./company-provider.ts";

/** A sign-in of an MCP client that waits for its person's consent. */
export interface Asked {
  readonly origin: string;
  readonly consent: View;
  readonly clientId: string;
  readonly verifier: string;
}

const redirectUri = "http://127.0.0.1:4711/cb";

/**
 * An MCP client registers at a gateway, and sends its person there, who is sent on to the company's provider and comes
 * back as whoever `signsIn` names: as far as the consent page.
 */
export async function authorizeAt(
  { origin, server, company }: { readonly origin: string; readonly server: string; readonly company: CompanyProvider },
  browser: Browser,
): Promise<Asked> {
  const registered = await fetch(`${origin}/register`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ redirect_uris: [redirectUri], token_endpoint_auth_method: "none" }),
  });
  const { client_id: clientId } = (await registered.json()) as { client_id: string };
  const verifier = randomBytes(32).toString("base64url");
  const url = new URL(`${origin}/authorize`);
  url.search = new URLSearchParams({
    response_type: "code",
    client_id: clientId,
    redirect_uri: redirectUri,
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
    resource: `${origin}/${server}/mcp`,
  }).toString();
  const { left } = await browser.open(url);
  return { origin, consent: await browser.open(await company.visit(left)), clientId, verifier };
}

/** The person agrees, and the client redeems its code. */
export async function tokensFor(
  { origin, consent, clientId, verifier }: Asked,
  browser: Browser,
): Promise<{ readonly access_token: string; readonly refresh_token: string }> {
  const { left } = await browser.submit(consent, {});
  const answer = await fetch(`${origin}/token`, {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "authorization_code",
      client_id: clientId,
      code: left?.searchParams.get("code") ?? "",
      code_verifier: verifier,
      redirect_uri: redirectUri,
    }),
  });
  return (await answer.json()) as { access_token: string; refresh_token: string };
}
