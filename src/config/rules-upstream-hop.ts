import { printable, type Place, type PlacedFault } from "./fault.ts";
import { areCertificates, belongsTo } from "./pem.ts";
import { secretMask } from "./secret.ts";
import type { Config, UpstreamConfig } from "./types.ts";

/** A certificate that does not parse would show at the first call, and a key of another one at the first handshake. */
export function upstreamTlsIsUsable(config: Config): PlacedFault[] {
  return eachUpstream(config, ({ tls: { ca, cert, key } }, place) => {
    const fault = (name: string, found: string, expected: string): PlacedFault[] => [
      { place: [...place, "tls", name], found, expected, rule: "upstreamTlsIsUsable" },
    ];
    if (ca !== undefined && !areCertificates(ca.reveal())) return fault("ca", secretMask, "certificates in PEM");
    if (cert === undefined && key === undefined) return [];
    if (cert === undefined) return fault("cert", "nothing", "the certificate of key, in PEM");
    if (!areCertificates(cert.reveal()))
      return fault("cert", secretMask, "certificates in PEM, the gateway's own first");
    if (key === undefined) return fault("key", "nothing", "the private key of cert, in PEM");
    return belongsTo(key.reveal(), cert.reveal()) ? [] : fault("key", secretMask, "the private key of cert, in PEM");
  });
}

/** A certificate of the gateway's goes to whoever the connection is made with; in clear there is nobody to show it to. */
export function certificatesNeedTls(config: Config): PlacedFault[] {
  return eachUpstream(config, ({ url, tls }, place) => {
    const isClear = URL.canParse(url) && new URL(url).protocol === "http:";
    if (!isClear || (tls.ca === undefined && tls.cert === undefined)) return [];
    return [{ place: [...place, "tls"], found: printable(url), expected: "an https url", rule: "certificatesNeedTls" }];
  });
}

/**
 * Headers that no client's request brings to an upstream: what proves who somebody is, what says where a request came
 * from, which is for the gateway alone to know, what belongs to one connection or message (RFC 9110 §7.6.1), and what
 * the gateway writes itself.
 */
const stopped: ReadonlySet<string> = new Set(
  (
    "authorization cookie cookie2 set-cookie dpop proxy-authorization proxy-authenticate www-authenticate " +
    "authentication-info signature signature-input client-cert client-cert-chain x-api-key x-auth-token " +
    "forwarded via x-real-ip true-client-ip cf-connecting-ip x-client-ip x-cluster-client-ip x-original-url x-rewrite-url " +
    "x-remote-user remote-user x-http-method-override origin referer host connection keep-alive proxy-connection te trailer " +
    "transfer-encoding upgrade expect max-forwards http2-settings content-length content-type content-encoding " +
    "content-location content-range range accept accept-encoding date last-event-id traceparent tracestate baggage"
  ).split(" "),
);

const stoppedBeginnings: readonly string[] = [
  "mcp-",
  "x-forwarded-",
  "x-amzn-oidc-",
  "x-ms-client-principal",
  "sec-",
  "proxy-",
];

export function forwardHeadersMayCross(config: Config): PlacedFault[] {
  return eachUpstream(config, ({ forwardHeaders, credential }, place) => {
    const shown = credential.type === "static" ? Object.keys(credential.headers).map((name) => name.toLowerCase()) : [];
    return forwardHeaders.flatMap((name, index) => {
      const mayCross = !stopped.has(name) && !stoppedBeginnings.some((begin) => name.startsWith(begin));
      if (mayCross && !shown.includes(name)) return [];
      const expected = "a header that says nothing of who calls or from where, and that the gateway does not write";
      const at = [...place, "forwardHeaders", index];
      return [{ place: at, found: printable(name), expected, rule: "forwardHeadersMayCross" }];
    });
  });
}

function eachUpstream(
  { upstreams }: Config,
  check: (upstream: UpstreamConfig, place: Place) => readonly PlacedFault[],
): PlacedFault[] {
  return Object.entries(upstreams).flatMap(([name, upstream]) => check(upstream, ["upstreams", name]));
}
