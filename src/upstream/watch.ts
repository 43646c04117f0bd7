import { refuse } from "../model/refusal.ts";
import type { Result } from "../model/result.ts";
import { createBackoff } from "./backoff.ts";
import type { Backoff } from "./backoff.ts";
import type { EraVerdict } from "./era.ts";
import type { LegacySessions } from "./legacy-sessions.ts";
import type { Link } from "./link.ts";
import type { UpstreamWatch, Wanted, WatchState, Watching } from "./port.ts";
import type { Attempt, AttemptEnd } from "./watch-attempt.ts";
import { createLegacyMemory, hearLegacy } from "./watch-legacy.ts";
import type { LegacyMemory } from "./watch-legacy.ts";
import { listenModern } from "./watch-modern.ts";
import type { StreamOffer } from "./watch-offer.ts";

/** What a watch needs of its upstream. */
export interface Watched {
  readonly link: Link;
  readonly sessions: LegacySessions;
  readonly offers: { readonly legacy: StreamOffer; readonly modern: StreamOffer };
  /** Which era is spoken, asked anew when it is not known. */
  readonly findEra: (signal: AbortSignal) => Promise<Result<EraVerdict>>;
  readonly forgetEra: () => void;
  readonly random: () => number;
}

/** One stream in the making or open, tried again and again until it is dropped. */
interface Run {
  readonly abort: AbortController;
  openSince: number | undefined;
  adapt: ((wanted: Wanted) => boolean) | undefined;
}

interface Keeper {
  readonly watched: Watched;
  readonly watch: UpstreamWatch;
  readonly memory: LegacyMemory;
  /** The last is the one to stay. One before it goes on until the last stands, so that nothing is missed. */
  readonly runs: Run[];
  wanted: Wanted;
  /** No stream has stood since one did. */
  gap: boolean;
  /** What whoever watches was told last. */
  state: WatchState;
}

/**
 * Keeps a stream open until `end`. A change of what is wanted that only another stream can bring opens that one
 * before it closes the first; for a moment both may report the same change. Who resumes with `Last-Event-ID`
 * has missed nothing and is not told of a reopening.
 */
export function keepWatching(watched: Watched, watch: UpstreamWatch): Watching {
  const keeper: Keeper = {
    watched,
    watch,
    memory: createLegacyMemory(),
    runs: [],
    wanted: watch.wanted,
    gap: false,
    state: "opening",
  };
  start(keeper);
  return {
    want(wanted) {
      keeper.wanted = wanted;
      const last = keeper.runs.at(-1);
      if (last?.adapt === undefined || last.adapt(wanted)) return;
      if (last.openSince === undefined) drop(keeper, last);
      tell(keeper, "opening");
      start(keeper);
    },
    end() {
      for (const run of [...keeper.runs]) drop(keeper, run);
    },
  };
}

function drop({ runs }: Keeper, run: Run): void {
  const at = runs.indexOf(run);
  if (at !== -1) runs.splice(at, 1);
  run.abort.abort();
}

function start(keeper: Keeper): void {
  const run: Run = { abort: new AbortController(), openSince: undefined, adapt: undefined };
  keeper.runs.push(run);
  void keep(keeper, run);
}

async function keep(keeper: Keeper, run: Run): Promise<void> {
  const { link, random } = keeper.watched;
  const { upstreamReconnectMsMin: msMin, upstreamReconnectMsMax: msMax } = link.limits;
  const backoff = createBackoff({ msMin, msMax, random });
  while (keeper.runs.includes(run)) {
    const end = settled(keeper, await attempt(keeper, run).catch((fault: unknown) => broken(keeper, fault)));
    if (run.openSince !== undefined && !isReplaced(keeper, run)) keeper.gap = true;
    if (keeper.runs.at(-1) === run) await pause(pauseAfter(keeper, run, { end, backoff }), run.abort.signal);
    else drop(keeper, run);
  }
}

/** Where only people have accounts, the gateway's own stream is offered as little as where there are no streams. */
function settled({ watch }: Keeper, end: AttemptEnd): AttemptEnd {
  const isForPeople = end.kind === "over" && end.refusal?.code === "UPSTREAM_CONNECTION_REQUIRED";
  return isForPeople && watch.account.caller === undefined ? { kind: "unavailable" } : end;
}

