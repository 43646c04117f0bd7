import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { METHODS, type IncomingMessage, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { Socket } from "node:net";
import type { TlsOptions as SecureOptions } from "node:tls";
import type { JsonObject } from "../model/json.ts";
import type { Limits } from "../model/limits.ts";
import { refuse, type Refusal } from "../model/refusal.ts";
import type { Gateway, VirtualServer } from "../gateway/gateway.ts";
import { answerStranger, type Answer } from "../gateway/wire-answer.ts";
import { crossOriginHeaders, preflightHeaders } from "./cross-origin.ts";
import { rawRefusal } from "./raw-refusal.ts";
import { interruptBody } from "./read-body.ts";
import { serveExchange } from "./serve-exchange.ts";
import { createSilences, type Silences } from "./silences.ts";

/** Pages and endpoints beside the servers, as far as the edge is concerned: the authorization server's, the connect pages. */
export interface OwnPages {
  handles(path: string): boolean;
  handle(req: IncomingMessage, res: ServerResponse): Promise<void>;
}

export interface PublicServerOptions {
  readonly gateway: Gateway;
  readonly servers: ReadonlyMap<string, VirtualServer>;
  /** The protected-resource metadata document of a server (RFC 9728 §3). */
  readonly metadata: (server: VirtualServer) => JsonObject;
  readonly pages: readonly OwnPages[];
  readonly limits: Limits;
  /** Undefined: TLS ends in front of the gateway, if anywhere. */
  readonly tls?: ListenerTls | undefined;
}

/** PEM each. */
export interface ListenerTls {
  readonly cert: string;
  readonly key: string;
  /** Authorities of client certificates; undefined: clients are asked for none. */
  readonly clientCa: string | undefined;
}

/** Every method the HTTP parser knows, so that a stranger gets the challenge whatever the method; CONNECT has no path. */
const endpointMethods = METHODS.filter((method) => method !== "CONNECT");

/**
 * The public listener: MCP endpoints, their metadata and, where configured, the authorization server.
 * Everything is answered in `onRequest`, before Fastify looks at media types and bodies: the journey reads
 * bodies once it knows who asks. Every refusal, the router's and the HTTP parser's own included, is rendered
 * by the gateway's one renderer.
 */
export function createPublicServer(options: PublicServerOptions): FastifyInstance {
  const { limits } = options;
  // Node's own answer to a request without Host has no body.
  const http = { maxHeaderSize: limits.headerBytesMax, requireHostHeader: false };
  const app: FastifyInstance = Fastify({
    logger: false,
    exposeHeadRoutes: false,
    return503OnClosing: false,
    forceCloseConnections: false,
    // A backstop for headers and body together: `readBody` has the body's own timeout.
    requestTimeout: limits.bodyTimeoutMs * 2,
    keepAliveTimeout: limits.keepAliveMs,
    ...(options.tls === undefined ? { http } : { https: { ...http, ...secured(options.tls, limits) } }),
    routerOptions: { maxParamLength: limits.nameCharsMax },
    frameworkErrors: (_error, request, reply) => {
      refuseRequest(options, request, reply, refuse("URL_MALFORMED").refusal);
    },
    clientErrorHandler: (error: NodeJS.ErrnoException, socket: Socket) => {
      // A TLS handshake that failed comes here too, with a socket that nothing can be written to.
      if (!interruptBody(socket)) refuseRaw(options, socket, error.code);
    },
  });
  const supported = new Set(app.supportedMethods);
  for (const method of endpointMethods) if (!supported.has(method)) app.addHttpMethod(method);
  const route = (method: readonly string[], url: string, handler: Handler): void => {
    app.route({ method: [...method], url, onRequest: handler, handler: answeredBefore });
  };
  const silences = createSilences(limits.streamCommentMs);
  app.addHook("onClose", (_app, done) => {
    silences.close();
    done();
  });
  route(endpointMethods, "/:server/mcp", endpoint(options, silences));
  route(["GET", "HEAD", "OPTIONS"], "/.well-known/oauth-protected-resource/:server/mcp", resourceMetadata(options));
  const lost = elsewhere(options);
  app.addHook("onRequest", (request, reply, done) => {
    if (request.is404) lost(request, reply);
    else done();
  });
  app.setNotFoundHandler(answeredBefore);
  app.setErrorHandler((cause, request, reply) => {
    refuseRequest(options, request, reply, refuse("INTERNAL_FAULT", {}, { cause }).refusal);
  });
  refuseOddities(app, options);
  return app;
}

/**
 * A client certificate is asked for and none is needed: of a token that is bound to one, and of no other, somebody looks
 * at what was shown, and whether an authority's signature stands behind it.
 */
function secured({ cert, key, clientCa: ca }: ListenerTls, limits: Limits): SecureOptions {
  const asking = ca === undefined ? {} : { ca, requestCert: true, rejectUnauthorized: false };
  return { cert, key, minVersion: "TLSv1.2", handshakeTimeout: limits.tlsHandshakeTimeoutMs, ...asking };
}

/** What Node would answer by itself, without a body or not at all. */
function refuseOddities({ server }: FastifyInstance, options: PublicServerOptions): void {
  // An expectation nobody here knows may be ignored (RFC 9110 §10.1.1).
  server.on("checkExpectation", (req: IncomingMessage, res: ServerResponse) => server.emit("request", req, res));
  server.on("connect", (_req: IncomingMessage, socket: Duplex) => {
    refuseRaw(options, socket, undefined);
  });
}

function refuseRaw({ gateway }: PublicServerOptions, socket: Duplex, code: string | undefined): void {
  const address = "remoteAddress" in socket && typeof socket.remoteAddress === "string" ? socket.remoteAddress : "";
  rawRefusal(socket, { code, note: (refusalCode) => gateway.strangers.note(refusalCode, address) });
}

function answeredBefore(): never {
  throw new Error("a request passed the hook that answers it");
}

type Handler = (request: FastifyRequest, reply: FastifyReply) => void;

function endpoint(options: PublicServerOptions, silences: Silences): Handler {
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
    const extra = crossOriginHeaders(options.gateway.allowedOrigins, request.headers.origin);
    serveExchange(
      request.raw,
      reply.raw,
      { gateway: options.gateway, limits: options.limits, silences },
      { server, extra },
    );
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

/** Everything else: pages of ours, or nothing. */
function elsewhere(options: PublicServerOptions): Handler {
  return (request, reply) => {
    if (foreignHost(options, request)) {
      refuseRequest(options, request, reply, refuse("HOST_NOT_ALLOWED").refusal);
      return;
    }
    const path = request.url.split("?", 1)[0] ?? "/";
    const owner = options.pages.find((pages) => pages.handles(path));
    if (owner !== undefined) {
      reply.hijack();
      void owner.handle(request.raw, reply.raw);
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
  const { gateway } = options;
  const ref = gateway.strangers.note(refusal.code, request.socket.remoteAddress ?? "");
  gateway.logRefusal({ ref, code: refusal.code }, refusal.cause);
  return answerStranger(refusal, ref);
}

/** Bytes, because Fastify adds to a text's media type a charset that JSON does not have (RFC 8259 §11). */
function send(reply: FastifyReply, answer: Answer): void {
  void reply
    .code(answer.status)
    .headers(answer.headers)
    .send(answer.body === undefined ? null : Buffer.from(answer.body));
}
