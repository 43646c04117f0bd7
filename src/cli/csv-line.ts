/**
 * One record of comma-separated values (RFC 4180 §2). A field that a spreadsheet would take for a formula gets an
 * apostrophe in front, as names and subjects come from elsewhere.
 */
export function csvLine(fields: readonly string[]): string {
  return fields.map(asField).join(",");
}

function asField(field: string): string {
  const safe = /^[=+\-@\t\r]/u.test(field) ? `'${field}` : field;
  return /[",\r\n']/u.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
