import type { IncomingMessage } from "node:http";
import { refuse } from "../model/refusal.ts";
import { ok, type Result } from "../model/result.ts";

/**
 * Reads a request body up to `bytesMax`. A declared length over the limit is refused before a byte is
 * read. How long it may take is bounded by the server's request timeout, which ends the connection
 * (then BODY_INCOMPLETE).
 */
export function readBody(req: IncomingMessage, bytesMax: number): Promise<Result<Uint8Array>> {
  const declared = Number(req.headers["content-length"] ?? 0);
  if (declared > bytesMax) return Promise.resolve(refuse("BODY_TOO_LARGE", { declared, bytesMax }));
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    req.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > bytesMax) {
        req.removeAllListeners("data");
        resolve(refuse("BODY_TOO_LARGE", { bytesMax }));
      } else chunks.push(chunk);
    });
    req.once("end", () => {
      resolve(ok(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, size)));
    });
    req.once("error", () => {
      resolve(refuse("BODY_INCOMPLETE", { received: size }));
    });
    req.once("close", () => {
      if (!req.complete) resolve(refuse("BODY_INCOMPLETE", { received: size }));
    });
  });
}
