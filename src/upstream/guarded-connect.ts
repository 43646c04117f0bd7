import { lookup as resolveName } from "node:dns";
import type { LookupAddress } from "node:dns";
import { isIP } from "node:net";
import type { LookupFunction } from "node:net";
import { buildConnector } from "undici";
import { addressKind, mayDial } from "./address-rules.ts";
import type { AddressKind } from "./address-rules.ts";
import type { Addresses } from "./options.ts";

/**
 * The egress guard refused a destination. `host` is the name or address that was asked for, `address` the one
 * it led to.
 */
export class EgressRefused extends Error {
  override readonly name = "EgressRefused";
  readonly code = "UPSTREAM_ADDRESS_FORBIDDEN" as const;
  readonly host: string;
  readonly address: string;
  readonly kind: AddressKind;

  constructor(host: string, address: string, kind: AddressKind) {
    super(`dialling ${host} is refused: ${address} is ${kind}`);
    this.host = host;
    this.address = address;
    this.kind = kind;
  }
}

/** Resolves a name to all its addresses, as `dns.lookup` with `all` does. */
export type ResolveName = (
  hostname: string,
  answer: (fault: Error | null, addresses: readonly LookupAddress[]) => void,
) => void;

export interface GuardedConnectOptions {
  readonly addresses: Addresses;
  /** Whether traffic without TLS may go to private addresses, or to loopback ones only. */
  readonly clearText: "private" | "loopback";
  readonly timeoutMs: number;
  /** PEM of the authorities that may vouch for the other side, in place of those the system trusts. */
  readonly ca?: string | undefined;
  /** PEM of the certificate that is shown where the other side asks for one, and of its private key. */
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  /** Default: the system's resolver. */
  readonly resolve?: ResolveName | undefined;
}

/**
 * A connector for undici that dials allowed addresses only. A name is resolved once and *every* address is
 * judged: one that is not allowed refuses the name, since which of them is dialled would be the resolver's
 * choice. The socket then connects to the judged addresses themselves, so a second answer of the name server
 * changes nothing. Address literals never reach the resolver (`net.connect` skips it) and are judged here.
 *
 * Fails with `EgressRefused`. Not checked: the port, the certificate (TLS does), and proxies, which are not used.
 */
export function createGuardedConnect(options: GuardedConnectOptions): buildConnector.connector {
  const overTls = dialer(options, false);
  const inClear = dialer(options, true);
  return (target, callback) => {
    const clearText = target.protocol !== "https:";
    const literal = target.hostname.replace(/^\[|\]$/g, "");
    if (isIP(literal) !== 0) {
      const refused = judge(literal, [literal], options, clearText);
      if (refused !== undefined) {
        callback(refused, null);
        return;
      }
    }
    (clearText ? inClear : overTls)({ ...target, hostname: literal }, callback);
  };
}

function dialer(options: GuardedConnectOptions, clearText: boolean): buildConnector.connector {
  return buildConnector({
    timeout: options.timeoutMs,
    lookup: guardedLookup(options, clearText),
    autoSelectFamily: true,
    allowH2: false,
    // Certificates are always verified; there is no configuration that skips it.
    rejectUnauthorized: true,
    ...(options.ca === undefined ? {} : { ca: options.ca }),
    ...(options.cert === undefined ? {} : { cert: options.cert }),
    ...(options.key === undefined ? {} : { key: options.key }),
  });
}

function guardedLookup(options: GuardedConnectOptions, clearText: boolean): LookupFunction {
  const resolve = options.resolve ?? systemResolve;
  return (hostname, lookup, answer) => {
    resolve(hostname, (fault, addresses) => {
      const found = addresses.map(({ address }) => address);
      const refused = fault ?? judge(hostname, found, options, clearText);
      const first = addresses[0];
      if (refused !== undefined) answer(refused, []);
      else if (first === undefined) answer(new EgressRefused(hostname, "no address", "forbidden"), []);
      else if (lookup.all === true) answer(null, [...addresses]);
      else answer(null, first.address, first.family);
    });
  };
}

const systemResolve: ResolveName = (hostname, answer) => {
  resolveName(hostname, { all: true, verbatim: true }, (fault, addresses) => {
    answer(fault, fault === null ? addresses : []);
  });
};

function judge(
  host: string,
  addresses: readonly string[],
  options: GuardedConnectOptions,
  clearText: boolean,
): EgressRefused | undefined {
  for (const address of addresses) {
    const kind = addressKind(address);
    if (!mayDialHere(kind, options, clearText)) return new EgressRefused(host, address, kind);
  }
  return undefined;
}

function mayDialHere(kind: AddressKind, options: GuardedConnectOptions, clearText: boolean): boolean {
  if (clearText && options.clearText === "loopback" && kind !== "loopback") return false;
  return mayDial(kind, options.addresses, clearText);
}
