import { request } from "node:http";
import type { IncomingHttpHeaders } from "node:http";
import { connect } from "node:net";
import type { Agent } from "node:http";

/** A JSON value as a test looks at it. */
export type Loose = Record<string, unknown>;

export interface Received {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The body as JSON; an empty object when it is none. */
  readonly json: Loose;
}

export interface Sent {
  readonly port: number;
  readonly path: string;
  readonly method?: string;
  /** An `undefined` header is left out; `host` is this instance's unless given. */
  readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body?: string | Buffer;
  readonly agent?: Agent;
  readonly signal?: AbortSignal;
}

/** One HTTP request on a connection of its own, unless an agent is given. */
export function send(sent: Sent): Promise<Received> {
  const { port, path, method = "POST", headers = {}, body = "", agent, signal } = sent;
  return new Promise((resolve, reject) => {
    const present = Object.entries(headers).filter(([, value]) => value !== undefined);
    const outgoing = request({
      host: "127.0.0.1",
      port,
      path,
      method,
      headers: Object.fromEntries(present) as Record<string, string | string[]>,
      agent: agent ?? false,
      ...(signal === undefined ? {} : { signal }),
    });
    outgoing.on("response", (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        const text = Buffer.concat(chunks).toString("utf8");
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text, json: jsonOf(text) });
      });
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

/** Bytes as they are on a fresh connection; what came back until the peer hung up. */
export function sendRaw(
  port: number,
  bytes: string | Buffer,
  more: { readonly halfClose?: boolean } = {},
): Promise<Received> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect(port, "127.0.0.1", () => {
      socket.write(bytes);
      if (more.halfClose === true) socket.end();
    });
    socket.on("data", (chunk) => chunks.push(chunk));
    socket.on("close", () => {
      resolve(readResponse(Buffer.concat(chunks).toString("latin1")));
    });
    socket.on("error", (error) => {
      if (chunks.length === 0) reject(error);
    });
  });
}

/** The first response in a transcript, with all that follows its head as its body. */
export function readResponse(transcript: string): Received {
  const headEnd = transcript.indexOf("\r\n\r\n");
  const [statusLine = "", ...lines] = transcript.slice(0, Math.max(0, headEnd)).split("\r\n");
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(":");
    headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
  }
  const text = headEnd === -1 ? "" : transcript.slice(headEnd + 4);
  return { status: Number(statusLine.split(" ")[1] ?? 0), headers, text, json: jsonOf(text) };
}

function jsonOf(text: string): Loose {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Loose) : {};
  } catch {
    return {};
  }
}
