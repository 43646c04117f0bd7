import type { JsonObject } from "../model/json.ts";
import { isJsonObject, readOwn } from "../model/json.ts";
import type { Result } from "../model/result.ts";
import type { RpcError, RpcId, RpcNotification, RpcRequest } from "../model/rpc.ts";
import { withoutHopKeys, withoutKeys } from "../protocol/hop-meta.ts";
import { isRpcId, sameId } from "../protocol/jsonrpc.ts";
import { methodNotFound, undeclared } from "./declared.ts";
import type { LegacyGrant } from "./legacy-hop.ts";
import { answerUpstream } from "./legacy-hop.ts";
import type { Link } from "./link.ts";
import type { Patience } from "./patience.ts";
import type { AnswerAsked, AskedAnswer, OnAccountOf } from "./port.ts";

/** The requests that a legacy upstream sends to the client on one exchange or stream, each answered once. */
export interface Asking {
  /**
   * Takes a request: `ping` is answered here (2025-11-25, "Ping"), what the session declared goes to whoever
   * answers for the client, anything else is refused. The answer goes back under the upstream's own id. A
   * request whose id is open already is one sent again, and answered by the first.
   */
  readonly take: (request: RpcRequest) => void;
  /** Takes a notification: `notifications/cancelled` ends the request it names, unanswered. */
  readonly heed: (notification: RpcNotification) => void;
  /** Nobody waits any more: what is open is aborted, and the upstream told with −32603. */
  readonly close: () => void;
}

/** Where requests come from, and what is known of the session they come in. */
export interface AskingSession {
  readonly grant: LegacyGrant;
  readonly account: OnAccountOf;
  readonly patience: Patience;
}

interface Open {
  readonly id: RpcId;
  readonly abort: AbortController;
  readonly release: () => void;
}

interface Desk {
  readonly link: Link;
  readonly session: AskingSession;
  readonly onAsked: AnswerAsked | undefined;
  readonly open: Set<Open>;
}

export function createAsking(link: Link, session: AskingSession, onAsked: AnswerAsked | undefined): Asking {
  const desk: Desk = { link, session, onAsked, open: new Set() };
  return {
    take(request) {
      take(desk, request);
    },
    heed(notification) {
      heed(desk, notification);
    },
    close() {
      for (const asked of [...desk.open]) {
        settle(desk, asked);
        asked.abort.abort();
        reply(desk, asked.id, { error: noLongerWaited });
      }
    },
  };
}

const noLongerWaited: RpcError = { code: -32603, message: "The answer is no longer waited for" };
const notAnswered: RpcError = { code: -32603, message: "Internal error" };

function take(desk: Desk, request: RpcRequest): void {
  if (request.method === "ping") {
    reply(desk, request.id, { result: {} });
    return;
  }
  const error = desk.onAsked === undefined ? methodNotFound : undeclared(request, desk.session.grant.declared);
  if (error !== undefined || desk.onAsked === undefined) reply(desk, request.id, { error: error ?? methodNotFound });
  else if (![...desk.open].some(({ id }) => sameId(id, request.id))) void ask(desk, desk.onAsked, request);
}

async function ask(desk: Desk, onAsked: AnswerAsked, { id, method, params }: RpcRequest): Promise<void> {
  const asked: Open = { id, abort: new AbortController(), release: desk.session.patience.hold() };
  desk.open.add(asked);
  let answer: AskedAnswer;
  try {
    answer = await onAsked({ method, params: asGiven(params), signal: asked.abort.signal });
  } catch (fault) {
    const name = fault instanceof Error ? fault.name : "unknown";
    desk.link.log("upstream-request-unanswered", { upstream: desk.link.upstream, method, fault: name });
    answer = { error: notAnswered };
  }
  if (settle(desk, asked)) reply(desk, id, answer);
}

/**
 * Without what belongs to the hop: its `_meta`, the token under which the upstream would hear of progress, and
 * `task`, which whoever declares no tasks ignores (2025-11-25, tasks, "Task Support and Handling").
 */
function asGiven(params: JsonObject = {}): JsonObject {
  const rest = withoutKeys(params, ["task"]);
  const meta = readOwn(rest, "_meta");
  if (!isJsonObject(meta)) return withoutKeys(rest, ["_meta"]);
  const kept = withoutHopKeys(meta, ["progressToken"]);
  return Object.keys(kept).length === 0 ? withoutKeys(rest, ["_meta"]) : { ...rest, _meta: kept };
}

function heed(desk: Desk, { method, params }: RpcNotification): void {
  if (method !== "notifications/cancelled") return;
  const requestId = readOwn(params, "requestId");
  if (!isRpcId(requestId)) return;
  for (const asked of [...desk.open]) {
    if (sameId(asked.id, requestId) && settle(desk, asked)) asked.abort.abort();
  }
}

/** False when it was settled before: it was cancelled, or nobody waits. */
function settle({ open }: Desk, asked: Open): boolean {
  asked.release();
  return open.delete(asked);
}

/** Its failure changes nothing for the exchange, but is seen. */
function reply({ link, session }: Desk, id: RpcId, answer: AskedAnswer): void {
  void seen(link, "answer", answerUpstream(link, session, id, answer));
}

/** For what is sent beside an exchange. */
export async function seen(link: Link, what: string, sent: Promise<Result<void>>): Promise<void> {
  const told = await sent;
  if (!told.ok) link.log("upstream-notice-failed", { upstream: link.upstream, what, code: told.refusal.code });
}
