/**
 * ECMA-48 control sequences as terminals read them (§5.3–5.6): CSI, the control strings OSC, DCS, SOS,
 * PM and APC, and two-character escapes, each in the 7-bit (ESC `[`) and 8-bit (U+009B) form.
 */

const bell = 0x07;
const cancel = 0x18;
const substitute = 0x1a;
const escape = 0x1b;
const stringTerminator = 0x9c;

/** 7-bit finals and the 8-bit introducers that open a control string. */
const stringOpeners: ReadonlySet<number> = new Set([0x50, 0x58, 0x5d, 0x5e, 0x5f, 0x90, 0x98, 0x9d, 0x9e, 0x9f]);
const csiOpeners: ReadonlySet<number> = new Set([0x5b, 0x9b]);

/**
 * Where the control sequence that begins at `start` ends (exclusive). Text at `start` is ESC or an
 * 8-bit introducer. What a terminal would consume is removed with the introducer; a control string
 * that never ends is not a sequence, so its introducer goes and its text stays: nothing visible is
 * lost, and a forged opener cannot make the gateway delete the rest of an honest message.
 *
 * Linear over a whole text: a search for a terminator stops at the next introducer.
 */
export function escapeSequenceEnd(text: string, start: number): number {
  const isEscape = text.charCodeAt(start) === escape;
  const opener = isEscape ? text.charCodeAt(start + 1) : text.charCodeAt(start);
  const body = isEscape ? start + 2 : start + 1;
  if (csiOpeners.has(opener)) return csiEnd(text, body);
  if (stringOpeners.has(opener)) return controlStringEnd(text, body) ?? body;
  return isEscape ? shortEscapeEnd(text, start + 1) : start + 1;
}

/** Parameters, intermediates and one final byte. A sequence that breaks off is removed as far as it went. */
function csiEnd(text: string, body: number): number {
  let end = body;
  while (isWithin(text.charCodeAt(end), 0x30, 0x3f)) end++;
  while (isWithin(text.charCodeAt(end), 0x20, 0x2f)) end++;
  return isWithin(text.charCodeAt(end), 0x40, 0x7e) ? end + 1 : end;
}

/** The end of a control string with its terminator (ST, or BEL as xterm accepts it); undefined when aborted. */
function controlStringEnd(text: string, body: number): number | undefined {
  for (let end = body; end < text.length; end++) {
    const unit = text.charCodeAt(end);
    if (unit === bell || unit === stringTerminator) return end + 1;
    if (unit === escape) return text.charCodeAt(end + 1) === 0x5c ? end + 2 : undefined;
    if (unit === cancel || unit === substitute || (unit >= 0x80 && unit <= 0x9f)) return undefined;
  }
  return undefined;
}

/** ESC, intermediates, final (`ESC c`, `ESC ( B`). ESC before anything else stands alone. */
function shortEscapeEnd(text: string, body: number): number {
  let end = body;
  while (isWithin(text.charCodeAt(end), 0x20, 0x2f)) end++;
  return isWithin(text.charCodeAt(end), 0x30, 0x7e) ? end + 1 : body;
}

/** False for NaN, which `charCodeAt` yields past the end. */
function isWithin(unit: number, first: number, last: number): boolean {
  return unit >= first && unit <= last;
}
