/** Why a scenario need not pass, by `{client era}/{server era}` and scenario. */
export type Exceptions = ReadonlyMap<string, ReadonlyMap<string, string>>;

const itemForm = /^- `(legacy|modern)\/(legacy|modern)`: ((?:`[^`]+`(?:, )?)+)\. (.+)$/;

/**
 * The scenarios that the compatibility document says do not pass where the eras differ: list items of a
 * cell, scenarios in backticks, and the reason. The document is the only list there is, so that none can be
 * excepted without saying why. An item for eras that match is refused: nothing is excepted there.
 */
export function readExceptions(document: string): Exceptions {
  const cells = new Map<string, Map<string, string>>();
  for (const item of listItems(document)) {
    const [, client, server, names = "", reason = ""] = itemForm.exec(item) ?? [];
    if (client === undefined || server === undefined) continue;
    if (client === server) throw new Error(`Nothing is excepted where the eras match: ${item}`);
    const cell = cells.get(`${client}/${server}`) ?? new Map<string, string>();
    for (const [, name = ""] of names.matchAll(/`([^`]+)`/g)) cell.set(name, reason);
    cells.set(`${client}/${server}`, cell);
  }
  return cells;
}

/** Every list item on one line, however it is wrapped. */
export function listItems(document: string): readonly string[] {
  const unwrapped = document.replaceAll(/\n {2}(?=\S)/g, " ");
  return unwrapped.split("\n").filter((line) => line.startsWith("- "));
}
