/**
 * Runs `work` when called, once at a time: calls while it runs lead to one more run, however many they are. `work`
 * must not reject; it is not run again after `stop`.
 */
export function oneAtATime(work: () => Promise<void>): {
  run(): Promise<void>;
  /** Settles when the runs that are under way or due are over; at once when there are none. */
  idle(): Promise<void>;
  stop(): void;
} {
  const state: { running: Promise<void> | undefined; again: boolean; stopped: boolean } = {
    running: undefined,
    again: false,
    stopped: false,
  };
  const loop = async (): Promise<void> => {
    while (state.again && !state.stopped) {
      state.again = false;
      await work();
    }
    state.running = undefined;
  };
  return {
    run: () => {
      state.again = true;
      return (state.running ??= loop());
    },
    idle: () => state.running ?? Promise.resolve(),
    stop: () => {
      state.stopped = true;
    },
  };
}
