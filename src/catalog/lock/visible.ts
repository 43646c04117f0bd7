/** What shows as nothing, or as something else than it is: controls, unassigned, separators, fillers, joiners, selectors. */
const hidden = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]|(?! )\p{Zs}/gu;

/** A text in which whatever hides is written as `\u{…}`: for people who compare two texts that look alike. */
export function visible(text: string): string {
  return text.replaceAll(hidden, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`);
}

/** JSON text with the same escaped as JSON escapes: the value stays, and a review of the file shows it. */
export function visibleJson(json: string): string {
  return json.replaceAll(hidden, (char) =>
    Array.from({ length: char.length }, (_, at) => `\\u${char.charCodeAt(at).toString(16).padStart(4, "0")}`).join(""),
  );
}
