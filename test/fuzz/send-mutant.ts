import { connect } from "node:net";
import { readResponse } from "../journey/http-client.ts";
import type { Received } from "../journey/http-client.ts";
import type { Mutant } from "./mutants.ts";

const answerMsMax = 10_000;

/** Sends a mutant on a connection of its own, piece by piece, and waits until the gateway has hung up. Rejects when it never does. */
export async function sendMutant(port: number, path: string, mutant: Mutant): Promise<Received> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  const chunks: Buffer[] = [];
  socket.on("data", (chunk) => chunks.push(chunk));
  // A reset is how a gateway may end what it refused: what it said before counts.
  socket.on("error", () => undefined);
  const closed = new Promise<void>((resolve, reject) => {
    socket.on("close", () => {
      resolve();
    });
    socket.setTimeout(answerMsMax, () => {
      socket.destroy();
      reject(new Error("the gateway neither answered nor hung up"));
    });
  });
  for (const bytes of wireOf(port, path, mutant)) {
    if (!socket.writable) break;
    socket.write(bytes);
    await new Promise((resolve) => setImmediate(resolve));
  }
  if (mutant.cutShort && socket.writable) socket.end();
  await closed;
  return readResponse(Buffer.concat(chunks).toString("utf8"));
}

function wireOf(port: number, path: string, { headers, pieces, chunked, cutShort }: Mutant): Buffer[] {
  const total = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const length = chunked ? "Transfer-Encoding: chunked" : `Content-Length: ${total + (cutShort ? 1 : 0)}`;
  const head = [`POST ${path} HTTP/1.1`, `Host: 127.0.0.1:${port}`, "Connection: close", ...headers, length];
  const body = chunked ? pieces.filter((piece) => piece.length > 0).map(asChunk) : pieces;
  const end = chunked && !cutShort ? [Buffer.from("0\r\n\r\n")] : [];
  return [Buffer.from(`${head.join("\r\n")}\r\n\r\n`), ...body, ...end];
}

function asChunk(piece: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from("\r\n")]);
}
