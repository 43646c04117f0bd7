import type { Era } from "./era.ts";
import type { Link } from "./link.ts";
import type { OnAccountOf, UpstreamWatch, Watching } from "./port.ts";
import { keepWatching } from "./watch.ts";
import type { Watched } from "./watch.ts";
import { createStreamOffer } from "./watch-offer.ts";

/** All streams that are kept open, so that they end with what they stand for. */
export interface Watches {
  start(of: Pick<Watched, "link" | "sessions" | "findEra"> & { readonly era: Era }, watch: UpstreamWatch): Watching;
  /** Ends those of a client session. */
  endOf(tenant: string, clientSession: string): void;
  endAll(): void;
}

export function createWatches(random: () => number): Watches {
  const running = new Map<Watching, UpstreamWatch>();
  /** What each upstream offers to each credential; beyond `upstreamErasMax` the oldest finding is forgotten. */
  const offers = new Map<string, Watched["offers"]>();
  const offersOf = (link: Link, account: OnAccountOf): Watched["offers"] => {
    const key = JSON.stringify([link.upstream, link.credential.generation(account)]);
    const known = offers.get(key);
    if (known !== undefined) return known;
    const oldest = offers.keys().next();
    if (offers.size >= link.limits.upstreamErasMax && oldest.done !== true) offers.delete(oldest.value);
    const found = createOffers(link);
    offers.set(key, found);
    return found;
  };
  const end = (isMeant: (watch: UpstreamWatch) => boolean): void => {
    for (const [watching, watch] of [...running]) if (isMeant(watch)) watching.end();
  };
  return {
    start({ era, ...of }, watch) {
      const forgetEra = (): void => {
        era.forget();
      };
      const kept = keepWatching({ ...of, forgetEra, random, offers: offersOf(of.link, watch.account) }, watch);
      const watching: Watching = {
        want: (wanted) => {
          kept.want(wanted);
        },
        end() {
          running.delete(watching);
          kept.end();
        },
      };
      running.set(watching, watch);
      return watching;
    },
    endOf(tenant, clientSession) {
      end(({ account }) => account.tenant === tenant && account.clientSession === clientSession);
    },
    endAll() {
      end(() => true);
    },
  };
}

function createOffers({ limits, now }: Link): Watched["offers"] {
  const options = { refusedMs: limits.upstreamStreamRefusedMs, now };
  return { legacy: createStreamOffer(options), modern: createStreamOffer(options) };
}
