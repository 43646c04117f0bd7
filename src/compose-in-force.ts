import { compileBundle, loadShadow, readBundle, type BundleTexts } from "./cli/load-policies.ts";
import { openKeptBundle, type KeptBundle } from "./compose-kept-bundle.ts";
import type { Evidence } from "./audit/port.ts";
import type { ConfigFault } from "./config/fault.ts";
import type { LoadedConfig } from "./config/load.ts";
import { stampOfFile, stampOfPolicies } from "./config/policies.ts";
import type { Config } from "./config/types.ts";
import type { Candidate, InForce } from "./gateway/policy-in-force.ts";
import { StartRefused } from "./model/start-refused.ts";
import type { Store } from "./store/store.ts";
import type { Log } from "./telemetry/log.ts";
import type { Metrics } from "./telemetry/metrics.ts";

/** Why files were read: at the start, since they changed, or since the process was told to. */
export type ReadBecause = "start" | "change" | "signal";

/** What came of reading the files. */
export interface Reading {
  readonly because: ReadBecause;
  /** `refused`: they are broken, and what was in force stays. `restored`: so it is at a start, and the last good ones serve. */
  readonly outcome: "replaced" | "unchanged" | "refused" | "restored";
  readonly before: InForce["digests"] | undefined;
  readonly now: InForce["digests"];
  readonly faults: number;
}

export interface ForceStatus {
  readonly digests: InForce["digests"];
  /** Milliseconds since the epoch, from when on this has been in force at this replica. */
  readonly since: number;
  /** The files say something else, which is broken. */
  readonly stale: boolean;
  readonly faults: number;
}

/** What is in force at this replica. */
export interface Force {
  readonly current: () => InForce;
  readonly status: () => ForceStatus;
  /** What came of reading the files at the start. */
  readonly first: Reading;
  /** Reads the files anew, and puts in force what they say, or keeps what is. Never rejects. */
  reload(because: ReadBecause): Promise<Reading>;
  /** Looks after the files from now on; `heard` is told of every reading. */
  watch(heard: (reading: Reading) => void): void;
  close(): void;
}

interface Loaded {
  readonly texts: BundleTexts;
  readonly inForce: InForce;
  readonly warnings: readonly ConfigFault[];
}

/**
 * Reads what decides, and keeps it in force until there is something else that is whole. Throws `StartRefused` when
 * the files are broken and nothing that was in force before is kept, or does not fit this configuration.
 */
export async function openForce(of: {
  readonly loaded: LoadedConfig;
  readonly store: Store;
  readonly log: Log;
}): Promise<Force> {
  const { config } = of.loaded;
  const kept = openKeptBundle(config, of.store);
  const stamp = stampOf(config);
  const read = load(of.loaded);
  const start = "faults" in read ? await restore(of, kept, read.faults) : read;
  const faults = "faults" in read ? read.faults.length : 0;
  const outcome = faults > 0 ? "restored" : "replaced";
  const first: Reading = { because: "start", outcome, before: undefined, now: start.inForce.digests, faults };
  warn(of.log, start.warnings);
  const unkept = faults === 0 && !(await keep(kept, start.texts, of.log)) ? start.texts : undefined;
  return new FilesInForce({ ...of, kept, unkept, stamp, start: start.inForce, first });
}

type Read = Loaded | { readonly faults: readonly ConfigFault[] };

function load(loaded: LoadedConfig): Read {
  const read = readBundle(loaded.config);
  return read.ok ? compile(loaded, read.texts) : read;
}

function compile({ config, digest: configuration }: LoadedConfig, texts: BundleTexts): Read {
  const compiled = compileBundle(config, texts);
  if (!compiled.ok) return compiled;
  const { policy, lock, warnings } = compiled;
  const tried = loadShadow(config, texts);
  const shadow = tried?.ok === true ? { policy: tried.policy, lock: tried.lock } : undefined;
  const doubts = tried?.ok === false ? tried.faults : (tried?.warnings ?? []);
  const digests = { configuration, policy: policy.digest, lock: lock?.digest ?? "" };
  const inForce = { policy, shadow, lock, digests };
  return { texts, warnings: [...warnings, ...doubts], inForce };
}

/** A start at which the files are broken is served by what was in force before, and says so. */
async function restore(
  { loaded, log }: { readonly loaded: LoadedConfig; readonly log: Log },
  kept: KeptBundle | undefined,
  faults: readonly ConfigFault[],
): Promise<Loaded> {
  const texts = await kept?.read();
  const restored = texts === undefined ? undefined : compile(loaded, texts);
  if (restored === undefined || "faults" in restored)
    throw new StartRefused(faults.map(({ path, found, expected }) => `${path}: found ${found}, expected ${expected}`));
  tell(log, "start", faults);
  return restored;
}

/** Each fault with its place: whoever mends the files has the log alone. */
function tell(log: Log, because: ReadBecause, faults: readonly ConfigFault[]): void {
  log.error("bundle.refused", { because, faults: faults.length });
  for (const { path, line, found, expected } of faults.slice(0, faultsToldMax))
    log.error("bundle.fault", { path, ...(line === undefined ? {} : { line }), found, expected });
}

