import { createHash } from "node:crypto";
import type { ItemIdentity } from "../model/item.ts";
import { fits, fittingText, type NameRules } from "../model/shown-name.ts";

/** Characters of the suffix, each five bits of a digest. */
const suffixChars = 8;
/** Crockford's base 32 in lower case: nothing in it is read as something else. */
const alphabet = "0123456789abcdefghjkmnpqrstvwxyz";

/**
 * The name that an item is shown under: `wanted`, where that fits. Otherwise what of it does fit, `_`, and a suffix that
 * follows from the item's identity alone. So it is the same at every replica, after every restart and whatever other
 * items there are, and cutting gives no two items one name. Nothing is ever read out of such a name: it is looked up
 * like any other, and the upstream is sent its own.
 */
export function fitName(wanted: string, of: ItemIdentity, rules: NameRules): string {
  if (fits(wanted, rules)) return wanted;
  const begun = fittingText(wanted, rules.characters).slice(0, rules.maxChars - suffixChars - 1);
  return `${begun}_${suffixOf(of)}`;
}

/** The first 40 bits of SHA-256 over the identity. */
function suffixOf({ upstream, kind, name }: ItemIdentity): string {
  const digest = createHash("sha256")
    .update(JSON.stringify([upstream, kind, name]))
    .digest();
  let suffix = "";
  for (let at = 0; at < suffixChars; at += 1) suffix += alphabet[fiveBits(digest, at * 5)] ?? "";
  return suffix;
}

function fiveBits(digest: Uint8Array, from: number): number {
  const first = digest[from >> 3] ?? 0;
  const second = digest[(from >> 3) + 1] ?? 0;
  return (((first << 8) | second) >> (11 - (from & 7))) & 31;
}
