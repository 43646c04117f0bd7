import type { JsonObject } from "../model/json.ts";
import { readOwn } from "../model/json.ts";
import { refuse } from "../model/refusal.ts";
import type { RpcNotification } from "../model/rpc.ts";
import { createAsking } from "./asking.ts";
import { declaredFor } from "./declared.ts";
import type { LegacyGrant } from "./legacy-hop.ts";
import type { HeldSession, LegacySessions } from "./legacy-sessions.ts";
import { meansOtherEra } from "./legacy.ts";
import { ensureLogLevel } from "./log-level.ts";
import type { AnswerAsked, Wanted } from "./port.ts";
import { isEventId } from "./resumption.ts";
import { takeLog } from "./take-log.ts";
import { isNoOffer, overFor, withdrawn } from "./watch-attempt.ts";
import type { Attempt, AttemptEnd } from "./watch-attempt.ts";
import type { StreamEnd } from "./watch-connection.ts";
import { withCredential } from "./watch-credential.ts";
import { openStream } from "./watch-stream.ts";
import type { OpenStream } from "./watch-stream.ts";
import { createSubscriptions, isForgotten } from "./watch-session.ts";

/** What one watch remembers of its session from one attempt to the next. */
export interface LegacyMemory {
  grant: LegacyGrant | undefined;
  lastEventId: string | undefined;
  /** URIs that the upstream has been asked to report on, in this session. */
  readonly subscribed: Set<string>;
  /** Calls of the account run on a session that declared other capabilities: the stream follows them there. */
  follows: boolean;
}

export function createLegacyMemory(): LegacyMemory {
  return { grant: undefined, lastEventId: undefined, subscribed: new Set(), follows: false };
}

/**
 * One GET stream of the account's session (2025-11-25, transports, "Listening for Messages from the Server"),
 * which stays in use while the stream lives. It resumes with `Last-Event-ID` what it had on the same session.
 * Never rejects.
 */
export async function hearLegacy(
  attempt: Attempt,
  sessions: LegacySessions,
  memory: LegacyMemory,
): Promise<AttemptEnd> {
  const { link, watch, signal } = attempt;
  const declared = memory.follows ? undefined : declaredFor(watch.account, watch.clientCapabilities);
  const wait = { signal, ms: 2 * link.timeouts.probeMs, declared };
  const acquired = await sessions.acquire(link, watch.account, wait);
  if (!acquired.ok && meansOtherEra(acquired.refusal.code)) return { kind: "stale" };
  if (!acquired.ok) return { kind: "over", refusal: acquired.refusal, retryMs: undefined };
  const session = acquired.value;
  remember(memory, session.grant);
  try {
    return await hear(attempt, { sessions, session, memory });
  } finally {
    sessions.release(session);
  }
}

function remember(memory: LegacyMemory, grant: LegacyGrant): void {
  memory.follows = false;
  if (memory.grant === grant) return;
  memory.grant = grant;
  memory.lastEventId = undefined;
  memory.subscribed.clear();
}

interface Hearing {
  readonly sessions: LegacySessions;
  readonly session: HeldSession;
  readonly memory: LegacyMemory;
}

async function hear(attempt: Attempt, hearing: Hearing): Promise<AttemptEnd> {
  const { link, offer, signal } = attempt;
  const { session, memory } = hearing;
  const isOfUse = (wanted: Wanted): boolean => bringsSomething(attempt, session.grant, wanted);
  attempt.onChange((wanted) => !isOfUse(wanted));
  if (!isOfUse(attempt.wanted())) return { kind: "unavailable" };
  // What is wanted is looked at again when the stream stands.
  attempt.onChange(() => true);
  const entered = await offer.enter(signal);
  if (entered !== "go") return entered === "refused" ? { kind: "unavailable" } : withdrawn;
  try {
    let retryMs: number | undefined;
    const end = await withCredential(link, attempt.watch.account, (credential) => {
      const stream = open(attempt, hearing, credential);
      void stream.over.then(() => {
        memory.lastEventId = resumable(stream.lastEventId, memory.lastEventId);
        retryMs = stream.retryMs;
      });
      return stream;
    });
    return await judge(attempt, hearing, { end, retryMs });
  } finally {
    // Whoever waits for what this attempt finds must not wait for one that found nothing.
    offer.tell("nothing");
  }
}

/** The id of the last event if a header can carry it back; the one before while none has come. */
function resumable(last: string | undefined, before: string | undefined): string | undefined {
  if (last === undefined) return before;
  return isEventId(last) ? last : undefined;
}

/** Whether there is anything that the stream could bring: what is wanted and declared, or what a session may ask. */
function bringsSomething({ watch }: Attempt, grant: LegacyGrant, { lists, resources }: Wanted): boolean {
  const { capabilities } = grant.identity;
  const changes = lists && ["tools", "prompts", "resources"].some((kind) => declares(grant, kind, "listChanged"));
  const updates = resources.length > 0 && declares(grant, "resources", "subscribe");
  const asks = watch.onAsked !== undefined && Object.keys(grant.declared).length > 0;
  // Of its tasks a server tells the session that they were made in.
  const tasks = watch.account.clientSession !== undefined && readOwn(capabilities, "tasks") !== undefined;
  return changes || updates || asks || tasks || logs(watch.logLevel, capabilities);
}

