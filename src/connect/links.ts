import { limits } from "../model/limits.ts";
import { upstreamPath } from "./paths.ts";
import type { Person, Sealer } from "./port.ts";
import { readList, textsOf } from "../web/written-list.ts";

/** Whom a link was made for: the person, and the client that acted for them. */
export interface LinkOwner extends Person {
  /** Empty where the token named no client. */
  readonly clientId: string;
}

export interface ConnectLinks {
  /** An absolute URL that the gateway may show to anybody: whoever opens it must sign in as its owner. */
  make(owner: LinkOwner, upstream: string): string;
  /** The owner of the link to this upstream's page; undefined for any other text and after `connectLinkMs`. */
  open(handle: string, upstream: string): LinkOwner | undefined;
}

/**
 * Links that carry no authority (design, decision 10): an encrypted handle says for whom a page was made, and the page
 * believes the browser's own sign-in alone. Encrypted, since links end up in chats, and who uses what is nobody's business.
 */
export function createConnectLinks(of: {
  readonly publicUrl: string;
  readonly sealer: Sealer;
  readonly now: () => number;
}): ConnectLinks {
  return {
    make: ({ tenant, issuer, subject, clientId }, upstream) => {
      const text = JSON.stringify([of.now() + limits.connectLinkMs, tenant, issuer, subject, clientId]);
      return `${of.publicUrl}${upstreamPath(upstream)}?link=${of.sealer.seal(associated(upstream), text)}`;
    },
    open: (handle, upstream) => {
      if (handle.length > limits.connectLinkCharsMax) return undefined;
      const text = of.sealer.open(associated(upstream), handle);
      return text === undefined ? undefined : ownerOf(text, of.now());
    },
  };
}

/** Authentic, so our own writing. */
function ownerOf(text: string, now: number): LinkOwner | undefined {
  const [until, ...owner] = readList(text);
  const [tenant, issuer, subject, clientId] = textsOf(owner);
  if (tenant === undefined || issuer === undefined || subject === undefined || clientId === undefined) return undefined;
  return typeof until === "number" && now < until ? { tenant, issuer, subject, clientId } : undefined;
}

function associated(upstream: string): string {
  return JSON.stringify(["connect-link", upstream]);
}
