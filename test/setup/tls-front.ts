import { request as plainRequest } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { Agent, getGlobalDispatcher, setGlobalDispatcher } from "undici";
import type { Certificate } from "./self-signed.ts";

export interface TlsFront {
  /** Such as `https://localhost:40001`. */
  readonly origin: string;
  /** Where requests go to from here on. */
  forwardTo(port: number): void;
  close(): Promise<void>;
}

/**
 * What stands before a gateway in many installations: it terminates TLS, sends requests on in clear, to the address
 * it knows the gateway by and under that name, and says in headers what it was asked.
 */
export async function startTlsFront(certificate: Certificate): Promise<TlsFront> {
  let to = 0;
  const server = createServer(certificate, (request, response) => {
    const forwarded = {
      "x-forwarded-proto": "https",
      "x-forwarded-host": request.headers.host,
      "x-forwarded-for": "::1",
    };
    const headers = { ...request.headers, ...forwarded, host: `127.0.0.1:${to}` };
    const { method, url: path } = request;
    const onward = plainRequest({ host: "127.0.0.1", port: to, method, path, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    onward.on("error", () => response.destroy());
    request.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    origin: `https://localhost:${(server.address() as AddressInfo).port}`,
    forwardTo: (port) => {
      to = port;
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => {
          resolve();
        });
      }),
  };
}

/** Has `fetch` trust who shows this certificate, until the function it returns is called. */
export function trust({ cert }: Certificate): () => Promise<void> {
  const before = getGlobalDispatcher();
  const agent = new Agent({ connect: { ca: cert } });
  setGlobalDispatcher(agent);
  return async () => {
    setGlobalDispatcher(before);
    await agent.close();
  };
}
