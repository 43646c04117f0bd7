import { printable, type Place, type PlacedFault } from "./fault.ts";
import { repeated } from "./rules-auth.ts";
import { secretMask, type Secret } from "./secret.ts";
import type { Config } from "./types.ts";

/** The URL is a secret, because it holds the password: its scheme alone is looked at. */
export function redisUrlIsRedis({ store }: Config): PlacedFault[] {
  if (store.kind === "memory") return [];
  const url = store.url.reveal();
  if (url === "" || (URL.canParse(url) && ["redis:", "rediss:"].includes(new URL(url).protocol))) return [];
  const expected = "a URL such as redis://host:6379/0 or rediss://…";
  return [{ place: ["store", "redis", "url"], found: secretMask, expected, rule: "redisUrlIsRedis" }];
}

/** A shared store means several replicas or restarts: keys of one process would void each other's records. */
export function redisStoreNeedsKeys({ store, keys, auth }: Config): PlacedFault[] {
  if (store.kind === "memory") return [];
  const missing: Place[] = [];
  if (keys.session === undefined) missing.push(["keys", "session"]);
  if (auth.kind === "issuers" && auth.builtIn !== undefined && auth.builtIn.cookieSecret === undefined) {
    missing.push(["auth", "builtIn", "cookieSecret"]);
  }
  const expected = "a key that every replica shares, because the store is Redis";
  return missing.map((place) => ({ place, found: "nothing", expected, rule: "redisStoreNeedsKeys" }));
}

/** Sealed with a key of this process, it could be read by no other, and the file is for the next one. */
export function lastGoodBundleNeedsKey({ lastGoodBundle, keys }: Config): PlacedFault[] {
  if (lastGoodBundle === undefined || keys.session !== undefined) return [];
  const expected = "a key that the next process has too, because lastGoodBundle is sealed with it";
  return [{ place: ["keys", "session"], found: "nothing", expected, rule: "lastGoodBundleNeedsKey" }];
}

export function redisAuditNeedsRedisStore({ store, audit }: Config): PlacedFault[] {
  if (store.kind === "redis") return [];
  return audit.sinks.flatMap((sink, index) =>
    sink.kind === "file"
      ? []
      : [
          {
            place: ["audit", "sinks", index, "redis"],
            found: "a Redis sink beside a store in memory",
            expected: "store: { redis: … }, whose server the stream is kept in",
            rule: "redisAuditNeedsRedisStore",
          },
        ],
  );
}

/** Required evidence that goes nowhere is no evidence (design, "Audit, in short"). */
export function requiredAuditHasSink({ audit }: Config): PlacedFault[] {
  if (audit.mode !== "required" || audit.sinks.length > 0) return [];
  const expected = "at least one sink, or mode: best-effort";
  return [{ place: ["audit", "sinks"], found: "none", expected, rule: "requiredAuditHasSink" }];
}

/** Two writers to one place would break the hash chain. */
export function auditSinksAreUnique({ audit }: Config): PlacedFault[] {
  const places = audit.sinks.map((sink, index) => ({
    text: sink.kind === "file" ? sink.path : `stream ${sink.stream}`,
    place: ["audit", "sinks", index],
  }));
  return repeated(places).map(({ text, place }) => ({
    place,
    found: printable(text),
    expected: "each destination once",
    rule: "auditSinksAreUnique",
  }));
}

/** HMAC-SHA-256 keys no shorter than its output (RFC 2104 §3). An empty one has been reported as unreadable. */
export function keysAreLongEnough({ keys, audit, auth, catalogLock }: Config): PlacedFault[] {
  const all: { secret: Secret | undefined; place: Place }[] = [
    { secret: keys.session, place: ["keys", "session"] },
    ...keys.sessionPrevious.map((secret, index) => ({ secret, place: ["keys", "sessionPrevious", index] })),
    { secret: audit.digestKey, place: ["audit", "digestKey"] },
    { secret: catalogLock?.webhook?.secret, place: ["catalogLock", "webhook", "secret"] },
  ];
  if (auth.kind === "issuers") {
    all.push({ secret: auth.builtIn?.cookieSecret, place: ["auth", "builtIn", "cookieSecret"] });
    for (const [index, secret] of (auth.builtIn?.cookieSecretPrevious ?? []).entries())
      all.push({ secret, place: ["auth", "builtIn", "cookieSecretPrevious", index] });
  }
  return all.flatMap(({ secret, place }) => {
    const bytes = Buffer.byteLength(secret?.reveal() ?? "");
    if (bytes === 0 || bytes >= 32) return [];
    return [{ place, found: `${bytes} bytes`, expected: "at least 32 bytes", rule: "keysAreLongEnough" }];
  });
}

/** Pairs of which the first is part of the second. */
const orderedLimits = [
  ["sessionIdleMs", "sessionAgeMsMax"],
  ["catalogAgeMsMax", "catalogStaleMsMax"],
] as const;

export function limitsAgree({ limits }: Config): PlacedFault[] {
  return orderedLimits
    .filter(([smaller, larger]) => limits[smaller] > limits[larger])
    .map(([smaller, larger]) => ({
      place: ["limits", smaller],
      found: printable(limits[smaller]),
      expected: `at most ${larger}, which is ${limits[larger]}`,
      rule: "limitsAgree",
    }));
}
