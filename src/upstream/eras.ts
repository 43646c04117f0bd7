import { createEra } from "./era.ts";
import type { Era } from "./era.ts";
import type { Link } from "./link.ts";
import type { OnAccountOf } from "./port.ts";

/** The verdicts on one upstream: one per credential that it is shown, since it may answer each with another identity. */
export interface Eras {
  of(account: OnAccountOf): Era;
}

/** Beyond `upstreamErasMax` the oldest is forgotten; whoever needs it asks again. */
export function createEras(link: Link): Eras {
  const eras = new Map<string, Era>();
  return {
    of(account) {
      const generation = link.credential.generation(account);
      const found = eras.get(generation);
      if (found !== undefined) return found;
      const oldest = eras.keys().next();
      if (eras.size >= link.limits.upstreamErasMax && oldest.done !== true) eras.delete(oldest.value);
      const era = createEra(link);
      eras.set(generation, era);
      return era;
    },
  };
}
