import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Certificate } from "./self-signed.ts";

/** A private authority: certificates of its own for servers and clients, for a day. */
export interface Authority {
  /** PEM. */
  readonly ca: string;
  /** `names` as OpenSSL writes alternative names; default: those of this machine. */
  issue(commonName: string, names?: string): Promise<Certificate>;
  remove(): Promise<void>;
}

const openssl = (...parameters: string[]): Promise<unknown> => promisify(execFile)("openssl", parameters);
const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];

/** `openssl` makes it. Its certificates hold for this machine's names. */
export async function startAuthority(): Promise<Authority> {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-ca-"));
  const file = (name: string): string => join(folder, name);
  await openssl(
    "req",
    "-x509",
    ...curve,
    "-keyout",
    file("ca.key"),
    "-out",
    file("ca.pem"),
    "-days",
    "1",
    "-subj",
    "/CN=Test CA",
  );
  let issued = 0;
  return {
    ca: await readFile(file("ca.pem"), "utf8"),
    issue: async (commonName, names = "DNS:localhost,IP:127.0.0.1") => {
      issued += 1;
      const extensions = file(`${issued}.ext`);
      await writeFile(extensions, `subjectAltName=${names}\n`);
      const [key, request, cert] = ["key", "csr", "pem"].map((kind) => file(`${issued}.${kind}`)) as [
        string,
        string,
        string,
      ];
      await openssl("req", "-new", ...curve, "-keyout", key, "-out", request, "-subj", `/CN=${commonName}`);
      const signing = ["-CA", file("ca.pem"), "-CAkey", file("ca.key"), "-set_serial", String(issued), "-days", "1"];
      await openssl("x509", "-req", "-in", request, "-out", cert, ...signing, "-extfile", extensions);
      return { key: await readFile(key, "utf8"), cert: await readFile(cert, "utf8") };
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
