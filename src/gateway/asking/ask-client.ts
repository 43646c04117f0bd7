import type { AskedOutcome } from "../../audit/event.ts";
import type { Cancellation } from "../../model/cancellation.ts";
import { readOwnString, type JsonObject } from "../../model/json.ts";
import type { RpcError, RpcResponse } from "../../model/rpc.ts";
import type { AskedRequest } from "../../protocol/asked-request.ts";
import { formContent, readAnswer } from "../../protocol/asked-answer.ts";
import { notificationMessage, requestMessage } from "../../protocol/jsonrpc.ts";
import { writeJson } from "../../protocol/json/write.ts";
import type { Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { fitsForm } from "./judge-asked.ts";
import type { Came } from "./waiting.ts";

/** How long, and until what, the answer is waited for. */
export interface Patience {
  /** Milliseconds since the epoch. */
  readonly until: number;
  readonly signal: Cancellation;
}

/** What the client made of a request. */
export type ClientAnswer =
  | { readonly kind: "answer"; readonly outcome: AskedOutcome; readonly result: JsonObject }
  | { readonly kind: "error"; readonly outcome: AskedOutcome; readonly error: RpcError };

const internalError = -32603;

/**
 * Puts a judged request before the client of a legacy exchange, on the stream of the exchange or else on its
 * session's own, and reads what comes back. A client that is no longer waited for is told so. Never rejects; an answer
 * that does not fit what was asked is an error.
 */
export async function askClient(
  x: Exchange,
  g: Gateway,
  { request, patience }: { request: AskedRequest; patience: Patience },
): Promise<ClientAnswer> {
  const { session } = x;
  if (session === undefined) return undeliverable;
  const send = (message: JsonObject): boolean | Promise<boolean> => tellClient(x, g, message);
  const came = await g.asking.waiting.ask({
    session,
    messageOf: (id) => requestMessage(id, request.method, request.params),
    send,
    ...patience,
  });
  if (came.kind === "response") return readResponse(g, request, came.response);
  if ("id" in came && came.id !== undefined) await tellNobodyWaits(send, { kind: came.kind, id: came.id });
  return notAnswered(came.kind);
}

/**
 * False when the client did not get it: one that reads too slowly to be asked is not waited for. A batch and a client
 * that takes JSON alone have no stream, and a connection that is gone carries nothing.
 */
export function tellClient(x: Exchange, g: Gateway, message: JsonObject): boolean | Promise<boolean> {
  const stream = x.arrival.gone.aborted ? undefined : x.arrival.stream();
  if (stream !== undefined) return stream.send(writeJson(message));
  return x.session === undefined ? false : g.clientStreams.send(x.session, message);
}

/** A dialog that nobody waits for closes (2025-11-25, cancellation, "Behavior Requirements"). */
async function tellNobodyWaits(
  send: (message: JsonObject) => boolean | Promise<boolean>,
  { kind, id }: { kind: "timed-out" | "withdrawn"; id: string },
): Promise<void> {
  const reason = kind === "timed-out" ? "The time for an answer is over." : "The answer is no longer needed.";
  try {
    await send(notificationMessage("notifications/cancelled", { requestId: id, reason }));
  } catch {
    // The store that would lead it to another replica is away; the client keeps its dialog.
  }
}

function notAnswered(kind: Exclude<Came["kind"], "response">): ClientAnswer {
  switch (kind) {
    case "timed-out":
      return failure("timed-out", "The client did not answer in time.");
    case "withdrawn":
      return failure("withdrawn", "The answer is no longer waited for.");
    case "full":
    case "unsent":
      return undeliverable;
  }
}

function failure(outcome: AskedOutcome, message: string): ClientAnswer {
  return { kind: "error", outcome, error: { code: internalError, message } };
}

const undeliverable: ClientAnswer = failure("undeliverable", "The client cannot be asked now.");

function readResponse(g: Gateway, request: AskedRequest, response: RpcResponse): ClientAnswer {
  if ("error" in response)
    return { kind: "error", outcome: "failed", error: errorFor(response.error, g.limits.errorMessageCharsMax) };
  const result = readAnswer(request, response.result);
  if (result === undefined) return failure("unfit", "The client's answer is not one to this request.");
  const content = formContent(result);
  if (content !== undefined && !fitsForm(g, request, content))
    return failure("unfit", "The client's answer does not fit the requested schema.");
  return { kind: "answer", outcome: outcomeOf(request, result), result };
}

/** Codes from −32020 on are about the client's own hop; `data` is for whoever the client took for the server. */
function errorFor({ code, message }: RpcError, charsMax: number): RpcError {
  const isAboutHop = code <= -32020 && code >= -32099;
  return { code: isAboutHop ? internalError : code, message: message.slice(0, charsMax).toWellFormed() };
}

const outcomes: ReadonlyMap<string, AskedOutcome> = new Map([
  ["accept", "accepted"],
  ["decline", "declined"],
  ["cancel", "cancelled"],
]);

/** How an answer that fits its request ends it. */
export function outcomeOf({ method }: Pick<AskedRequest, "method">, result: JsonObject): AskedOutcome {
  if (method !== "elicitation/create") return "answered";
  return outcomes.get(readOwnString(result, "action") ?? "") ?? "answered";
}
