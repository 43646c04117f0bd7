import { isIPv4, isIPv6 } from "node:net";

/**
 * The network that an address stands for in evidence: /24 of IPv4, /48 of IPv6 (what one site usually
 * holds). An IPv4-mapped IPv6 address (RFC 4291 §2.5.5.2) counts as IPv4. `unknown` for anything else.
 */
export function addressPrefix(address: string): string {
  const bare = address.replace(/%.*$/u, "");
  if (isIPv4(bare)) return prefix24(bare);
  if (!isIPv6(bare)) return "unknown";
  const groups = expand(bare);
  const mapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  if (!mapped)
    return `${groups
      .slice(0, 3)
      .map((group) => group.toString(16))
      .join(":")}::/48`;
  const [high = 0, low = 0] = groups.slice(6);
  return prefix24([high >> 8, high & 255, low >> 8, low & 255].join("."));
}

function prefix24(address: string): string {
  return `${address.split(".").slice(0, 3).join(".")}.0/24`;
}

/** The eight groups of a valid IPv6 address. */
function expand(address: string): number[] {
  const [front = "", back] = address.split("::");
  const before = groupsOf(front);
  if (back === undefined) return before;
  const after = groupsOf(back);
  return [...before, ...new Array<number>(8 - before.length - after.length).fill(0), ...after];
}

function groupsOf(part: string): number[] {
  return part
    .split(":")
    .filter((group) => group !== "")
    .flatMap((group) => {
      if (!group.includes(".")) return [Number.parseInt(group, 16)];
      const [a = 0, b = 0, c = 0, d = 0] = group.split(".").map(Number);
      return [a * 256 + b, c * 256 + d];
    });
}
