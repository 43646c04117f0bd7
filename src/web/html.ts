/** Markup that is safe to send: made by `html` alone, which escapes every string it takes in. */
export interface Html {
  readonly markup: string;
}

type Part = string | Html | readonly Html[];

/** Text and attribute values (always quoted in our templates) are escaped; nested markup is kept. */
export function html(texts: TemplateStringsArray, ...parts: readonly Part[]): Html {
  const markup = texts.reduce((before, text, index) => before + markupOf(parts[index - 1] ?? "") + text);
  return { markup };
}

function escapeHtml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("'", "&#39;");
}

function markupOf(part: Part): string {
  if (typeof part === "string") return escapeHtml(part);
  return "markup" in part ? part.markup : part.map(({ markup }) => markup).join("");
}
