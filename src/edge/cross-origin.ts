/** What a browser client may read and send (lessons of real clients: the 401's challenge must be readable). */
const exposed = "WWW-Authenticate, Mcp-Session-Id, MCP-Protocol-Version, Retry-After, DPoP-Nonce";
const allowed =
  "Authorization, DPoP, Content-Type, Accept, Last-Event-ID, Mcp-Session-Id, MCP-Protocol-Version, Mcp-Method, Mcp-Name";

/** Headers for an answer to a page of an allowed origin; nothing for anybody else. */
export function crossOriginHeaders(origins: ReadonlySet<string>, origin: string | undefined): Record<string, string> {
  if (origin === undefined || !origins.has(origin)) return {};
  return { "access-control-allow-origin": origin, "access-control-expose-headers": exposed, vary: "Origin" };
}

/**
 * The answer to a preflight, or undefined for a page of an origin that is not allowed. `Mcp-Param-*`
 * headers are named by tools, so those that the page asks for are granted by their form.
 */
export function preflightHeaders(
  origins: ReadonlySet<string>,
  origin: string | undefined,
  requested: string | undefined,
): Record<string, string> | undefined {
  if (origin === undefined || !origins.has(origin)) return undefined;
  return {
    ...crossOriginHeaders(origins, origin),
    "access-control-allow-methods": "POST, GET, DELETE",
    "access-control-allow-headers": [allowed, ...paramHeaders(requested)].join(", "),
    "access-control-max-age": "600",
  };
}

function paramHeaders(requested: string | undefined): string[] {
  const names = (requested ?? "").split(",").map((name) => name.trim().toLowerCase());
  return names.filter((name) => /^mcp-param-[a-z0-9-]{1,100}$/.test(name)).slice(0, 50);
}
