import { parseJson } from "../protocol/json/parse.ts";
import { isJsonObject } from "../model/json.ts";
import type { JsonObject } from "../model/json.ts";
import type { GuardedFetch } from "./port.ts";

export interface JsonFetch {
  readonly fetch: GuardedFetch;
  /** Covers the body too. */
  readonly signal: AbortSignal;
  readonly bytesMax: number;
  /** Sends a form with POST instead; the header values must be sendable. */
  readonly form?: { readonly body: URLSearchParams; readonly headers: Readonly<Record<string, string>> } | undefined;
}

/**
 * Fetches a JSON object with GET, or with a form. Rejects with an `Error` on any status but 200 (so on every redirect), on
 * a body larger than `bytesMax` decoded bytes, and on a body that is no JSON object; the message names the
 * place and never quotes the body. The media type is not checked: issuers label key sets in many ways.
 */
export async function fetchJson(url: string, { fetch, signal, bytesMax, form }: JsonFetch): Promise<JsonObject> {
  const sent = form === undefined ? {} : { method: "POST", body: form.body };
  const headers = { accept: "application/json", ...form?.headers };
  const response = await fetch(url, { signal, redirect: "manual", headers, ...sent });
  if (response.status !== 200 || response.body === null) {
    await response.body?.cancel();
    throw new Error(`${url} answered ${response.status}`);
  }
  const parsed = parseJson(await readBounded(response.body, url, bytesMax));
  if (!parsed.ok) throw new Error(`${url} is no JSON: ${parsed.refusal.code}`);
  if (!isJsonObject(parsed.value)) throw new Error(`${url} is no JSON object`);
  return parsed.value;
}

async function readBounded(body: ReadableStream<Uint8Array>, url: string, bytesMax: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // Leaving the loop by an error cancels the stream, and with it the connection.
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > bytesMax) throw new Error(`${url} is larger than ${bytesMax} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, bytes);
}
