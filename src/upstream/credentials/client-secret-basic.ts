import type { ClientAuth } from "oauth4webapi";

/**
 * `client_secret_basic` (RFC 6749 §2.3.1): id and secret in the `application/x-www-form-urlencoded` form, so that
 * letters, digits and `-._*` stand as they are. The library's own percent-encodes `-`, `.` and `_` too, which a server
 * that decodes takes for the same, and the many that do not take for another client.
 */
export function clientSecretBasic(secret: string): ClientAuth {
  return (_server, client, _body, headers) => {
    const pair = `${formEncode(client.client_id)}:${formEncode(secret)}`;
    headers.set("authorization", `Basic ${Buffer.from(pair).toString("base64")}`);
  };
}

function formEncode(text: string): string {
  return new URLSearchParams([["", text]]).toString().slice(1);
}
