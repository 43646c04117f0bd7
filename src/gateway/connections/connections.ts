import type { Cancellation } from "../../model/cancellation.ts";
import type { Courier } from "../../model/courier.ts";
import type { Limits } from "../../model/limits.ts";
import type { Principal } from "../../model/principal.ts";
import { StoreUnavailable } from "../../model/records.ts";
import type { ClientAnswer } from "../asking/ask-client.ts";
import { readChange, writeChange, type Change } from "./change.ts";

/** Where people connect upstreams to their own accounts there, and how calls learn that they did. */
export interface Connections {
  /** Where the person behind a principal connects the upstream; undefined where nobody can sign in as them. */
  linkFor(principal: Principal, upstream: string): string | undefined;
  /** What people know the upstream by. */
  titleOf(upstream: string): string;
  /** True once a call of the principal finds a grant that is good for it; false at `until` or when nobody waits. */
  wait(wanted: Wanted, patience: { readonly until: number; readonly signal: Cancellation }): Promise<boolean>;
  /** One question at a time: whoever would ask the same meanwhile gets the same answer, and is not the one who asked. */
  together(key: string, ask: () => Promise<ClientAnswer>): Promise<{ answer: ClientAnswer; asked: boolean }>;
  /** A person's grant came or went: for whoever waits, here and at every other replica. Never rejects. */
  changed(change: Change): Promise<void>;
  onChange(heard: (change: Change) => void): void;
}

export interface Wanted {
  readonly principal: Principal;
  readonly upstream: string;
}

export interface ConnectionsOptions extends Pick<Connections, "linkFor" | "titleOf"> {
  /** Whether a call of the principal would find a grant that is good for it now. May reject with `StoreUnavailable`. */
  readonly isConnected: (wanted: Wanted) => Promise<boolean>;
  readonly courier: Pick<Courier, "receive" | "broadcast">;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly limits: Pick<Limits, "connectionPollMs">;
}

/** A gateway whose upstreams take no grants of users. */
export const noConnections: Connections = {
  linkFor: () => undefined,
  titleOf: (upstream) => upstream,
  wait: () => Promise.resolve(false),
  together: async (_key, ask) => ({ answer: await ask(), asked: true }),
  changed: () => Promise.resolve(),
  onChange: () => undefined,
};

/**
 * Whoever waits is told by the page on which a person connects, wherever that is served, and looks for themselves every
 * `connectionPollMs` all the same: what crosses between replicas may be lost.
 */
export function createConnections(options: ConnectionsOptions): Connections {
  const { courier, linkFor, titleOf } = options;
  const waiting = new Set<Waiter>();
  const asked = new Map<string, Promise<ClientAnswer>>();
  const listeners: ((change: Change) => void)[] = [];
  const hear = (change: Change): void => {
    for (const waiter of [...waiting]) if (isAbout(waiter.wanted, change)) waiter.look();
    for (const heard of listeners) heard(change);
  };
  courier.receive("connection", (text) => {
    const change = readChange(text);
    if (change !== undefined) hear(change);
  });
  return {
    linkFor,
    titleOf,
    wait: (wanted, patience) => waitFor(options, waiting, { wanted, ...patience }),
    together: (key, ask) => together(asked, key, ask),
    changed: async (change) => {
      hear(change);
      await ignoringOutage(courier.broadcast("connection", writeChange(change)));
    },
    onChange: (heard) => {
      listeners.push(heard);
    },
  };
}

interface Waiter {
  readonly wanted: Wanted;
  readonly look: () => void;
}

interface Waiting {
  readonly wanted: Wanted;
  readonly until: number;
  readonly signal: Cancellation;
}

/** Looks first: they may have connected before anybody waited. */
async function waitFor(options: ConnectionsOptions, waiters: Set<Waiter>, of: Waiting): Promise<boolean> {
  for (;;) {
    // In place before the look, so that nothing falls between the two.
    const next = pause(options, waiters, of);
    const found = await isThere(options, of.wanted);
    if (found || of.signal.aborted || options.now() >= of.until) {
      next.end();
      return found;
    }
    await next.over;
  }
}

/** Until something is heard, at most as long as nobody needs to look. */
function pause(
  { now, limits }: ConnectionsOptions,
  waiters: Set<Waiter>,
  { wanted, until, signal }: Waiting,
): { readonly over: Promise<void>; end(): void } {
  let end = (): void => undefined;
  const over = new Promise<void>((resolve) => {
    const waiter: Waiter = {
      wanted,
      look: (): void => {
        end();
      },
    };
    const { look } = waiter;
    const timer = setTimeout(look, Math.max(1, Math.min(limits.connectionPollMs, until - now())));
    end = () => {
      clearTimeout(timer);
      waiters.delete(waiter);
      signal.removeEventListener("abort", look);
      resolve();
    };
    waiters.add(waiter);
    signal.addEventListener("abort", look);
  });
  return {
    over,
    end: () => {
      end();
    },
  };
}

async function isThere({ isConnected }: ConnectionsOptions, wanted: Wanted): Promise<boolean> {
  let found = false;
  await ignoringOutage(
    isConnected(wanted).then((is) => {
      found = is;
    }),
  );
  return found;
}

async function together(
  asked: Map<string, Promise<ClientAnswer>>,
  key: string,
  ask: () => Promise<ClientAnswer>,
): ReturnType<Connections["together"]> {
  const known = asked.get(key);
  if (known !== undefined) return { answer: await known, asked: false };
  const answer = ask().finally(() => asked.delete(key));
  asked.set(key, answer);
  return { answer: await answer, asked: true };
}

function isAbout({ principal, upstream }: Wanted, { person, upstream: changed }: Change): boolean {
  const { tenant, issuer, subject } = principal;
  return upstream === changed && tenant === person.tenant && issuer === person.issuer && subject === person.subject;
}

/** In an outage of the store the next look tells. */
async function ignoringOutage(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (cause) {
    if (!(cause instanceof StoreUnavailable)) throw cause;
  }
}
