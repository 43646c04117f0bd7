import { createServer, request } from "node:http";
import type { ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { clientGone } from "../../src/edge/client-gone.ts";

/** One request to a server of its own: the server's side goes to `serve`, and the client does as `client` says. */
async function exchange(
  serve: (res: ServerResponse) => void,
  client: (outgoing: ReturnType<typeof request>) => void,
): Promise<void> {
  let settle = (): void => undefined;
  const closed = new Promise<void>((resolve) => (settle = resolve));
  const server = createServer((_req, res) => {
    res.once("close", () => {
      setImmediate(settle);
    });
    serve(res);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const outgoing = request({ host: "127.0.0.1", port: (server.address() as AddressInfo).port, agent: false });
  outgoing.on("error", () => undefined);
  outgoing.on("response", (response) => response.resume());
  client(outgoing);
  await closed;
  server.close();
}

describe("a client that leaves", () => {
  it("before its answer cancels every listener once, but not one that was removed", async () => {
    const heard: string[] = [];
    const removed = (): void => void heard.push("removed");
    await exchange(
      (res) => {
        const gone = clientGone(res);
        gone.addEventListener("abort", () => heard.push(`first ${gone.aborted}`), { once: true });
        gone.addEventListener("abort", removed, { once: true });
        gone.addEventListener("abort", () => heard.push("second"), { once: true });
        gone.removeEventListener("abort", removed);
        expect(gone.aborted).toBe(false);
        res.writeHead(200).write("part");
      },
      (outgoing) => {
        outgoing.on("response", (response) => response.destroy());
        outgoing.end();
      },
    );
    expect(heard).toEqual(["first true", "second"]);
  });

  it("after its whole answer cancels nothing", async () => {
    const heard: string[] = [];
    await exchange(
      (res) => {
        clientGone(res).addEventListener("abort", () => heard.push("cancelled"));
        res.end("whole");
      },
      (outgoing) => {
        outgoing.end();
      },
    );
    expect(heard).toEqual([]);
  });
});
