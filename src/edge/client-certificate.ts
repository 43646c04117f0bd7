import { hash } from "node:crypto";
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";

/**
 * What the client's certificate is known by in tokens: SHA-256 of its DER, in base64url (RFC 8705 §3.1). Undefined for
 * a connection without TLS of ours, on which no certificate shows, whatever a header in front of it says.
 *
 * The handshake has proven that the client has the key (RFC 8446 §4.4.3). A certificate that is not of the configured
 * authorities, or out of its time, counts as none.
 */
export function clientCertificateOf(socket: Socket): (() => string | undefined) | undefined {
  if (!(socket instanceof TLSSocket)) return undefined;
  return () => {
    const certificate = socket.authorized ? socket.getPeerX509Certificate() : undefined;
    return certificate === undefined ? undefined : hash("sha256", certificate.raw, "base64url");
  };
}
