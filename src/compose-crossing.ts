import { randomBytes } from "node:crypto";
import { keyFrom } from "./compose-keeping.ts";
import type { Config } from "./config/types.ts";
import { createAead, type AeadKeys } from "./gateway/aead.ts";
import { createSealing } from "./gateway/create-sealing.ts";
import type { Sealing } from "./gateway/sealing.ts";
import { createUnderWay, type UnderWay } from "./gateway/under-way.ts";
import type { ClientStreams } from "./gateway/streams/client-streams.ts";
import type { Courier } from "./model/courier.ts";
import type { Principal } from "./model/principal.ts";
import { touchPauseMs } from "./session/session-life.ts";
import type { Sessions } from "./session/sessions.ts";
import { createMemoryCourier, type ClosableCourier } from "./store/courier-local.ts";
import { createRedisCourier, type Envelope } from "./store/courier-redis.ts";
import type { RedisStore } from "./store/redis.ts";
import type { Log } from "./telemetry/log.ts";
import type { Metrics } from "./telemetry/metrics.ts";
import type { Upstreams } from "./upstream/port.ts";

/** Joins what crosses from one replica to another; `connection` is that of a store which replicas share. */
export function openCourier(of: {
  readonly config: Config;
  readonly log: Pick<Log, "error" | "warn">;
  readonly metrics: Pick<Metrics, "storeFailed">;
  readonly connection: RedisStore["connection"] | undefined;
}): ClosableCourier {
  const { config, log, metrics, connection } = of;
  const address = randomBytes(16).toString("hex");
  const onFault = (error: unknown): void => {
    log.error("courier.fault", {}, error);
  };
  if (config.store.kind === "memory" || connection === undefined) return createMemoryCourier({ address, onFault });
  return createRedisCourier({
    url: config.store.url.reveal(),
    address,
    sendOver: connection,
    envelope: openEnvelope(config),
    limits: config.limits,
    onFault,
    onFailure: (failure) => {
      metrics.storeFailed(failure);
      log.warn("store.failed", { failure, what: "courier" });
    },
  });
}

export function openSealing(config: Config): Sealing {
  const { sealedHandleCharsMax } = config.limits;
  return createSealing({ keys: keysFor("sealing", config), random: randomBytes, now: Date.now, sealedHandleCharsMax });
}

/** The calls that run here, and the end of noting that their sessions are in use. */
export interface OpenUnderWay {
  readonly underWay: UnderWay;
  close(): void;
}

/**
 * Calls of legacy sessions that run here: a client may cancel them through another replica, and a session whose
 * call takes longer than sessions may idle is in use all the while.
 */
export function openUnderWay(of: {
  readonly config: Config;
  readonly courier: Courier;
  readonly sessions: Sessions;
}): OpenUnderWay {
  const underWay = createUnderWay();
  of.courier.receive("cancel", (text) => {
    underWay.cancelNamed(text);
  });
  const noting = setInterval(() => {
    for (const session of underWay.lasting()) void of.sessions.stay(session);
  }, touchPauseMs(of.config.limits));
  noting.unref();
  return {
    underWay,
    close: () => {
      clearInterval(noting);
    },
  };
}

/**
 * Ends the sessions of a principal who was put on the deny list, with their streams and upstream sessions, the
 * first time that it is turned away: once the denial is over, no session of before comes back. Never rejects.
 */
export function sessionsOfDenied(of: {
  readonly sessions: Sessions;
  readonly upstreams: Upstreams;
  readonly clientStreams: Pick<ClientStreams, "sessionEnded">;
  readonly log: Log;
}): (principal: Principal) => void {
  const ending = new Set<string>();
  const end = async (principal: Principal): Promise<void> => {
    const { tenant, key } = principal;
    const caller = { principal, token: undefined };
    const ended = await of.sessions.endAll({ tenant, key });
    if (!ended.ok || ended.value.length === 0) return;
    of.log.info("session.revoked", { tenant, sessions: ended.value.length });
    for (const id of ended.value) {
      await of.clientStreams.sessionEnded({ tenant, id });
      await of.upstreams.endSessions({ tenant, principalKey: key, clientSession: id, caller });
    }
  };
  return (principal) => {
    // A denied client that keeps asking is answered at once, and costs one look at a time.
    if (ending.has(principal.key)) return;
    ending.add(principal.key);
    void end(principal)
      .catch((error: unknown) => {
        of.log.error("session.revocation-failed", {}, error);
      })
      .finally(() => ending.delete(principal.key));
  };
}

function openEnvelope(config: Config): Envelope {
  const aead = createAead(keysFor("courier", config), randomBytes);
  return {
    close: (about, text) => aead.encrypt(JSON.stringify(about), nothing, text),
    open: (about, closed) => {
      const opened = aead.decrypt(JSON.stringify(about), 0, closed);
      return opened.ok ? opened.text : undefined;
    },
  };
}

const nothing: Uint8Array = new Uint8Array();

/** The keys of one purpose, each derived from a configured secret. */
export function keysFor(purpose: string, { keys }: Config): AeadKeys {
  return {
    current: keyFrom(purpose, keys.session),
    previous: keys.sessionPrevious.map((secret) => keyFrom(purpose, secret)),
  };
}
