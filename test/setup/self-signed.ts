import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

export interface Certificate {
  /** PEM. */
  readonly key: string;
  readonly cert: string;
}

/** A certificate of a day for this machine's names, which is its own authority; `openssl` makes it. */
export async function selfSigned(commonName = "localhost"): Promise<Certificate> {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-tls-"));
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const names = "subjectAltName=DNS:localhost,IP:127.0.0.1";
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  const made = ["-keyout", key, "-out", cert, "-days", "1", "-subj", `/CN=${commonName}`, "-addext", names];
  await promisify(execFile)("openssl", ["req", "-x509", ...curve, ...made]);
  const pair = { key: await readFile(key, "utf8"), cert: await readFile(cert, "utf8") };
  await rm(folder, { recursive: true, force: true });
  return pair;
}
