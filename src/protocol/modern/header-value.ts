import { isUtf8 } from "node:buffer";

const prefix = "=?base64?";
const suffix = "?=";
const canonicalBase64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
/** Visible ASCII, space and tab (RFC 9110 §5.5); the rest of a byte's range is what the sentinel is for. */
const plainValue = /^[\t\x20-\x7e]*$/;

/**
 * A string as the value of `Mcp-Name` or `Mcp-Param-*` (2026-07-28, Streamable HTTP, "Value Encoding"):
 * itself when that is safe, else Base64 of its UTF-8 between `=?base64?` and `?=`. Encoded are values with
 * characters beyond printable ASCII, with white space at either end, that look encoded, and the empty one,
 * which some HTTP stacks drop.
 */
export function encodeHeaderValue(text: string): string {
  const plain = text !== "" && plainValue.test(text) && text === trimOws(text) && !looksEncoded(text);
  return plain ? text : `${prefix}${Buffer.from(text, "utf8").toString("base64")}${suffix}`;
}

/**
 * The string behind a received value, white space around it ignored. Undefined when it has a character that
 * no such value may have, or when what stands between the markers is not canonical Base64 of UTF-8: a second
 * spelling of the same bytes would let two readers disagree.
 */
export function decodeHeaderValue(received: string): string | undefined {
  const value = trimOws(received);
  if (!plainValue.test(value)) return undefined;
  if (!looksEncoded(value)) return value;
  const payload = value.slice(prefix.length, -suffix.length);
  // `=?base64?=` begins and ends like an encoded value, the two sharing a character.
  if (value.length < prefix.length + suffix.length || !canonicalBase64.test(payload)) return undefined;
  const bytes = Buffer.from(payload, "base64");
  if (bytes.toString("base64") !== payload || !isUtf8(bytes)) return undefined;
  return bytes.toString("utf8");
}

/** Without optional white space, space and tab, at either end (RFC 9110 §5.6.3). */
export function trimOws(value: string): string {
  let from = 0;
  let to = value.length;
  while (from < to && isOws(value.charCodeAt(from))) from++;
  while (to > from && isOws(value.charCodeAt(to - 1))) to--;
  return value.slice(from, to);
}

function isOws(code: number): boolean {
  return code === 0x20 || code === 0x09;
}

function looksEncoded(value: string): boolean {
  return value.startsWith(prefix) && value.endsWith(suffix);
}
