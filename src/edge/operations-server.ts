import Fastify, { type FastifyInstance } from "fastify";

export interface OperationsOptions {
  /** Whether traffic may be sent here, and why not. */
  readonly readiness: () => Promise<{ readonly ready: boolean; readonly reasons: readonly string[] }>;
  readonly metrics: () => Promise<{ readonly contentType: string; readonly text: string }>;
  readonly digests: () => Readonly<Record<string, string>>;
}

/** The operations listener: liveness, readiness and metrics. It has no authentication; bind it where only operators reach it. */
export function createOperationsServer(options: OperationsOptions): FastifyInstance {
  const app = Fastify({ logger: false });
  app.get("/livez", () => ({ live: true }));
  app.get("/readyz", async (_request, reply) => {
    const { ready, reasons } = await options.readiness();
    return reply.code(ready ? 200 : 503).send({ ready, reasons, digests: options.digests() });
  });
  app.get("/metrics", async (_request, reply) => {
    const { contentType, text } = await options.metrics();
    return reply.header("content-type", contentType).send(text);
  });
  app.setNotFoundHandler((_request, reply) => reply.code(404).send({ error: "not_found" }));
  return app;
}
