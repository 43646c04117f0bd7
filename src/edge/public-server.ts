import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { JsonObject } from "../model/json.ts";
import type { Limits } from "../model/limits.ts";
import { refuse, type Refusal } from "../model/refusal.ts";
import type { Gateway, VirtualServer } from "../gateway/gateway.ts";
import { handle } from "../gateway/handle.ts";
import { answerRefusal, type Answer } from "../gateway/wire-answer.ts";
import { arrivalOf } from "./arrival.ts";
import { crossOriginHeaders, preflightHeaders } from "./cross-origin.ts";
import { rawRefusal } from "./raw-refusal.ts";
import { sendAnswer } from "./send-answer.ts";

/** The built-in authorization server, as far as the edge is concerned. */
export interface SignInPages {
  handles(path: string): boolean;
  handle(req: IncomingMessage, res: ServerResponse): Promise<void>;
}

export interface PublicServerOptions {
  readonly gateway: Gateway;
  readonly servers: ReadonlyMap<string, VirtualServer>;
  /** The protected-resource metadata document of a server (RFC 9728 §3). */
  readonly metadata: (server: VirtualServer) => JsonObject;
  readonly signIn: SignInPages | undefined;
  readonly limits: Limits;
}

const endpointMethods = ["GET", "HEAD", "POST", "DELETE", "PUT", "PATCH", "OPTIONS"] as const;

/**
 * The public listener: MCP endpoints, their metadata and, where configured, the authorization server.
 * Bodies are never parsed here: the journey reads them once it knows who asks. Every refusal, the
 * router's and the HTTP parser's own included, is rendered by the gateway's one renderer.
 */
export function createPublicServer(options: PublicServerOptions): FastifyInstance {
  const app = Fastify({
    logger: false,
    exposeHeadRoutes: false,
    return503OnClosing: false,
    forceCloseConnections: false,
    requestTimeout: options.limits.bodyTimeoutMs,
    keepAliveTimeout: options.limits.keepAliveMs,
    http: { maxHeaderSize: options.limits.headerBytesMax },
    routerOptions: { maxParamLength: options.limits.nameCharsMax },
    frameworkErrors: (_error, request, reply) => {
      refuseRequest(options, request, reply, refuse("URL_MALFORMED").refusal);
    },
    clientErrorHandler: (error: NodeJS.ErrnoException, socket: Socket) => {
      rawRefusal(error, socket);
    },
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", (_request, _payload, done) => {
    done(null);
  });
  app.route({ method: [...endpointMethods], url: "/:server/mcp", handler: endpoint(options) });
  app.route({
    method: ["GET", "HEAD", "OPTIONS"],
    url: "/.well-known/oauth-protected-resource/:server/mcp",
    handler: resourceMetadata(options),
  });
  app.setNotFoundHandler(elsewhere(options));
  app.setErrorHandler((cause, request, reply) => {
    refuseRequest(options, request, reply, refuse("INTERNAL_FAULT", {}, { cause }).refusal);
  });
  return app;
}

type Handler = (request: FastifyRequest, reply: FastifyReply) => void;

function endpoint(options: PublicServerOptions): Handler {
  return (request, reply) => {
    const server = serverOf(options, request);
    if (server === undefined) {
      refuseRequest(options, request, reply, refuse("SERVER_UNKNOWN").refusal);
      return;
    }
    if (request.method === "OPTIONS") {
      send(reply, preflight(options, request));
      return;
    }
    reply.hijack();
    const arrival = arrivalOf(request.raw, reply.raw, { server, limits: options.limits });
    const extra = crossOriginHeaders(options.gateway.allowedOrigins, request.headers.origin);
    void handle(arrival, options.gateway).then((answer) => {
      sendAnswer(request.raw, reply.raw, { ...answer, headers: { ...answer.headers, ...extra } });
    });
  };
}

function serverOf(options: PublicServerOptions, request: FastifyRequest): VirtualServer | undefined {
  const params: unknown = request.params;
  const name = typeof params === "object" && params !== null && "server" in params ? params.server : undefined;
  return typeof name === "string" ? options.servers.get(name) : undefined;
}

/** A preflight carries no credentials, so it is answered without any (Fetch standard, "CORS-preflight fetch"). */
function preflight(options: PublicServerOptions, request: FastifyRequest): Answer {
  const headers = preflightHeaders(
    options.gateway.allowedOrigins,
    request.headers.origin,
    request.headers["access-control-request-headers"],
  );
  if (headers === undefined || foreignHost(options, request))
    return stranger(refuse("ORIGIN_NOT_ALLOWED").refusal, options, request);
  return { status: 204, headers, body: undefined };
}

/** Public, without authentication, readable by any page (RFC 9728 §3; browser clients fetch it). */
function resourceMetadata(options: PublicServerOptions): Handler {
  return (request, reply) => {
    const server = serverOf(options, request);
    const refusal = foreignHost(options, request)
      ? refuse("HOST_NOT_ALLOWED").refusal
      : server === undefined
        ? refuse("ROUTE_UNKNOWN").refusal
        : undefined;
    if (refusal !== undefined || server === undefined) {
      refuseRequest(options, request, reply, refusal ?? refuse("ROUTE_UNKNOWN").refusal);
      return;
    }
    const headers = { "access-control-allow-origin": "*", "access-control-allow-headers": "*" };
    if (request.method === "OPTIONS") {
      send(reply, { status: 204, headers, body: undefined });
      return;
    }
    const body = JSON.stringify(options.metadata(server));
    send(reply, {
      status: 200,
      headers: { ...headers, "content-type": "application/json", "cache-control": "max-age=60" },
      body,
    });
  };
}

/** Everything else: the authorization server's paths, or nothing. */
function elsewhere(options: PublicServerOptions): Handler {
  return (request, reply) => {
    if (foreignHost(options, request)) {
      refuseRequest(options, request, reply, refuse("HOST_NOT_ALLOWED").refusal);
      return;
    }
    const path = request.url.split("?", 1)[0] ?? "/";
    if (options.signIn?.handles(path) === true) {
      reply.hijack();
      void options.signIn.handle(request.raw, reply.raw);
      return;
    }
    refuseRequest(options, request, reply, refuse("ROUTE_UNKNOWN").refusal);
  };
}

function foreignHost(options: PublicServerOptions, request: FastifyRequest): boolean {
  return !options.gateway.allowedHosts.has(request.headers.host?.toLowerCase() ?? "");
}

function refuseRequest(
  options: PublicServerOptions,
  request: FastifyRequest,
  reply: FastifyReply,
  refusal: Refusal,
): void {
  const extra = crossOriginHeaders(options.gateway.allowedOrigins, request.headers.origin);
  const answer = stranger(refusal, options, request);
  send(reply, { ...answer, headers: { ...answer.headers, ...extra } });
}

function stranger(refusal: Refusal, options: PublicServerOptions, request: FastifyRequest): Answer {
  return answerRefusal(refusal, {
    ref: options.gateway.strangers.note(refusal.code, request.socket.remoteAddress ?? ""),
    era: undefined,
    id: undefined,
    method: undefined,
    asked: undefined,
    outcome: "refused",
    resource: undefined,
  });
}

function send(reply: FastifyReply, answer: Answer): void {
  void reply
    .code(answer.status)
    .headers(answer.headers)
    .send(answer.body ?? null);
}
