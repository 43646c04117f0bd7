import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import type { CryptoKey, JWK, JWTPayload } from "jose";

/** A key pair with its public JWK. */
export interface Signer {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: CryptoKey;
  readonly jwk: JWK;
}

export async function signer(kid: string, alg = "ES256"): Promise<Signer> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { kid, alg, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: "sig" } };
}

/** A token with exactly these claims; `undefined` ones are left out. */
export function sign(by: Signer, claims: JWTPayload, header: Record<string, unknown> = {}): Promise<string> {
  const present = Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== undefined));
  return new SignJWT(present).setProtectedHeader({ alg: by.alg, kid: by.kid, ...header }).sign(by.privateKey);
}

/** Text of a JSON value as a base64url segment. */
export function segment(value: unknown): string {
  return Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");
}

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

export interface MockIssuer {
  readonly origin: string;
  /** Every path asked for, in order. */
  readonly asked: string[];
  /** What stands where; a path that is absent answers 404. Change it at will. */
  readonly places: Map<string, unknown>;
  close(): Promise<void>;
}

/** An HTTP server on a loopback socket. A function placed at a path answers for itself. */
export async function mockIssuer(): Promise<MockIssuer> {
  const asked: string[] = [];
  const places = new Map<string, unknown>();
  const server = createServer((request, response) => {
    const path = request.url ?? "";
    asked.push(path);
    const place = places.get(path);
    if (typeof place === "function") (place as Answer)(request, response);
    else if (place === undefined) response.writeHead(404, { "content-type": "text/html" }).end("<p>no");
    else response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(place));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.closeAllConnections();
      server.close(() => {
        resolve();
      });
    });
  return { origin, asked, places, close };
}
