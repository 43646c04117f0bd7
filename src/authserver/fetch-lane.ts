import { limits } from "../model/limits.ts";

/** What strangers can make the gateway fetch, in one process. */
export interface FetchLane {
  /** Begins what fetches, once; false when as much is under way as may be, or was fetched within the minute. */
  enter(): boolean;
  /** Allows one fetch more to what has begun. */
  another(): boolean;
  /** Ends what has begun. */
  leave(): void;
}

/** `now` in milliseconds since the epoch. */
export function createFetchLane(now: () => number): FetchLane {
  let underWay = 0;
  let windowStart = now();
  let used = 0;
  const another = (): boolean => {
    if (now() - windowStart >= 60_000) [windowStart, used] = [now(), 0];
    used += 1;
    return used <= limits.oauthClientDocumentFetchesPerMinuteMax;
  };
  return {
    enter: () => {
      if (underWay >= limits.oauthClientDocumentFetchesMax || !another()) return false;
      underWay += 1;
      return true;
    },
    another,
    leave: () => {
      underWay -= 1;
    },
  };
}
