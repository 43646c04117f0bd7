import { randomBytes } from "node:crypto";
import { keysFor } from "./compose-crossing.ts";
import type { Config } from "./config/types.ts";
import { createAead } from "./gateway/aead.ts";

/** Authenticated encryption of what rests in the store, as the rooms that keep secrets there declare it. */
export interface OpenSealer {
  seal(associated: string, text: string): string;
  open(associated: string, sealed: string): string | undefined;
}

/** Each purpose has keys of its own, so that what was sealed for one opens for no other. They rotate with `keys.session`. */
export function openSealer(purpose: string, config: Config): OpenSealer {
  const aead = createAead(keysFor(purpose, config), randomBytes);
  return {
    seal: (associated, text) => aead.encrypt(associated, nothing, text),
    open: (associated, sealed) => {
      const opened = aead.decrypt(associated, 0, sealed);
      return opened.ok ? opened.text : undefined;
    },
  };
}

const nothing: Uint8Array = new Uint8Array();
