import { readList, textsOf } from "./written-list.ts";

/** Authenticated encryption: `open` is undefined for what was not sealed by a known key under the same associated text. */
export interface Sealer {
  seal(associated: string, text: string): string;
  open(associated: string, sealed: string): string | undefined;
}

/** Texts that a browser keeps for us: it can neither read nor change them. */
export interface SealedTexts {
  seal(texts: readonly string[]): string;
  /** The texts as they were sealed; none for what is not ours, was changed, or is over. */
  open(sealed: string): readonly string[];
}

/** Texts of one purpose, each good for `lifeMs`. Not checked: that they are used once, and which browser brings them. */
export function createSealedTexts(of: {
  readonly purpose: string;
  readonly lifeMs: number;
  readonly sealer: Sealer;
  readonly now: () => number;
}): SealedTexts {
  const { purpose, lifeMs, sealer, now } = of;
  return {
    seal: (texts) => sealer.seal(purpose, JSON.stringify([now() + lifeMs, ...texts])),
    open: (sealed) => {
      const text = sealer.open(purpose, sealed);
      const [until, ...rest] = text === undefined ? [] : readList(text);
      return typeof until === "number" && now() < until ? textsOf(rest) : [];
    },
  };
}
