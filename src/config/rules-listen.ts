import { printable, type PlacedFault } from "./fault.ts";
import { areCertificates, belongsTo } from "./pem.ts";
import { secretMask } from "./secret.ts";
import type { Config } from "./types.ts";

/** A certificate that does not parse would show at the start, and a key of another one at every handshake. */
export function listenTlsIsUsable({ listen: { tls } }: Config): PlacedFault[] {
  if (tls === undefined) return [];
  const fault = (name: string, expected: string): PlacedFault[] => [
    { place: ["listen", "tls", name], found: secretMask, expected, rule: "listenTlsIsUsable" },
  ];
  const [cert, key, clientCa] = [tls.cert.reveal(), tls.key.reveal(), tls.clientCa?.reveal() ?? ""];
  if (!areCertificates(cert)) return fault("cert", "certificates in PEM, the gateway's own first");
  if (!belongsTo(key, cert)) return fault("key", "the private key of cert, in PEM");
  return areCertificates(clientCa) ? [] : fault("clientCa", "certificates in PEM");
}

/** Clients go where it says; to a listener that speaks TLS, in clear. */
export function listenTlsIsPublished({ listen, publicUrl }: Config): PlacedFault[] {
  const isClear = URL.canParse(publicUrl) && new URL(publicUrl).protocol === "http:";
  if (listen.tls === undefined || !isClear) return [];
  const expected = "an https origin, since listen.tls makes the gateway speak TLS";
  return [{ place: ["publicUrl"], found: printable(publicUrl), expected, rule: "listenTlsIsPublished" }];
}