/** A fault of ours or a broken dependency ends the attempt; the next one may find it mended. */
function broken({ watched: { link } }: Keeper, fault: unknown): AttemptEnd {
  const name = fault instanceof Error ? fault.name : "unknown";
  link.log("upstream-watch-failed", { upstream: link.upstream, fault: name });
  return { kind: "over", refusal: refuse("INTERNAL_FAULT", {}, { cause: fault }).refusal, retryMs: undefined };
}

function tell(keeper: Keeper, state: WatchState): void {
  if (keeper.state === state) return;
  keeper.state = state;
  keeper.watch.onState?.(state);
}

/** Another stream stands already. */
function isReplaced({ runs }: Keeper, run: Run): boolean {
  return runs.some((other) => other !== run && other.openSince !== undefined);
}

function pauseAfter(
  keeper: Keeper,
  run: Run,
  { end, backoff }: { readonly end: AttemptEnd; readonly backoff: Backoff },
): number {
  const { link } = keeper.watched;
  const { upstream, limits } = link;
  const livedMs = run.openSince === undefined ? 0 : performance.now() - run.openSince;
  run.openSince = undefined;
  if (end.kind === "unavailable") {
    tell(keeper, "not-offered");
    link.log("upstream-stream-unavailable", { upstream, pauseMs: limits.upstreamStreamRefusedMs });
    return limits.upstreamStreamRefusedMs;
  }
  // What is wanted from now on is asked for by the next attempt.
  run.adapt = undefined;
  if (livedMs >= limits.upstreamReconnectMsMax) backoff.reset();
  const { refusal, retryMs = 0 } = end.kind === "over" ? end : stale;
  const pauseMs = Math.max(backoff.next(), Math.min(retryMs, limits.upstreamStreamRetryMsMax));
  const code = refusal?.code ?? "none";
  tell(keeper, code === "UPSTREAM_QUEUE_FULL" ? "full" : "lost");
  link.log("upstream-stream-lost", { upstream, code, livedMs: Math.round(livedMs), pauseMs });
  return pauseMs;
}

const stale = { ...refuse("UPSTREAM_REVISION_UNSUPPORTED"), retryMs: 0 };

async function attempt(keeper: Keeper, run: Run): Promise<AttemptEnd> {
  const { watched, memory } = keeper;
  const { sessions, offers } = watched;
  const found = await watched.findEra(run.abort.signal);
  if (!found.ok) return { kind: "over", refusal: found.refusal, retryMs: undefined };
  const end =
    found.value.era === "legacy"
      ? await hearLegacy(attemptOf(keeper, run, offers.legacy), sessions, memory)
      : await listenModern(attemptOf(keeper, run, offers.modern), found.value.identity);
  if (end.kind === "stale") watched.forgetEra();
  return end;
}

function attemptOf(keeper: Keeper, run: Run, offer: StreamOffer): Attempt {
  const { watched, watch } = keeper;
  const { link } = watched;
  return {
    link,
    watch,
    offer,
    signal: run.abort.signal,
    wanted: () => keeper.wanted,
    onChange: (adapt) => {
      run.adapt = adapt;
    },
    onQueued: () => {
      link.log("upstream-streams-full", { upstream: link.upstream, ...link.pools.streams.load });
      tell(keeper, "full");
      // The connection that this one waits for may be the other's own.
      for (const other of keeper.runs.filter((one) => one !== run)) drop(keeper, other);
    },
    onStanding: () => {
      if (keeper.runs.at(-1) === run) tell(keeper, "standing");
    },
    onOpen: (resumed) => {
      run.openSince = performance.now();
      for (const other of keeper.runs.filter((one) => one !== run)) drop(keeper, other);
      const missed = keeper.gap && !resumed;
      keeper.gap = false;
      if (missed) watch.onReopened();
    },
  };
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const over = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", over);
      resolve();
    };
    const timer = setTimeout(over, ms);
    signal.addEventListener("abort", over, { once: true });
  });
}
