import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";

export interface ToxicProxy {
  readonly port: number;
  /** Connections accepted so far. */
  accepted(): number;
  /** Bytes pass. */
  heal(): void;
  /** Bytes vanish in both directions; connections stand, and new ones are accepted. */
  swallow(): void;
  /** Requests pass, answers vanish. */
  swallowAnswers(): void;
  /** Whatever arrives from now on waits this long before it goes on. */
  delay(ms: number): void;
  /** Ends every connection with a reset; new ones are accepted. */
  reset(): void;
  close(): Promise<void>;
}

interface Mode {
  readonly swallow: "nothing" | "answers" | "all";
  readonly delayMs: number;
}

/** Stands between a client and `targetPort` on 127.0.0.1 and misbehaves as told. */
export async function startToxicProxy(targetPort: number): Promise<ToxicProxy> {
  const healthy: Mode = { swallow: "nothing", delayMs: 0 };
  let mode = healthy;
  const heal = (): void => {
    mode = healthy;
  };
  let accepted = 0;
  const sockets = new Set<Socket>();

  const pass = (from: Socket, to: Socket, what: "requests" | "answers"): void => {
    from.on("data", (bytes) => {
      const { swallow, delayMs } = mode;
      if (swallow === "all" || swallow === what) return;
      setTimeout(() => {
        if (to.writable) to.write(bytes);
      }, delayMs);
    });
    from.on("error", () => undefined);
    from.on("close", () => {
      sockets.delete(from);
      to.destroy();
    });
    sockets.add(from);
  };

  const server = createServer((client) => {
    accepted += 1;
    const target = connect(targetPort, "127.0.0.1");
    pass(client, target, "requests");
    pass(target, client, "answers");
  }).listen(0, "127.0.0.1");
  await once(server, "listening");

  return {
    port: (server.address() as AddressInfo).port,
    accepted: () => accepted,
    heal,
    swallow: () => {
      mode = { swallow: "all", delayMs: 0 };
    },
    swallowAnswers: () => {
      mode = { swallow: "answers", delayMs: 0 };
    },
    delay: (delayMs) => {
      mode = { swallow: "nothing", delayMs };
    },
    reset: () => {
      for (const socket of sockets) socket.resetAndDestroy();
    },
    close: async () => {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, "close");
    },
  };
}
