import { randomBytes } from "node:crypto";
import { createAead } from "../../../src/gateway/aead.ts";
import type { GrantUpstreamOptions } from "../../../src/upstream/grants/options.ts";
import type { GrantWitness, Sealer } from "../../../src/upstream/grants/port.ts";

/** Keys of the sealing, in hand so that a test can rotate them. */
export interface Key {
  readonly kid: string;
  readonly key: Uint8Array;
}

export function makeKey(kid: string): Key {
  return { kid, key: randomBytes(32) };
}

/** A sealing that another process can have as well. */
export function sealerOf(hex: string): Sealer {
  return sealerWith({ kid: "shared", key: Buffer.from(hex, "hex") });
}

export function sealerWith(current: Key, ...previous: readonly Key[]): Sealer {
  const aead = createAead({ current, previous }, randomBytes);
  const nothing = new Uint8Array();
  return {
    seal: (associated, text) => aead.encrypt(associated, nothing, text),
    open: (associated, sealed) => {
      const opened = aead.decrypt(associated, 0, sealed);
      return opened.ok ? opened.text : undefined;
    },
  };
}

export const nobodyWitnesses: GrantWitness = { changed: () => undefined, quarantined: () => undefined };

export function upstreamAt(url: string, changes: Partial<GrantUpstreamOptions> = {}): GrantUpstreamOptions {
  return {
    url,
    title: "The upstream",
    addresses: "loopback",
    issuer: undefined,
    client: undefined,
    scopes: undefined,
    sendResource: true,
    assumePkce: false,
    profile: "standard",
    ...changes,
  };
}
