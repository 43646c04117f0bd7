import type { Exchange } from "./exchange.ts";
import type { Gateway } from "./gateway.ts";

/**
 * The headers of the client's request that the upstream is configured to get, names and values in turn. All others
 * stop here (design, decision 8). A value that is no printable ASCII, or longer than `forwardedHeaderCharsMax`, stops
 * too: an upstream does without rather than reading half of it. Configuration has refused names that must not cross.
 */
export function forwardedHeaders(
  x: Pick<Exchange, "arrival">,
  g: Pick<Gateway, "treatments" | "limits">,
  upstream: string,
): readonly string[] {
  const names = g.treatments.get(upstream)?.forwardHeaders ?? [];
  return names.flatMap((name) => {
    const value = x.arrival.headers[name];
    return value !== undefined && isSendable(value, g.limits.forwardedHeaderCharsMax) ? [name, value] : [];
  });
}

function isSendable(value: string, charsMax: number): boolean {
  return value.length <= charsMax && /^[\t\x20-\x7e]*$/.test(value) && value === value.trim();
}
