import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { Limits } from "../model/limits.ts";
import type { McpHeaders } from "../protocol/classify.ts";
import { accepts } from "../protocol/media-type.ts";
import type { Arrival, ClientStream, ListeningStream } from "../gateway/exchange.ts";
import type { VirtualServer } from "../gateway/gateway.ts";
import { clientCertificateOf } from "./client-certificate.ts";
import { clientGone } from "./client-gone.ts";
import { readBody } from "./read-body.ts";

/** Hands a raw request to the journey: headers now, the body only when the journey asks for it. */
export function arrivalOf(
  req: IncomingMessage,
  res: ServerResponse,
  about: {
    server: VirtualServer;
    /** The public URI that is asked, without query. */
    uri: string;
    limits: Limits;
    stream: () => ClientStream;
    listen: () => ListeningStream;
    expectWait: () => void;
  },
): Arrival {
  const raw = readRawHeaders(req.rawHeaders);
  const headers = headersOf(req, raw.repeated);
  return {
    server: about.server,
    httpMethod: req.method ?? "",
    headers,
    mcp: mcpHeadersOf(headers, raw),
    authorization: raw.authorization,
    shown: {
      proofs: raw.proofs,
      method: req.method ?? "",
      uri: about.uri,
      certificate: clientCertificateOf(req.socket),
    },
    address: req.socket.remoteAddress ?? "",
    gone: clientGone(res),
    readBody: () => readBody(req, about.limits),
    stream: () => (accepts(req.headers.accept, "text/event-stream") ? about.stream() : undefined),
    expectWait: () => {
      if (accepts(req.headers.accept, "text/event-stream")) about.expectWait();
    },
    // Nothing is left to open for a client that is gone.
    listen: () => (accepts(req.headers.accept, "text/event-stream") && !res.destroyed ? about.listen() : undefined),
  };
}

interface RawHeaders {
  readonly authorization: string[];
  readonly proofs: string[];
  readonly params: Record<string, string>;
  /** Lower-case names that came more than once. */
  readonly repeated: string[];
}

const watched: ReadonlySet<string> = new Set(["host", "content-type"]);

/**
 * Node keeps the first of several `Host`, `Authorization` and `Content-Type` headers, joins others with a
 * comma, and says nothing of either. A second credential, proof, host or `Mcp-*` header must be seen to be
 * refused: hops that read another one of the two would take the request for another request.
 */
function readRawHeaders(rawHeaders: readonly string[]): RawHeaders {
  const found: RawHeaders = { authorization: [], proofs: [], params: {}, repeated: [] };
  const seen = new Set<string>();
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] ?? "").toLowerCase();
    const value = rawHeaders[at + 1] ?? "";
    if (name === "authorization") found.authorization.push(value);
    else if (name === "dpop") found.proofs.push(value);
    else if (watched.has(name) || name.startsWith("mcp-")) {
      if (seen.has(name)) found.repeated.push(name);
      else if (name.startsWith("mcp-param-")) found.params[name.slice("mcp-param-".length)] = value;
      seen.add(name);
    }
  }
  return found;
}

/** A repeated `Host` or `Content-Type` reads as absent, and is refused where one is needed. */
function headersOf(req: IncomingMessage, repeated: readonly string[]): Arrival["headers"] {
  // Node's own object, unless something in it must change: a copy of a dozen changing names costs 2 µs.
  if (repeated.length === 0 && isSingleValued(req.headers)) return req.headers;
  const headers: Record<string, string | undefined> = {};
  for (const [name, value] of Object.entries(req.headers))
    headers[name] = Array.isArray(value) ? value.join(", ") : value;
  for (const name of repeated) if (watched.has(name)) headers[name] = undefined;
  return headers;
}

/** `Set-Cookie` alone is kept as a list by Node, even when it comes once. */
function isSingleValued(headers: IncomingHttpHeaders): headers is Record<string, string | undefined> {
  return headers["set-cookie"] === undefined;
}

function mcpHeadersOf(headers: Arrival["headers"], raw: RawHeaders): McpHeaders {
  return {
    protocolVersion: headers["mcp-protocol-version"],
    method: headers["mcp-method"],
    name: headers["mcp-name"],
    sessionId: headers["mcp-session-id"],
    params: raw.params,
    repeated: raw.repeated.filter((name) => name.startsWith("mcp-")),
  };
}
