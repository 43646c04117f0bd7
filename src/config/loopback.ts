import { BlockList, isIP } from "node:net";

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

const privateRanges = new BlockList();
privateRanges.addSubnet("10.0.0.0", 8, "ipv4");
privateRanges.addSubnet("172.16.0.0", 12, "ipv4");
privateRanges.addSubnet("192.168.0.0", 16, "ipv4");
privateRanges.addSubnet("100.64.0.0", 10, "ipv4");
privateRanges.addSubnet("fc00::", 7, "ipv6");

const linkLocal = new BlockList();
linkLocal.addSubnet("169.254.0.0", 16, "ipv4");
linkLocal.addSubnet("fe80::", 10, "ipv6");

/** Whether a host, as a URL or a listen address has it, is this machine by its spelling alone. */
export function isLoopbackHost(host: string): boolean {
  return hostKind(host) === "loopback";
}

/**
 * What a host is by its spelling: an address literal's range, or `name` for a host that has to be resolved.
 * The upstream room decides by the addresses that are really dialled; this only explains early.
 */
export function hostKind(host: string): "loopback" | "private" | "link-local" | "other" | "name" {
  const bare = host.replace(/^\[(.*)\]$/u, "$1").toLowerCase();
  if (bare === "localhost" || bare.endsWith(".localhost")) return "loopback";
  const version = isIP(bare);
  if (version === 0) return "name";
  const family = version === 4 ? "ipv4" : "ipv6";
  if (loopback.check(bare, family)) return "loopback";
  if (privateRanges.check(bare, family)) return "private";
  return linkLocal.check(bare, family) ? "link-local" : "other";
}
