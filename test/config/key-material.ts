import { generateKeyPairSync } from "node:crypto";

const pem = (type: "ec" | "rsa", size: number): string =>
  (type === "ec"
    ? generateKeyPairSync("ec", { namedCurve: "P-256" })
    : generateKeyPairSync("rsa", { modulusLength: size })
  ).privateKey
    .export({ type: "pkcs8", format: "pem" })
    .toString();

/** A certificate and its key, made once: Node reads certificates and makes none. They open nothing. */
const certificate = [
  "-----BEGIN CERTIFICATE-----",
  "MIIBdTCCARugAwIBAgIUdBPnZawluGbgnmmWmZsuvrLg2S0wCgYIKoZIzj0EAwIw",
  "DzENMAsGA1UEAwwEdGVzdDAgFw0yNjExMzAwOTI0MzFaGA8yMTI2MTEwNjA5MjQz",
  "MVowDzENMAsGA1UEAwwEdGVzdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABEq0",
  "qSIOnp7HK+adQ1lxqYEIGZz3ngx4OAQVlFjQ1/LVBQq/IA9IMhxS+PAJsSR51sv5",
  "JZ4ZMO986llNkmGhmVijUzBRMB0GA1UdDgQWBBR3j89/HKcMKHCGgs58madIjH6l",
  "gDAfBgNVHSMEGDAWgBR3j89/HKcMKHCGgs58madIjH6lgDAPBgNVHRMBAf8EBTAD",
  "AQH/MAoGCCqGSM49BAMCA0gAMEUCIQCPebE4svJ7rP9pLPY0CoUvR7P7iu4XOcs5",
  "udc3qbBc6AIgb7R4YR4KB4buZyMaWdZgQn78mtH5CcThf5bLctS+Xh4=",
  "-----END CERTIFICATE-----",
].join("\n");
const certificateKey = [
  "-----BEGIN PRIVATE KEY-----",
  "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgmGBzeiKx9uhipiup",
  "CqVDz0m/sezXLiVHhInsBBIJt6ShRANCAARKtKkiDp6exyvmnUNZcamBCBmc954M",
  "eDgEFZRY0Nfy1QUKvyAPSDIcUvjwCbEkedbL+SWeGTDvfOpZTZJhoZlY",
  "-----END PRIVATE KEY-----",
].join("\n");

/** Variables of a test's environment that hold keys and certificates. */
export const keyMaterial: Readonly<Record<string, string>> = {
  CERT: certificate,
  CERT_CHAIN: `${certificate}\n${certificate}\n`,
  CERT_KEY: certificateKey,
  EC_KEY: pem("ec", 0),
  RSA_KEY: pem("rsa", 2_048),
  WEAK_RSA_KEY: pem("rsa", 1_024),
  JWK_KEY: JSON.stringify(generateKeyPairSync("ed25519").privateKey.export({ format: "jwk" })),
};
