import type { Limits } from "../model/limits.ts";
import { StoreUnavailable, type RecordKey } from "../model/records.ts";
import type { SessionRecords } from "./port.ts";
import { lifeLeft } from "./session-life.ts";
import type { Session } from "./session-record.ts";

/**
 * What a legacy session has subscribed to, kept where every replica finds it. It carries no authority: whoever
 * delivers asks policy for each message. Every operation rejects with `StoreUnavailable`.
 */
export interface Subscriptions {
  /** True once it is there. False when the session holds `sessionSubscriptionsMax`, or its record would be too large. */
  add(session: Session, what: string): Promise<boolean>;
  remove(session: Session, what: string): Promise<void>;
  /** In the order in which they were added. */
  of(session: Pick<Session, "tenant" | "id">): Promise<readonly string[]>;
}

export interface SubscriptionsOptions {
  readonly records: SessionRecords;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly limits: Pick<
    Limits,
    | "sessionIdleMs"
    | "sessionAgeMsMax"
    | "sessionSubscriptionsMax"
    | "sessionSubscriptionCharsMax"
    | "sessionWriteAttemptsMax"
  >;
}

/** One record per session, which lives as long as the session: `sessions.find` extends both. */
export function subscriptionsKey({ tenant, id }: Pick<Session, "tenant" | "id">): RecordKey {
  return ["session-subscriptions", tenant, id];
}

export function createSubscriptions(options: SubscriptionsOptions): Subscriptions {
  const { records, limits } = options;

  async function change(
    session: Session,
    next: (held: readonly string[]) => readonly string[] | undefined,
  ): Promise<boolean> {
    const key = subscriptionsKey(session);
    for (let attempt = 0; attempt < limits.sessionWriteAttemptsMax; attempt += 1) {
      const record = await records.get(key);
      const wanted = next(read(record));
      if (wanted === undefined) return true;
      const text = JSON.stringify(wanted);
      if (wanted.length > limits.sessionSubscriptionsMax || text.length > limits.sessionSubscriptionCharsMax)
        return false;
      const ttlMs = lifeLeft({ ...session, seenAt: options.now() }, limits, options.now());
      const written =
        record === undefined
          ? await records.setIfAbsent(key, text, ttlMs)
          : await records.replace(key, record, text, ttlMs);
      if (written) return true;
    }
    throw new StoreUnavailable("the record changes too often");
  }

  return {
    add: (session, what) => change(session, (held) => (held.includes(what) ? undefined : [...held, what])),
    remove: async (session, what) => {
      await change(session, (held) => (held.includes(what) ? held.filter((one) => one !== what) : undefined));
    },
    of: async (session) => read(await records.get(subscriptionsKey(session))),
  };
}

/** What is no list of ours holds nothing. */
function read(record: string | undefined): readonly string[] {
  if (record === undefined) return [];
  try {
    const value: unknown = JSON.parse(record);
    return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
  } catch {
    return [];
  }
}
