import { once } from "node:events";
import { connect, type AddressInfo } from "node:net";
import type { FastifyInstance } from "fastify";
import { afterEach, expect, it } from "vitest";
import { createPublicServer } from "../../src/edge/public-server.ts";
import type { Gateway } from "../../src/gateway/gateway.ts";
import { limits } from "../../src/model/limits.ts";
import { selfSigned } from "../setup/self-signed.ts";

let server: FastifyInstance | undefined;

afterEach(async () => {
  await server?.close();
});

it("a connection that begins no TLS handshake is cut after tlsHandshakeTimeoutMs", async () => {
  server = createPublicServer({
    // Before there is a request, nothing of it is asked but to note who was refused.
    gateway: { strangers: { note: () => undefined } } as unknown as Gateway,
    servers: new Map(),
    metadata: () => ({}),
    pages: [],
    limits: { ...limits, tlsHandshakeTimeoutMs: 50 },
    tls: { ...(await selfSigned()), clientCa: undefined },
  });
  await server.listen({ host: "127.0.0.1", port: 0 });
  const socket = connect((server.server.address() as AddressInfo).port, "127.0.0.1");
  socket.on("error", () => undefined);
  await once(socket, "connect");
  await once(socket, "close");
  expect(socket.bytesRead).toBe(0);
}, 10_000);
