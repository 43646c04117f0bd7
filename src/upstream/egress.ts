import { Agent } from "undici";
import { createGuardedConnect, EgressRefused } from "./guarded-connect.ts";
import type { ResolveName } from "./guarded-connect.ts";
import type { Addresses } from "./options.ts";

/** `fetch` behind the egress guard: the same shape, so that libraries take it as their own. */
export type GuardedFetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

export interface GuardedFetchOptions {
  readonly allow: Addresses;
  /** For the whole exchange: resolving, connecting, headers and body. */
  readonly timeoutMs: number;
  /** Largest response body. */
  readonly bytesMax: number;
  /** See `GuardedConnectOptions`. */
  readonly ca?: string | undefined;
  /** Default: the system's resolver. */
  readonly resolve?: ResolveName | undefined;
}

/**
 * Fetches documents from addresses the egress guard allows: issuer metadata, keys, tokens. Redirects are not
 * followed but fail, since their target was judged by nobody (3xx, 304 included). Plain `http:` reaches
 * loopback addresses only, and those only when they are allowed. Request bodies are text, bytes or form data
 * in `URLSearchParams`; streams are refused, as are credentials in the URL.
 *
 * Rejects with `EgressRefused` for a forbidden destination, else with an error that carries no content.
 * Not checked: status, media type and meaning of what came.
 */
export function createGuardedFetch(options: GuardedFetchOptions): GuardedFetch {
  const connect = createGuardedConnect({
    addresses: options.allow,
    clearText: "loopback",
    timeoutMs: options.timeoutMs,
    ca: options.ca,
    resolve: options.resolve,
  });
  const agent = new Agent({ connect, headersTimeout: 0, bodyTimeout: 0, maxResponseSize: options.bytesMax });
  return async (url, init = {}) => {
    const target = admissible(new URL(url));
    const signal = deadline(options.timeoutMs, init.signal);
    const answer = await agent.request({
      origin: target.origin,
      path: target.pathname + target.search,
      method: init.method ?? "GET",
      headers: requestHeaders(init),
      body: requestBody(init.body),
      signal,
    });
    if (answer.statusCode >= 300 && answer.statusCode < 400) {
      // A destroyed body emits its own end as an error; without a listener that would end the process.
      answer.body.on("error", () => undefined).destroy();
      throw new Error(`${target.host} answered with a redirect (${answer.statusCode}), which is not followed`);
    }
    const body = await answer.body.arrayBuffer();
    return toResponse(answer.statusCode, answer.headers, body);
  };
}

function admissible(url: URL): URL {
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    throw new EgressRefused(url.host, url.protocol, "forbidden");
  }
  if (url.username !== "" || url.password !== "") {
    throw new EgressRefused(url.host, "credentials in the URL", "forbidden");
  }
  return url;
}

function deadline(timeoutMs: number, signal: AbortSignal | null | undefined): AbortSignal {
  const timeout = AbortSignal.timeout(timeoutMs);
  return signal === undefined || signal === null ? timeout : AbortSignal.any([timeout, signal]);
}

/** Asking for `identity` keeps `bytesMax` a bound on what is read, decompressed or not. */
function requestHeaders(init: RequestInit): Record<string, string> {
  const headers = new Headers(init.headers);
  if (init.body instanceof URLSearchParams && !headers.has("content-type")) {
    headers.set("content-type", "application/x-www-form-urlencoded;charset=UTF-8");
  }
  headers.set("accept-encoding", "identity");
  return Object.fromEntries(headers);
}

function requestBody(body: RequestInit["body"]): string | Uint8Array | null {
  if (body === undefined || body === null) return null;
  if (typeof body === "string" || body instanceof Uint8Array) return body;
  if (body instanceof URLSearchParams) return body.toString();
  throw new TypeError("a guarded fetch sends text, bytes or URLSearchParams");
}

const bodiless: ReadonlySet<number> = new Set([204, 205]);

function toResponse(
  status: number,
  received: Readonly<Record<string, string | string[] | undefined>>,
  body: ArrayBuffer,
): Response {
  const headers = new Headers();
  for (const [name, value] of Object.entries(received)) {
    for (const one of typeof value === "string" ? [value] : (value ?? [])) headers.append(name, one);
  }
  const coding = headers.get("content-encoding");
  if (coding !== null && coding !== "identity") {
    throw new Error("a response came compressed although identity was asked for");
  }
  return new Response(bodiless.has(status) ? null : body, { status, headers });
}
