import type { IncomingMessage, ServerResponse } from "node:http";
import type { ClientStream, ListeningStream } from "../gateway/exchange.ts";
import type { Gateway, VirtualServer } from "../gateway/gateway.ts";
import { handle } from "../gateway/handle.ts";
import { answerStranger, type Answer } from "../gateway/wire-answer.ts";
import type { Limits } from "../model/limits.ts";
import { refuse } from "../model/refusal.ts";
import { arrivalOf } from "./arrival.ts";
import { createAnswerStream, type AnswerStream } from "./client-stream.ts";
import { createListeningStream, type OpenListeningStream } from "./listening-stream.ts";
import { offerNonce } from "./offer-nonce.ts";
import { sendAnswer } from "./send-answer.ts";
import type { Silences } from "./silences.ts";

export interface ExchangeRoom {
  readonly gateway: Gateway;
  readonly limits: Limits;
  readonly silences: Silences;
}

export interface ExchangeAtHand {
  readonly server: VirtualServer;
  /** Headers of every answer: those of cross-origin pages. */
  readonly extra: Readonly<Record<string, string>>;
}

/** One request at an MCP endpoint: a plain answer, or an event stream where messages or a silence come before it. */
export function serveExchange(
  req: IncomingMessage,
  res: ServerResponse,
  { gateway, limits, silences }: ExchangeRoom,
  { server, extra }: ExchangeAtHand,
): void {
  let answering: AnswerStream | undefined;
  let listening: OpenListeningStream | undefined;
  let endWait: (() => void) | undefined;
  const stream = (): AnswerStream => (answering ??= createAnswerStream(res, extra, limits));
  const listen = (): ListeningStream => (listening = createListeningStream(res, extra, limits));
  const expectWait = (): void => {
    endWait ??= silences.watch(() => {
      stream().open();
    });
  };
  offerNonce(req, res, gateway);
  const arrival = arrivalOf(req, res, {
    server,
    uri: server.resource,
    limits,
    stream: (): ClientStream => stream(),
    listen,
    expectWait,
  });
  const finish = (answer: Answer): void => {
    endWait?.();
    const open = listening ?? answering;
    if (open?.opened === true) open.finish(lastMessageOf(answer));
    // A connection kept alive would keep a gateway from stopping that has nothing left to do.
    else sendAnswer(req, res, answer, [extra, gateway.draining() ? { connection: "close" } : noHeaders]);
  };
  void handle(arrival, gateway)
    .then(finish)
    .catch((cause: unknown) => {
      const ref = gateway.ref();
      gateway.logRefusal({ ref, code: "INTERNAL_FAULT", during: "answer" }, cause);
      answerFault(req, res, { ref, extra });
    });
}

/** A fault of ours costs this one connection, not the process. The client is told where it was told nothing yet. */
function answerFault(
  req: IncomingMessage,
  res: ServerResponse,
  { ref, extra }: { ref: string; extra: ExchangeAtHand["extra"] },
): void {
  if (res.headersSent) {
    res.destroy();
    return;
  }
  try {
    sendAnswer(req, res, answerStranger(refuse("INTERNAL_FAULT").refusal, ref), [extra, { connection: "close" }]);
  } catch {
    res.destroy();
  }
}

const noHeaders: Readonly<Record<string, string>> = {};

function lastMessageOf({ endsStream, body }: Answer): string {
  return endsStream === true ? "" : (body?.toString() ?? "");
}
