import { createHash } from "node:crypto";
import { ok } from "../../model/result.ts";
import type { Credential } from "./credential.ts";

/**
 * Fixed headers from the configuration. Throws at construction for a name or a value that HTTP does not allow
 * (RFC 9110 §5.5), and for a header that the gateway itself must have in hand: `Host`, the hop-by-hop ones
 * (§7.6.1), what frames the body, what is negotiated, and everything under `Mcp-`.
 */
export function staticHeaders(headers: Readonly<Record<string, string>>): Credential {
  const flat: string[] = [];
  for (const [name, value] of Object.entries(headers)) {
    const fault = headerFault(name, value);
    if (fault !== undefined) throw new Error(`credential header ${JSON.stringify(name)}: ${fault}`);
    flat.push(name.toLowerCase(), value);
  }
  const attached = ok(Object.freeze(flat));
  const generation = digestOf(["static", ...flat]);
  return { generation: () => generation, headers: () => attached };
}

/** Nothing is shown to the upstream. */
export function noCredential(): Credential {
  const attached = ok(Object.freeze([]));
  return { generation: () => "none", headers: () => attached };
}

/** A short name for a secret configuration from which nothing of it can be read back. */
export function digestOf(parts: readonly string[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 32);
}

const ownHeaders: ReadonlySet<string> = new Set([
  "accept",
  "accept-encoding",
  "connection",
  "content-encoding",
  "content-length",
  "content-type",
  "expect",
  "host",
  "keep-alive",
  "last-event-id",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

function headerFault(name: string, value: string): string | undefined {
  const lower = name.toLowerCase();
  if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(lower)) return "not a header name";
  if (ownHeaders.has(lower) || lower.startsWith("mcp-")) return "belongs to the gateway";
  if (!/^[\t\x20-\x7e]*$/.test(value) || value !== value.trim()) return "its value may hold printable ASCII only";
  return undefined;
}
