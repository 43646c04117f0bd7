import { StoreUnavailable, type RecordKey, type RecordReads, type RecordWrites } from "./records.ts";

export type KeyRingRecords = Pick<RecordReads, "get"> & Pick<RecordWrites, "setIfAbsent" | "replace">;

export interface KeyRingOptions<Keys> {
  readonly record: RecordKey;
  readonly records: KeyRingRecords;
  readonly seal: (text: string) => string;
  /** Undefined for what no secret of this replica sealed. */
  readonly open: (sealed: string) => string | undefined;
  /** A new private key, as text. */
  readonly generate: () => string;
  /** The keys for use: the one that signs, the next one, and the one before. */
  readonly read: (keys: readonly string[]) => Keys | Promise<Keys>;
  /** How long a key signs. The next one is published for as long before, the last one for as long after. */
  readonly ageMs: number;
  /** How long the keys are used before the store is asked whether they changed. */
  readonly readMs: number;
  readonly now: () => number;
  /** Told of what this replica wrote, and why: there was none, or its first key had signed for long enough. */
  readonly onChange: (reason: "none" | "age") => void;
  /** Told once in `readMs` while the keys do not open. */
  readonly onSealed: () => void;
}

export interface KeyRing<Keys> {
  /** The keys of now; the same value until they change. Rejects with `KeyRingSealed` and with `StoreUnavailable`. */
  current(): Promise<Keys>;
  /** Those that were read last. They verify what was signed lately, also while `current` rejects. */
  held(): Keys | undefined;
}

/** The keys rest under a secret that this replica does not have. To put others there would do the same to those that have it. */
export class KeyRingSealed extends StoreUnavailable {}

/** As it rests, sealed. */
interface Ring {
  /** Since when the first key signs, in milliseconds since the epoch. */
  readonly since: number;
  readonly keys: readonly string[];
}

const attemptsMax = 5;

/**
 * Private keys that all replicas share and that change by themselves. Whoever first looks after `ageMs` brings them
 * forward; one that looks late signs with a key that all publish still.
 *
 * What another secret sealed is refused and stays where it is. A replica that had read the keys before goes on with
 * them for half of `ageMs`, for which others publish them: a new secret may reach it later than them. At its first look
 * each process seals them under its own current secret, so that an earlier one can be given up.
 */
export function createKeyRing<Keys>(options: KeyRingOptions<Keys>): KeyRing<Keys> {
  const { now, ageMs, readMs } = options;
  let held: { readonly keys: Keys; readonly texts: string; readonly readAt: number } | undefined;
  let next: { readonly fault: KeyRingSealed | undefined; readonly at: number } | undefined;
  let underWay: Promise<Keys> | undefined;

  const look = async (): Promise<Keys> => {
    const at = now();
    try {
      const { keys } = await currentRing(options, held === undefined);
      const texts = JSON.stringify(keys);
      held = { keys: held?.texts === texts ? held.keys : await options.read(keys), texts, readAt: at };
    } catch (fault) {
      if (!(fault instanceof KeyRingSealed)) throw fault;
      options.onSealed();
      const serves = held !== undefined && at - held.readAt < ageMs / 2;
      next = { fault: serves ? undefined : fault, at: at + readMs };
      if (held === undefined || !serves) throw fault;
      return held.keys;
    }
    next = { fault: undefined, at: at + readMs };
    return held.keys;
  };
  return {
    current: () => {
      if (next !== undefined && now() < next.at) {
        if (next.fault !== undefined) return Promise.reject(next.fault);
        if (held !== undefined) return Promise.resolve(held.keys);
      }
      underWay ??= look().finally(() => {
        underWay = undefined;
      });
      return underWay;
    },
    held: () => held?.keys,
  };
}

/** Reads the ring, makes it where there is none, brings it forward where it is time; of several replicas one writes. */
async function currentRing<Keys>(options: KeyRingOptions<Keys>, isFirstLook: boolean): Promise<Ring> {
  const { record, records, seal, ageMs, now } = options;
  // Whatever brings them forward writes them again, so they live as long as anything signs.
  const ttlMs = 4 * ageMs;
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    const at = now();
    const present = await records.get(record);
    const ring = present === undefined ? undefined : openRing(options, present);
    const isCurrent = ring !== undefined && at - ring.since < ageMs;
    if (isCurrent && !isFirstLook) return ring;
    const next = isCurrent ? ring : nextRing(ring, at, options.generate);
    const sealed = seal(JSON.stringify(next));
    const written =
      present === undefined
        ? await records.setIfAbsent(record, sealed, ttlMs)
        : await records.replace(record, present, sealed, ttlMs);
    if (!written) continue;
    if (!isCurrent) options.onChange(ring === undefined ? "none" : "age");
    return next;
  }
  throw new StoreUnavailable("the shared keys keep changing");
}

function nextRing(ring: Ring | undefined, since: number, generate: () => string): Ring {
  if (ring === undefined) return { since, keys: [generate(), generate()] };
  const [signed, next] = ring.keys;
  return { since, keys: [next ?? generate(), generate(), ...(signed === undefined ? [] : [signed])] };
}

/** Authentic, so our own writing; undefined where it was written in another form. */
function openRing<Keys>({ open }: KeyRingOptions<Keys>, sealed: string): Ring | undefined {
  const text = open(sealed);
  if (text === undefined) throw new KeyRingSealed("shared keys rest under a secret that this replica does not have");
  const written: unknown = JSON.parse(text);
  if (typeof written !== "object" || written === null || !("since" in written) || !("keys" in written))
    return undefined;
  const { since, keys } = written;
  if (typeof since !== "number" || !Array.isArray(keys)) return undefined;
  const texts = keys.filter((key) => typeof key === "string");
  return texts.length >= 2 ? { since, keys: texts } : undefined;
}
