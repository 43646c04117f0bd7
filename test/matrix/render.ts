import type { Revision } from "../../src/model/revision.ts";

export interface Seen {
  readonly revisions: readonly Revision[];
  readonly titles: readonly string[];
  readonly verdict: (client: Revision, server: Revision, title: string) => string;
}

/** A table for each revision of the client: a row for each feature, a column for each revision of the server. */
export function renderMatrix(seen: Seen): string {
  return `\n${seen.revisions.map((client) => renderTable(client, seen)).join("\n")}\n`;
}

function renderTable(client: Revision, { revisions, titles, verdict }: Seen): string {
  const rows = titles.map((title) => [title, ...revisions.map((server) => verdict(client, server, title))]);
  const table = [[`client ${client}`, ...revisions.map((server) => `server ${server}`)], ...rows];
  const widths = (table[0] ?? []).map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[], fill = " "): string =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0, fill)).join(" | ")} |`;
  const [head = [], ...body] = table;
  const rule = line(
    head.map(() => ""),
    "-",
  );
  return `${[line(head), rule, ...body.map((row) => line(row))].join("\n")}\n`;
}
