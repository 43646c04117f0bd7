import ipaddr from "ipaddr.js";
import type { Addresses } from "./options.ts";

/** What an address is to the egress guard. Whatever is none of the first three is never dialled. */
export type AddressKind = "public" | "private" | "loopback" | "metadata" | "forbidden";

/**
 * Whether an address that a name resolved to, or that stood in a URL, may be dialled. `clearText` narrows
 * the answer to addresses that traffic without TLS may go to: never a public one.
 *
 * Not checked: the port, and who listens there.
 */
export function mayDial(kind: AddressKind, allowed: Addresses, clearText: boolean): boolean {
  switch (kind) {
    case "public":
      return allowed !== "loopback" && !clearText;
    case "private":
      return allowed === "private";
    case "loopback":
      return allowed === "loopback";
    case "metadata":
    case "forbidden":
      return false;
  }
}

/**
 * Sorts an address in text form. An IPv6 address that carries an IPv4 one (mapped, RFC 4291 §2.5.5.2;
 * compatible, §2.5.5.1; NAT64, RFC 6052) is what the IPv4 address is: the packet ends there. Other tunnels
 * (6to4, Teredo, SIIT) have no honest use here and are forbidden, as is text that is no address.
 */
export function addressKind(text: string): AddressKind {
  const address = parseAddress(text);
  if (address === undefined) return "forbidden";
  if (metadataAddresses.has(address.toNormalizedString())) return "metadata";
  return address instanceof ipaddr.IPv4 ? ipv4Kind(address.range()) : ipv6Kind(address);
}

/**
 * Where clouds hand out credentials to whoever asks from inside: AWS, GCP, Azure and others (169.254.169.254),
 * ECS and EKS pods, Alibaba, Azure's wire server, Oracle; then the IPv6 forms of AWS, ECS, EKS and GCP.
 */
const metadataAddresses: ReadonlySet<string> = new Set([
  "169.254.169.254",
  "169.254.170.2",
  "169.254.170.23",
  "100.100.100.200",
  "168.63.129.16",
  "192.0.0.192",
  "fd00:ec2:0:0:0:0:0:254",
  "fd00:ec2:0:0:0:0:0:23",
  "fd20:ce:0:0:0:0:0:254",
]);

/** A zone (`fe80::1%eth0`) never reaches the ranges that may be dialled, so it is not looked at. */
function parseAddress(text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text);
  return ipaddr.IPv6.isValid(text) ? embedded(ipaddr.IPv6.parse(text)) : undefined;
}

function embedded(address: ipaddr.IPv6): ipaddr.IPv4 | ipaddr.IPv6 {
  const range = address.range();
  const parts = address.parts;
  const compatible = parts.slice(0, 6).every((part) => part === 0) && (parts[6] ?? 0) !== 0;
  const nat64 = range === "rfc6052" && parts[2] === 0;
  if (range !== "ipv4Mapped" && !nat64 && !compatible) return address;
  return new ipaddr.IPv4(address.toByteArray().slice(12));
}

function ipv4Kind(range: string): AddressKind {
  if (range === "unicast") return "public";
  if (range === "private" || range === "carrierGradeNat") return "private";
  return range === "loopback" ? "loopback" : "forbidden";
}

/** Global unicast is 2000::/3 alone (RFC 4291 §2.4); the library calls everything it does not know unicast. */
function ipv6Kind(address: ipaddr.IPv6): AddressKind {
  const range = address.range();
  if (range === "uniqueLocal") return "private";
  if (range === "loopback") return "loopback";
  const global = ((address.parts[0] ?? 0) & 0xe000) === 0x2000;
  return range === "unicast" && global ? "public" : "forbidden";
}
