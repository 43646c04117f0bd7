import type { ServerResponse } from "node:http";

export interface OAuthError {
  readonly error: string;
  readonly error_description: string;
}

/**
 * Lets scripts of any origin read the answer. Only for endpoints that look at no cookie: what they
 * give is given to whoever holds the code, the secret or the token.
 */
export function allowAnyOrigin(res: ServerResponse): void {
  res.setHeader("access-control-allow-origin", "*");
  res.setHeader("access-control-expose-headers", "WWW-Authenticate, Retry-After");
}

export function sendJson(res: ServerResponse, status: number, body: object): void {
  const text = JSON.stringify(body);
  res.statusCode = status;
  res.setHeader("content-type", "application/json");
  res.setHeader("content-length", Buffer.byteLength(text));
  res.end(text);
}

export function sendError(res: ServerResponse, status: number, error: OAuthError): void {
  sendJson(res, status, error);
}

export function sendNotFound(res: ServerResponse): void {
  sendError(res, 404, { error: "not_found", error_description: "There is nothing at this address." });
}

export function sendMethodRefused(res: ServerResponse, allowed: string): void {
  res.setHeader("allow", allowed);
  sendError(res, 405, { error: "invalid_request", error_description: `Use ${allowed} here.` });
}

export function sendPreflight(res: ServerResponse, allowed: string): void {
  res.statusCode = 204;
  res.setHeader("access-control-allow-methods", allowed);
  res.setHeader("access-control-allow-headers", "Authorization, Content-Type, MCP-Protocol-Version");
  res.setHeader("access-control-max-age", "3600");
  res.end();
}
