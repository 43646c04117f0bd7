import { randomInt } from "node:crypto";
import { createServer } from "node:net";

/** Below the ports that Linux (32768 and up) and macOS give to outgoing connections by themselves. */
const [from, to] = [20_000, 32_000] as const;
const attemptsMax = 100;

/**
 * A port of this machine that nobody listens on, for a server that must know its address before it starts. A port that
 * the system chose would be given to any connection that is made meanwhile; of these only another caller may take one.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    const port = randomInt(from, to);
    if (await isFree(port)) return port;
  }
  throw new Error("no free port was found");
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => {
      resolve(false);
    });
    server.listen(port, "127.0.0.1", () => {
      server.close(() => {
        resolve(true);
      });
    });
  });
}
