import { setTimeout as pause } from "node:timers/promises";
import { limits } from "../../../src/model/limits.ts";
import { createRedisStore } from "../../../src/store/redis.ts";
import type { Store } from "../../../src/store/store.ts";
import { createGrants } from "../../../src/upstream/grants/user-grants.ts";
import { nobodyWitnesses, sealerOf, upstreamAt } from "./making.ts";
import type { Caller } from "../../../src/upstream/grants/grant-tokens.ts";

/** What a process of the test is told to be: see `replicas.test.ts`. */
export interface ProcessOrders {
  readonly redisUrl: string;
  readonly upstreamUrl: string;
  /** The sealing key, in hex. */
  readonly key: string;
  readonly now: number;
  readonly caller: Caller;
}

/** A gateway's grants in a process of its own; for every message it asks for so many tokens at once and sends them. */
async function main({ redisUrl, upstreamUrl, key, now, caller }: ProcessOrders): Promise<void> {
  const store = createRedisStore({ url: redisUrl, commandTimeoutMs: 5_000, onFailure: () => undefined });
  const { tokens } = createGrants({
    upstreams: { up: upstreamAt(upstreamUrl) },
    records: store,
    sealer: sealerOf(key),
    clientName: "Sallyport",
    issuersElsewhere: {},
    clientDocumentUrl: undefined,
    now: () => now,
    random: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)),
    jitter: Math.random,
    limits,
    log: () => undefined,
    witness: nobodyWitnesses,
  });
  const ask = async (): Promise<string> => {
    const token = await tokens.tokenFor("up", caller);
    return token.ok ? token.value.accessToken : token.refusal.code;
  };
  process.on("message", (count: number) => {
    void Promise.all(Array.from({ length: count }, ask)).then((answers) => process.send?.(answers));
  });
  await connected(store);
  process.send?.("ready");
}

/** Until the store has its connection, every command fails at once. */
async function connected(store: Store): Promise<void> {
  const answers = (): Promise<boolean> =>
    store.ping().then(
      () => true,
      () => false,
    );
  while (!(await answers())) await pause(20);
}

await main(JSON.parse(process.argv[2] ?? "{}") as ProcessOrders);