const faultsToldMax = 50;

function warn(log: Log, warnings: readonly ConfigFault[]): void {
  for (const { path, found, expected } of warnings.slice(0, faultsToldMax))
    log.warn("bundle.doubtful", { path, found, expected });
}

/** What is kept is for a bad day: that it cannot be kept today is told, and stops nothing. False: try again. */
async function keep(kept: KeptBundle | undefined, texts: BundleTexts, log: Log): Promise<boolean> {
  try {
    await kept?.write(texts);
    return true;
  } catch (error) {
    log.error("bundle.unkept", {}, error);
    return false;
  }
}

interface FilesOptions {
  readonly loaded: LoadedConfig;
  readonly log: Log;
  readonly kept: KeptBundle | undefined;
  /** What could not be kept yet. */
  readonly unkept: BundleTexts | undefined;
  readonly stamp: string;
  readonly start: InForce;
  readonly first: Reading;
}

class FilesInForce implements Force {
  readonly #options: FilesOptions;
  readonly #config: Config;
  readonly first: Reading;
  #inForce: InForce;
  #since = Date.now();
  #faults: number;
  /** The files as they were read last, and as they were looked at last. */
  #stampRead: string;
  #stampSeen: string;
  #unkept: BundleTexts | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** One reading after the other. */
  #reading: Promise<unknown> = Promise.resolve();

  constructor(options: FilesOptions) {
    this.#options = options;
    this.#config = options.loaded.config;
    this.first = options.first;
    this.#inForce = options.start;
    this.#faults = options.first.faults;
    this.#stampRead = options.stamp;
    this.#stampSeen = options.stamp;
    this.#unkept = options.unkept;
  }

  readonly current = (): InForce => this.#inForce;

  readonly status = (): ForceStatus => ({
    digests: this.#inForce.digests,
    since: this.#since,
    stale: this.#faults > 0,
    faults: this.#faults,
  });

  reload(because: ReadBecause): Promise<Reading> {
    const reading = this.#reading.then(() => this.#read(because));
    this.#reading = reading;
    return reading;
  }

  watch(heard: (reading: Reading) => void): void {
    this.#timer = setInterval(() => {
      if (this.#isChanged()) void this.reload("change").then(heard);
      else if (this.#unkept !== undefined) void this.#keep(this.#unkept);
    }, this.#config.limits.bundlePollMs);
    this.#timer.unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** A change counts once two looks agree on it. */
  #isChanged(): boolean {
    const before = this.#stampSeen;
    this.#stampSeen = stampOf(this.#config);
    return this.#stampSeen === before && this.#stampSeen !== this.#stampRead;
  }

  async #read(because: ReadBecause): Promise<Reading> {
    const { loaded, log } = this.#options;
    this.#stampRead = stampOf(this.#config);
    const before = this.#inForce.digests;
    const read = load(loaded);
    if ("faults" in read) {
      this.#faults = read.faults.length;
      tell(log, because, read.faults);
      return { because, outcome: "refused", before, now: before, faults: read.faults.length };
    }
    this.#faults = 0;
    const { digests: now } = read.inForce;
    if (isSame(before, now) && isSameShadow(this.#inForce.shadow, read.inForce.shadow))
      return { because, outcome: "unchanged", before, now, faults: 0 };
    this.#inForce = read.inForce;
    this.#since = Date.now();
    warn(log, read.warnings);
    log.info("bundle.replaced", { because, policy: now.policy, lock: now.lock });
    await this.#keep(read.texts);
    return { because, outcome: "replaced", before, now, faults: 0 };
  }

  async #keep(texts: BundleTexts): Promise<void> {
    const { kept, log } = this.#options;
    this.#unkept = undefined;
    if (!(await keep(kept, texts, log))) this.#unkept ??= texts;
  }
}

function stampOf({ policies, shadow, catalogLock }: Config): string {
  const lock = catalogLock === undefined ? "" : JSON.stringify(stampOfFile(catalogLock.file));
  const tried = shadow?.catalogLock === undefined ? "" : JSON.stringify(stampOfFile(shadow.catalogLock));
  return `${stampOfPolicies(policies)} ${stampOfPolicies(shadow?.policies)} ${lock} ${tried}`;
}

function isSameShadow(one: Candidate | undefined, other: Candidate | undefined): boolean {
  return one?.policy.digest === other?.policy.digest && one?.lock?.digest === other?.lock?.digest;
}

function isSame(one: InForce["digests"], other: InForce["digests"]): boolean {
  return one.policy === other.policy && one.lock === other.lock;
}

/** What came of each reading, as evidence and as metrics. That nothing is new is counted alone. */
export function reportReadings(of: {
  readonly evidence: Evidence;
  readonly metrics: Metrics;
  readonly force: Force;
  readonly ref: () => string;
}): (reading: Reading) => void {
  of.metrics.watchBundle(of.force.status);
  return ({ because, outcome, before, faults }) => {
    of.metrics.bundleRead(outcome);
    if (outcome === "unchanged") return;
    const bundle = { because, did: outcome, ...(before === undefined ? {} : { before }), faults };
    of.evidence.record({ type: "administration", ref: of.ref(), tenant: "", bundle });
  };
}
