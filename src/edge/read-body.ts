import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { refuse } from "../model/refusal.ts";
import { ok, type Result } from "../model/result.ts";

export interface BodyBounds {
  readonly bodyBytesMax: number;
  /** Longest wait, in milliseconds, from the call to the body's last byte. */
  readonly bodyTimeoutMs: number;
}

/** Bodies being read, by connection: the HTTP parser reports a fault within a body by connection alone. */
const underWay = new WeakMap<Socket, () => void>();

/**
 * Reads a request body within its bounds, else refuses with BODY_TOO_LARGE or BODY_INCOMPLETE. A declared
 * length over the limit is refused before a byte is read. The server's own request timeout is no bound: it
 * is looked at every half minute.
 */
export function readBody(req: IncomingMessage, bounds: BodyBounds): Promise<Result<Uint8Array>> {
  const { bodyBytesMax } = bounds;
  const declared = Number(req.headers["content-length"] ?? 0);
  if (declared > bodyBytesMax) return Promise.resolve(refuse("BODY_TOO_LARGE", { declared, bytesMax: bodyBytesMax }));
  // A connection that was lost while the caller was authenticated emits nothing any more.
  if (req.destroyed && !req.readableEnded) return Promise.resolve(refuse("BODY_INCOMPLETE", { received: 0 }));
  return new Promise((resolve) => {
    collect(req, bounds, resolve);
  });
}

/** Ends the reading of a body that will not arrive whole. False when none is being read on this connection. */
export function interruptBody(socket: Socket): boolean {
  const interrupt = underWay.get(socket);
  interrupt?.();
  return interrupt !== undefined;
}

function collect(
  req: IncomingMessage,
  { bodyBytesMax, bodyTimeoutMs }: BodyBounds,
  resolve: (body: Result<Uint8Array>) => void,
): void {
  const chunks: Buffer[] = [];
  let size = 0;
  let settled = false;
  const settle = (body: Result<Uint8Array>): void => {
    // Later events must not touch what the connection's next request has under way.
    if (settled) return;
    settled = true;
    clearTimeout(timer);
    underWay.delete(req.socket);
    resolve(body);
  };
  const timer = setTimeout(() => {
    settle(refuse("BODY_INCOMPLETE", { waitedMs: bodyTimeoutMs }));
  }, bodyTimeoutMs);
  const incomplete = (): void => {
    settle(refuse("BODY_INCOMPLETE", { received: size }));
  };
  underWay.set(req.socket, incomplete);
  req.on("data", (chunk: Buffer) => {
    size += chunk.length;
    if (size > bodyBytesMax) {
      req.removeAllListeners("data");
      settle(refuse("BODY_TOO_LARGE", { bytesMax: bodyBytesMax }));
    } else chunks.push(chunk);
  });
  req.once("end", () => {
    settle(ok(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, size)));
  });
  req.once("error", incomplete);
  req.once("close", () => {
    if (!req.complete) incomplete();
  });
}
