import { refuse, type Refusal } from "../../model/refusal.ts";
import type { Result } from "../../model/result.ts";
import { isLegacyRevision } from "../../model/revision.ts";
import { classify, isBatch } from "../../protocol/classify.ts";
import { parseJson } from "../../protocol/json/parse.ts";
import { accepts, mediaTypeOf } from "../../protocol/media-type.ts";
import type { Exchange } from "../exchange.ts";

/**
 * Sets `body` and `classified` (or `batch`). The value parsed here is the one that is judged and sent.
 * Runs after authentication, so 405, 406 and 415 are answers to known principals only.
 */
export function parseAndClassify(x: Exchange): Refusal | undefined | Promise<Refusal | undefined> {
  const { httpMethod } = x.arrival;
  if (httpMethod === "GET" || httpMethod === "DELETE") return classifyBare(x, httpMethod);
  if (httpMethod !== "POST") return methodRefused(httpMethod, methodsOf(x));
  return x.body === undefined ? (negotiate(x) ?? readAndClassify(x)) : classifyMessage(x);
}

async function readAndClassify(x: Exchange): Promise<Refusal | undefined> {
  return read(x, await x.arrival.readBody()) ?? classifyMessage(x);
}

/** What the endpoint takes in the revision that the header names, or without one in any. */
function methodsOf(x: Exchange): readonly string[] {
  const version = x.arrival.headers["mcp-protocol-version"];
  return version === undefined || isLegacyRevision(version) ? ["GET", "POST", "DELETE"] : ["POST"];
}

function methodRefused(method: string, allow: readonly string[]): Refusal {
  return refuse("HTTP_METHOD_REFUSED", { method, allow }).refusal;
}

/** GET and DELETE have no message and exist in legacy revisions alone (2026-07-28, Streamable HTTP). */
function classifyBare(x: Exchange, method: "GET" | "DELETE"): Refusal | undefined {
  const { accept, "mcp-protocol-version": version } = x.arrival.headers;
  if (version !== undefined && !isLegacyRevision(version)) return methodRefused(method, ["POST"]);
  if (method === "GET" && !accepts(accept, "text/event-stream")) return refuse("NOT_ACCEPTABLE").refusal;
  const message = { kind: "notification", method, params: undefined } as const;
  const column = method === "GET" ? "stream" : "delete";
  x.classified = { era: "legacy", column, message, revision: version, meta: undefined, paramHeaders: {} };
  return undefined;
}

function negotiate(x: Exchange): Refusal | undefined {
  const { headers } = x.arrival;
  if (headers["content-encoding"] !== undefined && headers["content-encoding"] !== "identity")
    return refuse("BODY_ENCODING_UNSUPPORTED").refusal;
  if (mediaTypeOf(headers["content-type"]) !== "application/json") return refuse("MEDIA_TYPE_UNSUPPORTED").refusal;
  const { accept } = headers;
  if (!accepts(accept, "application/json") && !accepts(accept, "text/event-stream"))
    return refuse("NOT_ACCEPTABLE").refusal;
  return undefined;
}

function read(x: Exchange, bytes: Result<Uint8Array>): Refusal | undefined {
  if (!bytes.ok) return bytes.refusal;
  const value = parseJson(bytes.value);
  if (!value.ok) return value.refusal;
  x.body = value.value;
  return undefined;
}

function classifyMessage(x: Exchange): Refusal | undefined {
  const body = x.body ?? null;
  if (isBatch(body)) {
    x.batch = body;
    return undefined;
  }
  const classified = classify({ headers: x.arrival.mcp, message: body });
  if (!classified.ok) return classified.refusal;
  x.classified = classified.value;
  return undefined;
}
