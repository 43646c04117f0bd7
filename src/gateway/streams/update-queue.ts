import type { JsonObject } from "../../model/json.ts";

/** Updates on their way to one stream. */
export interface UpdateQueue {
  add(uri: string, params: JsonObject): void;
  end(): void;
}

/**
 * Holds updates for `resourceUpdateSettleMs`: of one resource the last counts, as each says no more than "read it
 * again". A queue that is full is emptied at once.
 */
export function createUpdateQueue(
  bounds: { readonly resourceUpdateSettleMs: number; readonly sessionSubscriptionsMax: number },
  deliver: (uri: string, params: JsonObject) => void,
): UpdateQueue {
  const waiting = new Map<string, JsonObject>();
  let timer: NodeJS.Timeout | undefined;
  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    const all = [...waiting];
    waiting.clear();
    for (const [uri, params] of all) deliver(uri, params);
  };
  return {
    add: (uri, params) => {
      waiting.set(uri, params);
      if (waiting.size >= bounds.sessionSubscriptionsMax) flush();
      else timer ??= setTimeout(flush, bounds.resourceUpdateSettleMs);
    },
    end: () => {
      clearTimeout(timer);
      waiting.clear();
    },
  };
}
