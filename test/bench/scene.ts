import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { MockIssuer, Signer } from "../auth/mock-issuer.ts";
import { mockIssuer, sign, signer } from "../auth/mock-issuer.ts";
import type { Request } from "./load.ts";
import { calledTool } from "./tools.ts";
import { freePort } from "../setup/free-port.ts";

export interface Identity {
  readonly issuer: MockIssuer;
  readonly key: Signer;
}

export async function startIdentity(): Promise<Identity> {
  const key = await signer("bench", "ES256");
  const issuer = await mockIssuer();
  issuer.places.set("/jwks", { keys: [key.jwk] });
  return { issuer, key };
}

export function mint({ issuer, key }: Identity, audience: string, subject = "alice"): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  const who = { iss: issuer.origin, sub: subject, client_id: "desktop", groups: ["support", "everyone"] };
  return sign(key, { ...who, aud: audience, scope: "tickets:read", iat: now, exp: now + 3600 });
}

export interface Scene {
  readonly configPath: string;
  readonly resource: string;
}

/**
 * A configuration with everything on: tokens of an issuer, so many rules, schemas enforced both ways, results
 * cleaned, and evidence that is required in a file.
 */
export async function writeScene(
  folder: string,
  of: { issuer: string; upstreamPort: number; rules: number; tools: number },
): Promise<Scene> {
  const port = await freePort();
  const publicUrl = `http://127.0.0.1:${port}`;
  mkdirSync(join(folder, "policies"), { recursive: true });
  writeFileSync(join(folder, "policies", "bench.yaml"), JSON.stringify({ policy: "bench", rules: rulesOf(of.rules) }));
  const config = {
    publicUrl,
    listen: { host: "127.0.0.1", port },
    operations: { host: "127.0.0.1", port: 0 },
    auth: {
      issuers: [
        {
          alias: "corp",
          issuer: of.issuer,
          jwksUri: `${of.issuer}/jwks`,
          addresses: "loopback",
          groupsClaim: "groups",
        },
      ],
    },
    upstreams: { tickets: { url: `http://127.0.0.1:${of.upstreamPort}/${of.tools}/mcp`, addresses: "loopback" } },
    servers: { support: { upstreams: { tickets: {} } } },
    policies: "./policies",
    audit: { mode: "required", sinks: [{ file: { path: "./audit.jsonl" } }] },
    store: { memory: true },
    limits: { itemsPerUpstreamMax: 10_000 },
  };
  const configPath = join(folder, "sallyport.yaml");
  // YAML 1.2 holds JSON.
  writeFileSync(configPath, JSON.stringify(config));
  return { configPath, resource: `${publicUrl}/support/mcp` };
}

/** Rules of which three concern the called tool, two of them with a condition; the rest is what others need. */
function rulesOf(count: number): Record<string, unknown>[] {
  const concerned = [
    {
      id: "support-reads",
      effect: "allow",
      who: { groups: { any: ["corp:support"] } },
      what: { upstream: "tickets", tool: "get_*" },
      when: 'has(args.id) && args.id.startsWith("OPS-") && (!has(args.limit) || args.limit <= 50)',
    },
    {
      id: "secrets-stay",
      effect: "deny",
      who: { anyone: true },
      what: { upstream: "tickets", tool: calledTool },
      when: 'has(args.fields) && args.fields.exists(f, f == "secret")',
    },
    {
      id: "services-keep-out",
      effect: "deny",
      who: { kind: "service", groups: ["corp:robots"] },
      what: { server: "support" },
    },
  ];
  const others = Array.from({ length: Math.max(0, count - concerned.length) }, (_, at) => ({
    id: `team-${at}`,
    who: { groups: [`corp:team-${at}`] },
    what: { upstream: "tickets", tool: at % 3 === 0 ? `write_${at}_*` : `write_ticket_${at}` },
    ...saidBy(at),
  }));
  return [...concerned, ...others];
}

/** Of ten rules two deny, two constrain, and the rest allow. */
function saidBy(at: number): Record<string, unknown> {
  if (at % 10 === 3) return { effect: "constrain", limits: { rate: "10/min", per: "principal" } };
  if (at % 10 === 7) return { effect: "constrain", presets: { team: `team-${at}` } };
  const when = at % 4 === 0 ? { when: `has(args.amount) && args.amount > ${at}` } : {};
  return { effect: at % 5 === 0 ? "deny" : "allow", ...when };
}

const meta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "bench", version: "1.0.0" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

function headersOf(token: string, method: string, name?: string): Record<string, string> {
  return {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    authorization: `Bearer ${token}`,
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": method,
    ...(name === undefined ? {} : { "mcp-name": name }),
  };
}

/** A modern `tools/call` with a small answer. The same bytes go to either side, so each parses what the other does. */
export function callRequest(path: string, token: string): Request {
  return {
    path,
    headers: headersOf(token, "tools/call", calledTool),
    body: (at) =>
      JSON.stringify({
        jsonrpc: "2.0",
        id: at,
        method: "tools/call",
        params: {
          name: calledTool,
          arguments: { id: `OPS-${(at % 10_000) + 1}`, fields: ["status", "subject"], limit: 10 },
          _meta: meta,
        },
      }),
    marker: '"structuredContent"',
  };
}

export function listRequest(path: string, token: string): Request {
  return {
    path,
    headers: headersOf(token, "tools/list"),
    body: (at) => JSON.stringify({ jsonrpc: "2.0", id: at, method: "tools/list", params: { _meta: meta } }),
    marker: '"get_ticket_39"',
  };
}
