import { createPrivateKey, X509Certificate } from "node:crypto";

const certificate = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/gu;

/** What could not be read has a fault already, so no text is taken for certificates. */
export function areCertificates(pem: string): boolean {
  if (pem === "") return true;
  const found = pem.match(certificate) ?? [];
  return found.length > 0 && found.every((one) => parsed(() => new X509Certificate(one)) !== undefined);
}

/** Whether a private key is that of the first certificate. */
export function belongsTo(key: string, cert: string): boolean {
  if (key === "" || cert === "") return true;
  const privateKey = parsed(() => createPrivateKey(key));
  const leaf = parsed(() => new X509Certificate(cert));
  return privateKey !== undefined && leaf?.checkPrivateKey(privateKey) === true;
}

function parsed<T>(parse: () => T): T | undefined {
  try {
    return parse();
  } catch {
    return undefined;
  }
}
