import type { Link } from "./link.ts";
import type { Deadlines, UpstreamRequest } from "./port.ts";
import type { SendBounds } from "./send.ts";

/** How long a request may take as a whole, in milliseconds. */
export function callMsOf(
  { timeouts }: Pick<Link, "timeouts">,
  { timeoutMs, deadlines }: Pick<UpstreamRequest, "timeoutMs" | "deadlines">,
): number {
  return Math.min(timeoutMs, deadlines?.callMs ?? timeouts.callMs);
}

/** The bounds of an exchange with the request's own deadlines in them. */
export function boundsOf({ bounds }: Pick<Link, "bounds">, deadlines: Deadlines | undefined): SendBounds {
  if (deadlines === undefined) return bounds;
  const { firstByteMs = bounds.firstByteMs, idleMs = bounds.idleMs } = deadlines;
  return { ...bounds, firstByteMs, idleMs };
}
