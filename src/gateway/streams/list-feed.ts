import { given, type Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import type { InForce } from "../policy-in-force.ts";
import { viewOf } from "../steps/view-of.ts";
import type { Feed } from "./feed.ts";
import type { ListSignals } from "./list-signals.ts";
import { oneAtATime } from "./one-at-a-time.ts";
import { compareViews, signatureOf, type ListKind, type ViewSignature } from "./view-signature.ts";

/** What is compared with, and when it was and what was in force. */
interface Seen {
  /** Undefined until the first view is there. */
  view: ViewSignature | undefined;
  inForce: InForce | undefined;
  at: number;
}

/**
 * Tells one stream which lists of its principal's view have changed, by `tell`. What the principal sees when the
 * stream opens is what is compared with. A change that this principal does not see is none.
 */
export function createListFeed(
  x: Exchange,
  g: Gateway,
  of: { readonly signals: ListSignals; readonly tell: (kind: ListKind) => void },
): Feed {
  const seen: Seen = { view: undefined, inForce: undefined, at: 0 };
  const comparing = oneAtATime(() => compare(x, g, { seen, tell: of.tell }));
  const look = (): void => void comparing.run();
  const unfollow = of.signals.follow(x.arrival.server.name, look);
  const unfollowOwn = g.catalog.personal.follow(given(x.principal, "a principal").key, look);
  void comparing.run();
  return {
    tend: () => {
      const due = g.now() - seen.at >= g.limits.streamViewCheckMs || g.inForce() !== seen.inForce;
      if (due) void comparing.run();
      return Promise.resolve();
    },
    refresh: () => Promise.resolve(),
    end: () => {
      comparing.stop();
      unfollow();
      unfollowOwn();
    },
  };
}

async function compare(
  x: Exchange,
  g: Gateway,
  { seen, tell }: { seen: Seen; tell: (kind: ListKind) => void },
): Promise<void> {
  try {
    seen.inForce = g.inForce();
    seen.at = g.now();
    const view = await viewOf(x, g);
    const { changed, now } =
      seen.view === undefined ? { changed: [], now: signatureOf(view) } : compareViews(seen.view, view);
    seen.view = now;
    for (const kind of changed) tell(kind);
  } catch (cause) {
    g.logRefusal({ ref: x.ref, code: "INTERNAL_FAULT", during: "list_changed" }, cause);
  }
}
