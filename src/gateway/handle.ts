import { refuse, type Refusal } from "../model/refusal.ts";
import { readOwn, type Json } from "../model/json.ts";
import type { RpcId } from "../model/rpc.ts";
import { errorMessage, idOf, resultMessage } from "../protocol/jsonrpc.ts";
import { writeJson } from "../protocol/json/write.ts";
import { walk, walkElement } from "./chain.ts";
import { beginExchange, requestIdOf, methodOf, type Arrival, type Exchange } from "./exchange.ts";
import type { Gateway } from "./gateway.ts";
import { recordOutcome } from "./steps/record-outcome.ts";
import { ownSession } from "./steps/own-session.ts";
import { answerRefusal, messageFor, type Answer, type RefusalContext } from "./wire-answer.ts";

/** One HTTP request at an MCP endpoint, from arrival to answer. Never rejects: a fault of ours is answered as one. */
export async function handle(arrival: Arrival, g: Gateway): Promise<Answer> {
  const x = beginExchange(arrival, g.ref(), g.now());
  g.atWork.begin();
  try {
    const refusal = await walk(x, g);
    if (refusal === undefined && x.batch !== undefined) return await handleBatch(x, g, x.batch);
    return conclude(x, g, refusal);
  } catch (cause) {
    const { refusal } = refuse("INTERNAL_FAULT");
    g.logRefusal({ ref: x.ref, code: refusal.code }, cause);
    return answerRefusal(refusal, contextOf(x, g));
  } finally {
    g.atWork.end();
  }
}

function conclude(x: Exchange, g: Gateway, refusal: Refusal | undefined): Answer {
  const final = recordOutcome(x, g, afterCancellation(x, refusal));
  if (final === undefined) return success(x);
  const answer = answerRefusal(final, contextOf(x, g));
  return final.code === "CALL_CANCELLED" ? { ...answer, endsStream: true } : answer;
}

/**
 * Whoever cancelled a call gets no result any more: on an event stream nothing at all (2025-11-25, utilities,
 * "Cancellation"), otherwise an error, as the HTTP request needs an answer.
 */
function afterCancellation(x: Exchange, refusal: Refusal | undefined): Refusal | undefined {
  if (x.underWay?.cancelled !== true) return refusal;
  if (x.outcome === "returned") x.outcome = "unknown";
  return refuse("CALL_CANCELLED", refusal === undefined ? {} : { then: refusal.code }).refusal;
}

/**
 * A batch is unbundled in sessions negotiated at 2025-03-26, which must accept it, and nowhere else.
 * Each element goes its own way through the journey and leaves its own evidence.
 */
async function handleBatch(x: Exchange, g: Gateway, elements: readonly Json[]): Promise<Answer> {
  const refusal = await batchRefusal(x, g, elements);
  if (refusal !== undefined) return conclude(x, g, refusal);
  const answers = await Promise.all(elements.map((element) => handleElement(x, g, element)));
  const texts = answers.filter((text) => text !== undefined);
  if (texts.length === 0) return { status: 202, headers: {}, body: undefined };
  return { status: 200, headers: jsonHeaders, body: `[${texts.join(",")}]` };
}

async function batchRefusal(x: Exchange, g: Gateway, elements: readonly Json[]): Promise<Refusal | undefined> {
  const batchRefused = refuse("RPC_BATCH_REFUSED", { elements: elements.length }).refusal;
  const { "mcp-session-id": session, "mcp-protocol-version": version } = x.arrival.headers;
  if (session === undefined || (version !== undefined && version !== "2025-03-26")) return batchRefused;
  const refusal = await ownSession(x, g);
  if (refusal !== undefined) return refusal;
  const { batchElementsMax } = g.limits;
  const accepted = x.session?.revision === "2025-03-26" && elements.length > 0 && elements.length <= batchElementsMax;
  return accepted ? undefined : batchRefused;
}

async function handleElement(parent: Exchange, g: Gateway, element: Json): Promise<string | undefined> {
  // The answers of a batch come as one array, so its elements have no streams.
  const x = beginExchange({ ...parent.arrival, ...noStreams }, g.ref(), g.now());
  x.principal = parent.principal;
  x.body = element;
  const misplaced = isMisplaced(element) ? refuse("RPC_BATCH_REFUSED").refusal : undefined;
  const refusal = recordOutcome(x, g, afterCancellation(x, misplaced ?? (await walkElement(x, g))));
  if (refusal !== undefined) return isNotification(x) ? undefined : writeJson(messageFor(refusal, contextOf(x, g)));
  const id = requestIdOf(x);
  return id === undefined ? undefined : textOf(x, id);
}

const noStreams: Pick<Arrival, "stream" | "listen" | "expectWait"> = {
  stream: () => undefined,
  listen: () => undefined,
  expectWait: () => undefined,
};

/** No batch within a batch, and no `initialize`: its session id would have no header to travel in (2025-03-26, lifecycle). */
function isMisplaced(element: Json): boolean {
  return Array.isArray(element) || readOwn(element, "method") === "initialize";
}

function isNotification(x: Exchange): boolean {
  return x.classified?.column === "notification";
}

const jsonHeaders: Readonly<Record<string, string>> = {
  "content-type": "application/json",
  "cache-control": "no-store",
};

function success(x: Exchange): Answer {
  const id = requestIdOf(x);
  if (id === undefined) return { status: x.classified?.column === "delete" ? 200 : 202, headers: {}, body: undefined };
  return { status: 200, headers: { ...jsonHeaders, ...x.headers }, body: bodyOf(x, id) };
}

function bodyOf(x: Exchange, id: RpcId): string | Buffer {
  if (x.error !== undefined || x.resultText?.bytes === undefined) return textOf(x, id);
  return Buffer.concat([Buffer.from(beforeResult(id)), x.resultText.bytes, afterResult]);
}

function textOf(x: Exchange, id: RpcId): string {
  if (x.error !== undefined) return writeJson(errorMessage(id, x.error));
  if (x.resultText !== undefined) return `${beforeResult(id)}${x.resultText.text}}`;
  return writeJson(resultMessage(id, x.result ?? {}));
}

function beforeResult(id: RpcId): string {
  return `{"jsonrpc":"2.0","id":${writeJson(id)},"result":`;
}

const afterResult: Buffer = Buffer.from("}");

function contextOf(x: Exchange, g: Gateway): RefusalContext {
  return {
    ref: x.ref,
    era: x.classified?.era,
    id: requestIdOf(x) ?? (x.body === undefined ? undefined : idOf(x.body)),
    method: x.classified === undefined ? undefined : methodOf(x),
    asked: x.target?.asked,
    outcome: x.outcome,
    asTask: x.task?.is === "wanted",
    serverInfo: { ...g.info },
    resource: x.arrival.server,
    authorization: x.arrival.authorization,
  };
}
