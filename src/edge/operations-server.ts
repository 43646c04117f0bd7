import Fastify, { type FastifyInstance } from "fastify";

export interface OperationsOptions {
  /** Whether traffic may be sent here, and why not. */
  readonly readiness: () => Promise<{ readonly ready: boolean; readonly reasons: readonly string[] }>;
  readonly metrics: () => Promise<{ readonly contentType: string; readonly text: string }>;
  readonly bundle: () => BundleStatus;
  /** Which replica answers. */
  readonly replica: string;
}

/** What is in force at this replica. */
export interface BundleStatus {
  readonly digests: Readonly<Record<string, string>>;
  /** Milliseconds since the epoch. */
  readonly since: number;
  /** The files say something else, which is broken. */
  readonly stale: boolean;
  readonly faults: number;
}

/** The operations listener: liveness, readiness and metrics. It has no authentication; bind it where only operators reach it. */
export function createOperationsServer(options: OperationsOptions): FastifyInstance {
  const app = Fastify({ logger: false });
  app.get("/livez", () => ({ live: true }));
  app.get("/readyz", async ({ query }, reply) => {
    const { ready, reasons } = await options.readiness();
    const verbose = typeof query === "object" && query !== null && "verbose" in query;
    return reply.code(ready ? 200 : 503).send({ ready, reasons, ...(verbose ? details(options) : {}) });
  });
  app.get("/metrics", async (_request, reply) => {
    const { contentType, text } = await options.metrics();
    return reply.header("content-type", contentType).send(text);
  });
  app.setNotFoundHandler((_request, reply) => reply.code(404).send({ error: "not_found" }));
  return app;
}

function details({ bundle, replica }: OperationsOptions): Record<string, unknown> {
  const { digests, since, stale, faults } = bundle();
  return { replica, digests, since: new Date(since).toISOString(), stale, faults };
}
