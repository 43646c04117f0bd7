import type { WatchState } from "../../upstream/port.ts";

/** How far an upstream's stream has come, for whoever waits to know. */
export interface Standing {
  readonly state: WatchState;
  tell(state: WatchState): void;
  /** Settles with the first state from now on that is none of `before`. Whoever waits bounds the wait. */
  beyond(before: readonly WatchState[]): Promise<WatchState>;
}

export function createStanding(): Standing {
  let state: WatchState = "opening";
  const waiting = new Set<() => void>();
  return {
    get state() {
      return state;
    },
    tell: (next) => {
      state = next;
      for (const look of [...waiting]) look();
    },
    beyond: (before) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (before.includes(state)) return;
          waiting.delete(look);
          resolve(state);
        };
        waiting.add(look);
        look();
      }),
  };
}