function declares({ identity }: LegacyGrant, kind: string, what: string): boolean {
  return readOwn(readOwn(identity.capabilities, kind), what) === true;
}

function logs(logLevel: string | undefined, capabilities: JsonObject): boolean {
  return logLevel !== undefined && readOwn(capabilities, "logging") !== undefined;
}

function open(attempt: Attempt, hearing: Hearing, credential: readonly string[]): OpenStream {
  const { link, watch, signal, offer } = attempt;
  const { sessions, session, memory } = hearing;
  const asking = createAsking(link, session, inTurn(watch.onAsked, link.limits.upstreamRequestsPerExchangeMax));
  const resumed = memory.lastEventId !== undefined;
  let over = false;
  const follow = (): void => {
    memory.follows = session.over.signal.reason === "replaced";
    stream.fail(refuse("UPSTREAM_SESSION_LOST", { upstream: link.upstream }).refusal);
  };
  const subscriptions = createSubscriptions({ link, sessions, session, subscribed: memory.subscribed }, (refusal) => {
    stream.fail(refusal);
  });
  const subscribe = async ({ resources }: Wanted): Promise<void> => {
    if (declares(session.grant, "resources", "subscribe")) await subscriptions.want(resources);
  };
  const stream = openStream(link, {
    method: "GET",
    headers: [...streamHeaders(session.grant, memory.lastEventId), ...credential],
    body: null,
    holder: watch.account.principalKey,
    signal,
    onQueued: attempt.onQueued,
    onOpen: () => {
      offer.tell("offered");
      attempt.onOpen(resumed);
      tellLevel(attempt, hearing);
      attempt.onChange((wanted) => {
        void subscribe(wanted);
        return true;
      });
      void subscribe(attempt.wanted()).then(() => {
        if (!over) attempt.onStanding();
      });
    },
    take: (message) => {
      if (message.kind === "request") asking.take(message);
      if (message.kind !== "notification") return;
      asking.heed(message);
      notice(attempt, message);
    },
  });
  session.over.signal.addEventListener("abort", follow, { once: true });
  void stream.over.then(() => {
    over = true;
    session.over.signal.removeEventListener("abort", follow);
    subscriptions.stop();
    asking.close();
  });
  return stream;
}

function streamHeaders({ id, revision }: LegacyGrant, lastEventId: string | undefined): readonly string[] {
  return [
    ...["accept", "text/event-stream", "accept-encoding", "identity", "mcp-protocol-version", revision],
    ...(id === undefined ? [] : ["mcp-session-id", id]),
    ...(lastEventId === undefined ? [] : ["last-event-id", lastEventId]),
  ];
}

/** The session's level is lowered for the stream as for a call; what is too much for it is dropped (see `notice`). */
function tellLevel({ link, watch, signal }: Attempt, { sessions, session }: Hearing): void {
  const { logLevel } = watch;
  if (logLevel === undefined) return;
  void ensureLogLevel(link, sessions, session, { logLevel, signal, until: link.now() + link.timeouts.probeMs });
}

/** A stream has no end that would bound its requests: of those open at once, what exceeds the bound is refused. */
function inTurn(onAsked: AnswerAsked | undefined, openMax: number): AnswerAsked | undefined {
  if (onAsked === undefined) return undefined;
  let open = 0;
  return async (asked) => {
    if (open >= openMax) return { error: { code: -32603, message: "Too many requests are open" } };
    open += 1;
    try {
      return await onAsked(asked);
    } finally {
      open -= 1;
    }
  };
}

/** Progress belongs to an exchange, and none runs here. What is not known is handed on for others to judge. */
function notice({ watch, wanted }: Attempt, notification: RpcNotification): void {
  const { method, params = {} } = notification;
  const { lists, resources } = wanted();
  switch (method) {
    case "notifications/progress":
    case "notifications/cancelled":
      return;
    case "notifications/message":
      takeLog(notification, {
        logLevel: watch.logLevel,
        onLog: (log) => {
          watch.onNotification(method, log);
        },
      });
      return;
    case "notifications/tools/list_changed":
    case "notifications/prompts/list_changed":
    case "notifications/resources/list_changed":
      if (lists) watch.onNotification(method, params);
      return;
    case "notifications/resources/updated":
      if (resources.length > 0) watch.onNotification(method, params);
      return;
    default:
      watch.onNotification(method, params);
  }
}

/**
 * A 404 may mean that the session is gone or that there is no stream, and so may the 400 that many servers say
 * instead: a `ping` tells, on the session itself. Whatever a resumption is refused with, the next is none.
 */
async function judge(
  { link, offer }: Attempt,
  { sessions, session, memory }: Hearing,
  { end, retryMs }: { readonly end: StreamEnd; readonly retryMs: number | undefined },
): Promise<AttemptEnd> {
  if (end.kind !== "refused" || !isNoOffer(end.status)) {
    return overFor(end, retryMs);
  }
  const resumed = memory.lastEventId !== undefined;
  memory.lastEventId = undefined;
  const doubtful = end.status === 404 || end.status === 400;
  const forgotten = doubtful && (await isForgotten(link, session));
  if (forgotten === true) sessions.lose(session);
  if (forgotten !== false || resumed) return overFor(end, retryMs);
  offer.tell("refused");
  return { kind: "unavailable" };
}
