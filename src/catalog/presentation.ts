import type { Principal } from "../model/principal.ts";
import type { UpstreamPart } from "./shape.ts";

/**
 * How a server shows its items to some principals: under other names, titles and descriptions than it has for everybody
 * else, or without some of them. It changes nothing of what they may do: policy names the upstream's own items.
 */
export interface Presentation {
  readonly id: string;
  readonly matches: (principal: Principal) => boolean;
  /** In place of the server's own instructions; undefined: those. */
  readonly instructions: string | undefined;
  /** Everything that the server takes of its upstreams, as it is shown here, in the server's order. */
  readonly upstreams: readonly UpstreamPart[];
}

/**
 * The presentation that applies to a principal: the first in the order of their ranks. Undefined: none does, and the
 * server shows what it shows to everybody. Which one it is follows from the principal and the configuration alone, so
 * it is the same at every replica.
 */
export function presentationFor(ordered: readonly Presentation[], principal: Principal): Presentation | undefined {
  return ordered.find(({ matches }) => matches(principal));
}
