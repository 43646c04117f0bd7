import type { JsonObject } from "../model/json.ts";
import type { Refusal } from "../model/refusal.ts";
import { deliver } from "./deliver.ts";
import { legacyHeaders, writeLegacy } from "./legacy-hop.ts";
import type { HeldSession, LegacySessions } from "./legacy-sessions.ts";
import { isSessionLost } from "./legacy.ts";
import type { Link } from "./link.ts";
import type { Reply } from "./reply.ts";
import { faultOf } from "./verdict.ts";

/** A request of the gateway's own on a session, beside calls and without their queue. */
async function askOnSession(
  link: Link,
  { grant, account }: Pick<HeldSession, "grant" | "account">,
  method: string,
  params: JsonObject,
): Promise<Reply> {
  const { reply } = await deliver(link, {
    account,
    method: "POST",
    lane: "control",
    expectsAnswer: true,
    until: link.now() + link.timeouts.probeMs,
    write: (id) => writeLegacy(legacyHeaders(grant), id, { method, params }),
  });
  return reply;
}

/** Whether the upstream has forgotten the session; undefined when it does not say, as when it cannot be reached. */
export async function isForgotten(link: Link, session: HeldSession): Promise<boolean | undefined> {
  const reply = await askOnSession(link, session, "ping", {});
  if (isSessionLost(reply)) return true;
  return faultOf(reply) === undefined ? false : undefined;
}

export interface Subscriptions {
  /**
   * Subscribes to what is new among `uris` and unsubscribes from what is no longer there, one at a time. Settles
   * when nothing is left to do, or something failed.
   */
  want(uris: readonly string[]): Promise<void>;
  /** Sends nothing further. What was subscribed stays: another replica may hold the session's stream by now. */
  stop(): void;
}

/**
 * Resource subscriptions of a legacy session (2025-11-25, resources, "Subscriptions"), kept in step with what is
 * wanted. An error that the upstream answers with is logged and not asked for again in this session; any other
 * failure goes to `fail`. The number of URIs is the caller's to bound.
 */
export function createSubscriptions(
  of: {
    readonly link: Link;
    readonly sessions: LegacySessions;
    readonly session: HeldSession;
    readonly subscribed: Set<string>;
  },
  fail: (refusal: Refusal) => void,
): Subscriptions {
  const { link, sessions, session, subscribed } = of;
  let wanted: ReadonlySet<string> = new Set();
  let settling: Promise<void> | undefined;
  let stopped = false;
  const step = async (method: string, uri: string): Promise<boolean> => {
    const reply = await askOnSession(link, session, method, { uri });
    if (isSessionLost(reply)) sessions.lose(session);
    const fault = faultOf(reply);
    if (fault !== undefined) {
      fail(fault.refusal);
      return false;
    }
    if (reply.kind === "response" && "error" in reply.response) {
      link.log("upstream-subscription-refused", {
        upstream: link.upstream,
        method,
        rpcCode: reply.response.error.code,
      });
    }
    if (method === subscribe) subscribed.add(uri);
    else subscribed.delete(uri);
    return true;
  };
  const settle = async (): Promise<void> => {
    // Not before `settling` holds this very promise: without anything to do it would be over by then.
    await Promise.resolve();
    for (let next = nextOf(wanted, subscribed); next !== undefined && !stopped; next = nextOf(wanted, subscribed)) {
      if (!(await step(...next))) break;
    }
    settling = undefined;
  };
  return {
    want(uris) {
      wanted = new Set(uris);
      return stopped ? Promise.resolve() : (settling ??= settle());
    },
    stop() {
      stopped = true;
    },
  };
}

const subscribe = "resources/subscribe";
const unsubscribe = "resources/unsubscribe";

function nextOf(
  wanted: ReadonlySet<string>,
  subscribed: ReadonlySet<string>,
): readonly [method: string, uri: string] | undefined {
  for (const uri of subscribed) if (!wanted.has(uri)) return [unsubscribe, uri];
  for (const uri of wanted) if (!subscribed.has(uri)) return [subscribe, uri];
  return undefined;
}
