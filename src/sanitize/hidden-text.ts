const detailCharsMax = 200;

/**
 * What removed characters spelled, in printable ASCII, cut to 200 characters. Tag characters give the
 * ASCII they shadow; supplementary selectors the byte they are used to carry (U+E0100 is byte 16);
 * everything else is written as an escape, so that the finding is safe in a log line and a terminal.
 */
export function spellHidden(removed: string): string {
  let spelled = "";
  for (const character of removed) {
    spelled += spellOne(character.codePointAt(0) ?? 0);
    if (spelled.length > detailCharsMax) return `${spelled.slice(0, detailCharsMax - 3)}...`;
  }
  return spelled;
}

function spellOne(codePoint: number): string {
  if (codePoint >= 0xe0020 && codePoint <= 0xe007e) return String.fromCodePoint(codePoint - 0xe0000);
  const byte = codePoint - 0xe0100 + 16;
  if (codePoint >= 0xe0100 && codePoint <= 0xe01ef && isPrintable(byte)) return String.fromCodePoint(byte);
  if (isPrintable(codePoint)) return String.fromCodePoint(codePoint);
  return `\\u{${codePoint.toString(16).toUpperCase()}}`;
}

function isPrintable(codePoint: number): boolean {
  return codePoint >= 0x20 && codePoint <= 0x7e;
}
