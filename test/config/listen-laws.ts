import type { Change, Law } from "./built-in-laws.ts";

const tls = (block: object): Change => ["listen.tls", block];
const good = { cert: "${env:CERT_CHAIN}", key: "${env:CERT_KEY}" };

/** The laws of TLS at the public listener. */
export const listenLaws: readonly Law[] = [
  ...(
    [
      ["cert", { ...good, cert: "${env:PEM}" }],
      ["cert", { ...good, cert: "${env:CERT_KEY}" }],
      ["key", { ...good, key: "${env:EC_KEY}" }],
      ["key", { ...good, key: "${env:SECRET}" }],
      ["clientCa", { ...good, clientCa: "${env:PEM}" }],
      ["clientCa", { ...good, clientCa: "${env:CERT_KEY}" }],
    ] as const
  ).map(([name, broken]): Law => ({
    rule: "listenTlsIsUsable",
    at: `listen.tls.${name}`,
    broken: [tls(broken)],
    held: [tls({ ...good, clientCa: "${env:CERT}" })],
  })),
  {
    rule: "listenTlsIsPublished",
    at: "publicUrl",
    broken: [["publicUrl", "http://127.0.0.1:8080"], tls(good)],
    held: [["publicUrl", "https://127.0.0.1:8080"], tls(good)],
  },
];
