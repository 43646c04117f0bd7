import type { Drift } from "./keeper.ts";

/**
 * Passes each drift on once, however often an upstream comes back to it: what differs is known, and whoever alternates
 * makes no storm. Bounded; beyond that the drift that was told first is told anew.
 */
export function onceEachDrift(tell: (drift: Drift) => void, driftsRememberedMax: number): (drift: Drift) => void {
  const known = new Set<string>();
  return (drift) => {
    const { upstream, kind, name, found, mode, reason } = drift;
    const key = JSON.stringify([upstream, kind, name, found, mode, reason]);
    if (known.has(key)) return;
    known.add(key);
    for (const oldest of known) {
      if (known.size <= driftsRememberedMax) break;
      known.delete(oldest);
    }
    tell(drift);
  };
}
