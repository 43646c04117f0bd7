import { createServer } from "node:http";
import type { IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { isLegacyRevision } from "../../src/model/revision.ts";
import type { Revision } from "../../src/model/revision.ts";
import type { Loose } from "../journey/http-client.ts";
import { legacyServer } from "./legacy-server.ts";
import { modernServer } from "./modern-server.ts";

export interface MatrixServer {
  readonly url: string;
  readonly revision: Revision;
  /** Texts of the `slow` calls that came. */
  readonly started: readonly string[];
  /** Texts of those that were cancelled. */
  readonly cancelled: readonly string[];
  close(): Promise<void>;
}

/** A server that speaks one revision and offers all that the revision has. */
export async function startMatrixServer(revision: Revision): Promise<MatrixServer> {
  const started: string[] = [];
  const cancelled: string[] = [];
  const notes = { started, cancelled };
  const serve = isLegacyRevision(revision) ? legacyServer(revision, notes) : modernServer(notes);
  const server = createServer((req, res) => {
    void readJson(req).then((message) => serve(req, res, message));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    revision,
    started,
    cancelled,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function readJson(req: IncomingMessage): Promise<Loose> {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk as Buffer);
  return chunks.length === 0 ? {} : (JSON.parse(Buffer.concat(chunks).toString()) as Loose);
}
