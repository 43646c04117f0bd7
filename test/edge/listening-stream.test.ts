import { createServer, get } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createListeningStream } from "../../src/edge/listening-stream.ts";
import type { OpenListeningStream } from "../../src/edge/listening-stream.ts";

const closing: (() => void)[] = [];

afterEach(() => {
  for (const close of closing.splice(0)) close();
});

async function pair(
  streamBacklogBytesMax: number,
): Promise<{ stream: OpenListeningStream; client: IncomingMessage; raw: ServerResponse }> {
  const server = createServer();
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const opened = new Promise<{ stream: OpenListeningStream; raw: ServerResponse }>((resolve) =>
    server.once("request", (_req: IncomingMessage, raw: ServerResponse) => {
      resolve({ stream: createListeningStream(raw, { vary: "origin" }, { streamBacklogBytesMax }), raw });
    }),
  );
  const { port } = server.address() as AddressInfo;
  const client = await new Promise<IncomingMessage>((resolve) => {
    get({ host: "127.0.0.1", port, agent: false }, resolve).on("error", () => undefined);
  });
  client.on("error", () => undefined);
  return { ...(await opened), client };
}

describe("a listening stream", () => {
  it("opens before anything is sent, serves nothing after it, and ends with its last message", async () => {
    const { stream, client } = await pair(1_000);
    expect([client.statusCode, client.headers.connection, client.headers.vary]).toEqual([200, "close", "origin"]);
    let text = "";
    client.on("data", (chunk: Buffer) => (text += chunk.toString()));
    const ended = new Promise((resolve) => client.once("end", resolve));
    expect(stream.send("1")).toBe(true);
    stream.comment();
    stream.finish("2");
    await ended;
    expect(text.replace(/^: *$/gm, ":")).toMatch(
      /^:\n\nevent: message\ndata: 1\n\n(:\n\n)?event: message\ndata: 2\n\n$/,
    );
    expect(stream.send("3")).toBe(false);
    stream.finish("4");
  });

  it("takes no more from a client that does not read, nor signs of life, and lets go of it at the end", async () => {
    const { stream, client, raw } = await pair(65_536);
    client.pause();
    const message = "x".repeat(65_536);
    let taken = 0;
    // The operating system holds some megabytes for a connection; nothing here may hold more than the bound and one message.
    while (taken < 2_000 && stream.send(message)) taken += 1;
    expect(taken).toBeLessThan(2_000);
    expect(raw.writableLength).toBeLessThanOrEqual(65_536 + 2 * (message.length + 100));
    const waiting = raw.writableLength;
    stream.comment();
    expect(raw.writableLength).toBe(waiting);
    stream.finish("last");
    await vi.waitFor(() => {
      expect(raw.destroyed).toBe(true);
    });
  });

  it("says that a client which left gets nothing", async () => {
    const { stream, client, raw } = await pair(1_000);
    client.destroy();
    await vi.waitFor(() => {
      expect(raw.destroyed).toBe(true);
    });
    expect(stream.send("1")).toBe(false);
    stream.comment();
    stream.finish("");
  });
});
