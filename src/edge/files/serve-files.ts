import httpProxy from "@fastify/http-proxy";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { refuse, type Refusal } from "../../model/refusal.ts";
import { beginExchange } from "../../gateway/exchange.ts";
import { answerFileRefusal, fileGuards } from "../../gateway/files/answer-file.ts";
import { serverNamed } from "../../gateway/files/file-path.ts";
import { judgeFile } from "../../gateway/files/judge-file.ts";
import type { Gateway, VirtualServer } from "../../gateway/gateway.ts";
import { recordOutcome } from "../../gateway/steps/record-outcome.ts";
import { answerStranger, type Answer } from "../../gateway/wire-answer.ts";
import { fileTicketHeader, type FileSource } from "../../upstream/files.ts";
import { arrivalOf } from "../arrival.ts";
import { offerNonce } from "../offer-nonce.ts";
import { sendAnswer } from "../send-answer.ts";
import { deliverFile, errandOf, refusalFrom, type Visit } from "./deliver-file.ts";

export interface FilesDoor {
  /** Hosts and labels are those of files; everything else is the gateway's own. */
  readonly gateway: Gateway;
  /** The public origin of files. */
  readonly origin: string;
  readonly servers: ReadonlyMap<string, VirtualServer>;
  readonly source: FileSource;
}

/** What http-proxy is told where it wants an upstream: the origin of each file is set per request. */
const perRequest = { upstream: "", replyOptions: { getUpstream: () => "http://origin.invalid" } } as const;

/**
 * Adds `/files/{server}/{upstream}/{path}` to the public listener. Every request is judged before the library that
 * carries the file sees it, and what it sends is compared with what was judged (`FileSource`). Of the library's own
 * behaviour nothing is relied on but that it copies a stream: paths, headers, retries and errors are ours.
 */
export function serveFiles(app: FastifyInstance, door: FilesDoor): void {
  const visits = new WeakMap<FastifyRequest, Visit>();
  const notFetched = app.supportedMethods.filter((method) => method !== "GET" && method !== "HEAD");
  app.register((scope, _options, done) => {
    scope.addHook("onRequest", (request, reply) => receive(door, visits, { request, reply }));
    scope.setErrorHandler((cause, request, reply) => {
      const visit = visits.get(request);
      if (visit === undefined) throw cause;
      fail(door, visit, { reply, refusal: refuse("INTERNAL_FAULT", {}, { cause }).refusal });
    });
    scope.route({ method: notFetched, url: "/files/*", handler: judgedBefore });
    scope.register(httpProxy, {
      ...perRequest,
      prefix: "/files",
      routes: ["/*"],
      httpMethods: ["GET", "HEAD"],
      proxyPayloads: false,
      disableCache: true,
      disableRequestLogging: true,
      undici: door.source.dispatcher,
      handler: (request, reply) => {
        const visit = visits.get(request);
        if (visit === undefined) judgedBefore();
        else fetchFile(door, visit, reply);
        return reply;
      },
    });
    scope.addHook("onClose", () => door.source.close());
    done();
  });
}

function judgedBefore(): never {
  throw new Error("a request for a file passed the hook that judges it");
}

async function receive(
  door: FilesDoor,
  visits: WeakMap<FastifyRequest, Visit>,
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
): Promise<void> {
  const { gateway } = door;
  const asked = request.raw.url ?? "";
  const server = door.servers.get(serverNamed(asked) ?? "");
  if (server === undefined) {
    reply.hijack();
    sendAnswer(request.raw, reply.raw, answerUnknown(door, request), [fileGuards]);
    return;
  }
  offerNonce(request.raw, reply.raw, gateway);
  const arrival = arrivalOf(request.raw, reply.raw, {
    server,
    uri: door.origin + (asked.split(/[?#]/, 1)[0] ?? ""),
    limits: gateway.limits,
    stream: noStream,
    listen: noStream,
    expectWait: noStream,
  });
  const x = beginExchange(arrival, gateway.ref(), gateway.now());
  const visit: Visit = { x, asked, file: undefined, request: request.raw, head: undefined, ticket: "", over: false };
  const refusal = await judgeFile(visit, { gateway, routes: gateway.files });
  if (refusal === undefined) visits.set(request, visit);
  else refuseVisit(door, visit, { reply, refusal });
}

function noStream(): never {
  throw new Error("a file is no event stream");
}

/** A stranger learns of no server, whatever its path goes on with. */
function answerUnknown({ gateway }: FilesDoor, request: FastifyRequest): Answer {
  const known = gateway.allowedHosts.has(request.headers.host?.toLowerCase() ?? "");
  const { refusal } = refuse(known ? "ROUTE_UNKNOWN" : "HOST_NOT_ALLOWED");
  const ref = gateway.strangers.note(refusal.code, request.socket.remoteAddress ?? "");
  gateway.logRefusal({ ref, code: refusal.code }, undefined);
  return answerStranger(refusal, ref);
}

function fetchFile(door: FilesDoor, visit: Visit, reply: FastifyReply): void {
  const { gateway, source } = door;
  const errand = errandOf(visit, gateway);
  const { file } = errand;
  visit.ticket = source.announce(errand);
  reply.from(file.path.path, {
    getUpstream: () => file.route.origin,
    queryString: () => file.path.query.slice(1),
    rewriteRequestHeaders: () => ({ [fileTicketHeader]: visit.ticket }),
    rewriteHeaders: () => ({}),
    onResponse: (_request, _reply, { stream }) => {
      reply.hijack();
      deliverFile(visit, { stream, res: reply.raw, last: gateway.draining() }, (refusal) => {
        conclude(door, visit, refusal);
      });
    },
    onError: (_reply, { error }) => {
      fail(door, visit, { reply, refusal: refusalFrom(error) });
    },
  });
}

/** The file was asked for, and did not come. */
function fail(door: FilesDoor, visit: Visit, of: { reply: FastifyReply; refusal: Refusal }): void {
  visit.x.outcome = "failed";
  refuseVisit(door, visit, of);
}

function refuseVisit(
  door: FilesDoor,
  visit: Visit,
  { reply, refusal }: { reply: FastifyReply; refusal: Refusal },
): void {
  const final = conclude(door, visit, refusal) ?? refusal;
  reply.hijack();
  const last = door.gateway.draining() ? { connection: "close" } : undefined;
  sendAnswer(visit.request, reply.raw, answerFileRefusal(final, visit.x), last === undefined ? [] : [last]);
}

/** Records the outcome, once, whatever else happens to the connection. */
function conclude({ gateway, source }: FilesDoor, visit: Visit, refusal: Refusal | undefined): Refusal | undefined {
  if (visit.over) return undefined;
  visit.over = true;
  source.withdraw(visit.ticket);
  return recordOutcome(visit.x, gateway, refusal);
}
